"""What is done inside the datasets that functions make: filters, maps, several datasets, runs of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case, Unit
from idioms.cases.nesting import grouped
from idioms.loaders import streamed
from idioms.plain import batches


def _lines(units: int, folder: Path) -> list[str]:
    return [" ".join(["a", "line", "of", "text"] * (index % 3 + 1)) for index in range(units)]


def _rows(units: int, folder: Path) -> Any:
    return np.ones((units, 16), np.float32)


def _long_words(lines: list[str]) -> Iterator[int]:
    return (len(word) for line in lines for word in line.split() if word != "a")


def _long_words_in_tf(tf: Any, lines: list[str]) -> Any:
    def words(line: Any) -> Any:
        found = tf.data.Dataset.from_tensor_slices(tf.strings.split(line))
        return found.filter(lambda word: word != "a").map(lambda word: tf.cast(tf.strings.length(word), tf.int64))

    return tf.data.Dataset.from_tensor_slices(lines).flat_map(words).batch(32)


def _added(total: Any, x: Any) -> Any:
    return total + x


CASES: Final = (
    Case(
        name="flat_map_filter",
        written="range(n).flat_map(range(10).filter(y % 2 == 0)).batch(32)",
        ours=lambda hr, n: (
            hr.Dataset.range(n).flat_map(lambda x: hr.Dataset.range(10).filter(lambda y: y % 2 == 0)).batch(32)
        ),
        plain=lambda n: batches((y for x in range(n) for y in range(10) if y % 2 == 0), 32),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_words_filtered",
        written='from_tensor_slices(lines).flat_map(from_tensor_slices(line.split()).filter(word != "a").map(len)).batch(32)',
        ours=lambda hr, lines: (
            hr.Dataset.from_tensor_slices(lines)
            .flat_map(
                lambda line: hr.Dataset.from_tensor_slices(line.split()).filter(lambda word: word != "a").map(len)
            )
            .batch(32)
        ),
        plain=lambda lines: batches(_long_words(lines), 32),
        tfdata=_long_words_in_tf,
        torch=lambda torch, lines: streamed(torch, lambda: _long_words(lines), batch_size=32),
        data=_lines,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_concatenate",
        written="range(n).flat_map(range(5).concatenate(range(5, 10))).batch(32)",
        ours=lambda hr, n: (
            hr.Dataset.range(n).flat_map(lambda x: hr.Dataset.range(5).concatenate(hr.Dataset.range(5, 10))).batch(32)
        ),
        plain=lambda n: batches((y for x in range(n) for y in itertools.chain(range(5), range(5, 10))), 32),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_repeat",
        written="from_tensor_slices(rows).flat_map(from_tensors(row).repeat(10)).batch(32)",
        ours=lambda hr, rows: (
            hr.Dataset.from_tensor_slices(rows).flat_map(lambda row: hr.Dataset.from_tensors(row).repeat(10)).batch(32)
        ),
        plain=lambda rows: batches((row for row in rows for _ in range(10)), 32),
        tfdata=SAME,
        data=_rows,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_enumerate",
        written="range(n).flat_map(range(10).enumerate().map(i + y)).batch(32)",
        ours=lambda hr, n: (
            hr.Dataset.range(n)
            .flat_map(lambda x: hr.Dataset.range(10).enumerate().map(lambda index, y: index + y))
            .batch(32)
        ),
        plain=lambda n: batches((index + y for x in range(n) for index, y in enumerate(range(10))), 32),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_twice",
        written="range(n / 10).flat_map(range(10).flat_map(range(10))).batch(128)",
        ours=lambda hr, n: (
            hr.Dataset.range(n // 10)
            .flat_map(lambda x: hr.Dataset.range(10).flat_map(lambda y: hr.Dataset.range(10)))
            .batch(128)
        ),
        plain=lambda n: batches((z for x in range(n // 10) for y in range(10) for z in range(10)), 128),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_generator",
        written="range(n).flat_map(from_generator(numbers)).batch(32)",
        ours=lambda hr, n: (
            hr.Dataset.range(n).flat_map(lambda x: hr.Dataset.from_generator(lambda: iter(range(10)))).batch(32)
        ),
        plain=lambda n: batches((y for x in range(n) for y in iter(range(10))), 32),
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_filter",
        written="range(n).window(10).flat_map(w.filter(x % 2 == 0)).batch(32)",
        ours=lambda hr, n: (
            hr.Dataset.range(10 * n).window(10).flat_map(lambda window: window.filter(lambda x: x % 2 == 0)).batch(32)
        ),
        plain=lambda n: batches((x for x in range(10 * n) if x % 2 == 0), 32),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_reduce",
        written="range(n).window(10).map(w.reduce(0, total + x))",
        ours=lambda hr, n: hr.Dataset.range(10 * n).window(10).map(lambda window: window.reduce(np.int64(0), _added)),
        plain=lambda n: (sum(range(begin, begin + 10)) for begin in range(0, 10 * n, 10)),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_single",
        written="range(n).window(10).map(w.batch(10).get_single_element())",
        ours=lambda hr, n: (
            hr.Dataset.range(10 * n).window(10).map(lambda window: window.batch(10).get_single_element())
        ),
        plain=lambda n: (np.array(range(begin, begin + 10)) for begin in range(0, 10 * n, 10)),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_list",
        written="range(n).window(10).map(np.array(list(w)))",
        ours=lambda hr, n: hr.Dataset.range(10 * n).window(10).map(lambda window: np.array(list(window))),
        plain=lambda n: (np.array(list(range(begin, begin + 10))) for begin in range(0, 10 * n, 10)),
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_numpy",
        written="range(n).window(10).map(max(w.as_numpy_iterator()))",
        ours=lambda hr, n: hr.Dataset.range(10 * n).window(10).map(lambda window: max(window.as_numpy_iterator())),
        plain=lambda n: (max(map(np.int64, range(begin, begin + 10))) for begin in range(0, 10 * n, 10)),
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_mapped_single",
        written="range(n).window(10).map(w.map(x * 2).batch(10).get_single_element())",
        ours=lambda hr, n: (
            hr.Dataset.range(10 * n)
            .window(10)
            .map(lambda window: window.map(lambda x: x * 2).batch(10).get_single_element())
        ),
        plain=lambda n: (np.array([x * 2 for x in range(begin, begin + 10)]) for begin in range(0, 10 * n, 10)),
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="group_by_window_mapped",
        written="range(32 n).group_by_window(x % 4, group.map(x * 2).batch(32), 32)",
        ours=lambda hr, n: hr.Dataset.range(32 * n).group_by_window(
            key_func=lambda x: x % 4,
            reduce_func=lambda key, group: group.map(lambda x: x * 2).batch(32),
            window_size=32,
        ),
        plain=lambda n: (np.array([x * 2 for x in group]) for group in grouped(range(32 * n), lambda x: x % 4, 32)),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=20,
        full=5_000,
    ),
)
