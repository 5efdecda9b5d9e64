"""Datasets inside datasets: flat_map, interleave, windows, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case, Unit
from idioms.cases.batching import padded
from idioms.loaders import mapped, streamed
from idioms.plain import batches, dicts_stacked, tuples_stacked
from idioms.sameness import in_any_order


def _lines(units: int, folder: Path) -> list[str]:
    return [f"a line of text with ten words in it {index}" for index in range(units)]


def interleaved(
    items: Iterable[Any], begin: Callable[[Any], Iterator[Any]], cycle: int, block: int = 1
) -> Iterator[Any]:
    """A block of elements from each of so many iterators in turn; one that ends makes room for the next item's."""
    waiting = iter(items)
    places: list[Iterator[Any] | None] = [begin(item) for _, item in zip(range(cycle), waiting, strict=False)]
    remaining = len(places)
    while remaining:
        for place, one in enumerate(places):
            if one is None:
                continue
            for _ in range(block):
                try:
                    yield next(one)
                except StopIteration:
                    places[place] = None
                    for item in waiting:
                        places[place] = begin(item)
                        break
                    remaining -= places[place] is None
                    break


def _of_ten(item: Any) -> Iterator[int]:
    return iter(range(10))


def _windows(series: Any, count: int, size: int, shift: int) -> Iterator[Any]:
    return (np.array(series[start : start + size]) for start in range(0, count * shift, shift))


def _forecast(hr: Any, series: Any) -> Any:
    return (
        hr.Dataset.from_tensor_slices(series)
        .window(21, shift=1, drop_remainder=True)
        .flat_map(lambda window: window.batch(21))
        .shuffle(1000)
        .map(lambda window: (window[:-1], window[-1]))
        .batch(32)
        .prefetch(1)
    )


def _forecast_by_hand(series: Any) -> Iterator[Any]:
    order = np.random.default_rng(0).permutation(len(series) - 20)
    windows = (series[start : start + 21] for start in order)
    return tuples_stacked(((window[:-1], window[-1]) for window in windows), 32)


def _next_value(series: Any, start: int) -> tuple[Any, Any]:
    window = series[start : start + 21]
    return window[:-1], window[-1]


def grouped(numbers: Iterable[int], key: Callable[[int], int], size: int) -> Iterator[list[int]]:
    """The numbers with each key, so many at a time, and what is left of each at the end."""
    groups: dict[int, list[int]] = {}
    for x in numbers:
        group = groups.setdefault(key(x), [])
        group.append(x)
        if len(group) == size:
            yield group
            groups[key(x)] = []
    yield from (groups[name] for name in sorted(groups) if groups[name])


def _window_pairs(hr: Any, n: int) -> Any:
    pairs = hr.Dataset.zip((hr.Dataset.range(10 * n), hr.Dataset.range(10 * n)))
    return pairs.window(10).flat_map(lambda x, y: hr.Dataset.zip((x.batch(10), y.batch(10))))


CASES: Final = (
    Case(
        name="flat_map",
        written="range(n).flat_map(range(10)).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).flat_map(lambda x: hr.Dataset.range(10)).batch(128),
        plain=lambda n: batches((y for x in range(n) for y in range(10)), 128),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, lambda: (y for x in range(n) for y in range(10)), batch_size=128),
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_slices",
        written="from_tensor_slices(rows of 10).flat_map(from_tensor_slices)",
        ours=lambda hr, rows: hr.Dataset.from_tensor_slices(rows).flat_map(hr.Dataset.from_tensor_slices),
        plain=lambda rows: (x for row in rows for x in row.tolist()),
        tfdata=SAME,
        data=lambda n, folder: np.arange(10 * n).reshape(n, 10),
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_words",
        written="from_tensor_slices(lines).flat_map(from_tensor_slices(line.split())).batch(32)",
        ours=lambda hr, lines: (
            hr.Dataset.from_tensor_slices(lines)
            .flat_map(lambda line: hr.Dataset.from_tensor_slices(line.split()))
            .batch(32)
        ),
        plain=lambda lines: batches((word for line in lines for word in line.split()), 32),
        tfdata=lambda tf, lines: (
            tf.data.Dataset.from_tensor_slices(lines)
            .flat_map(lambda line: tf.data.Dataset.from_tensor_slices(tf.strings.split(line)))
            .batch(32)
        ),
        torch=lambda torch, lines: streamed(
            torch, lambda: (word for line in lines for word in line.split()), batch_size=32
        ),
        data=_lines,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_mapped",
        written="range(n).flat_map(range(10).map(x + y).batch(5))",
        ours=lambda hr, n: hr.Dataset.range(n).flat_map(lambda x: hr.Dataset.range(10).map(lambda y: x + y).batch(5)),
        plain=lambda n: (batch for x in range(n) for batch in batches((x + y for y in range(10)), 5)),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="flat_map_dicts",
        written='range(n).flat_map(from_tensor_slices({"a": …, "b": …})).batch(32)',
        ours=lambda hr, n: (
            hr.Dataset.range(n)
            .flat_map(
                lambda x: hr.Dataset.from_tensor_slices(
                    {"a": np.zeros(10, np.int64), "b": np.zeros((10, 4), np.float32)}
                )
            )
            .batch(32)
        ),
        plain=lambda n: dicts_stacked(
            (
                {"a": a, "b": b}
                for _ in range(n)
                for a, b in zip(np.zeros(10, np.int64), np.zeros((10, 4), np.float32), strict=True)
            ),
            32,
        ),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="interleave",
        written="range(n).interleave(range(10), cycle_length=4).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).interleave(lambda x: hr.Dataset.range(10), cycle_length=4).batch(128),
        plain=lambda n: batches(interleaved(range(n), _of_ten, 4), 128),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="interleave_blocks",
        written="range(n).interleave(from_tensors(x).repeat(6), cycle_length=2, block_length=4)",
        ours=lambda hr, n: hr.Dataset.range(n).interleave(
            lambda x: hr.Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4
        ),
        plain=lambda n: interleaved(range(n), lambda x: iter([x] * 6), 2, 4),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="interleave_parallel",
        written="range(n).interleave(range(10), cycle_length=4, num_parallel_calls=AUTOTUNE).batch(128).prefetch(AUTOTUNE)",
        ours=lambda hr, n: (
            hr.Dataset.range(n)
            .interleave(lambda x: hr.Dataset.range(10), cycle_length=4, num_parallel_calls=hr.AUTOTUNE)
            .batch(128)
            .prefetch(hr.AUTOTUNE)
        ),
        plain=lambda n: batches(interleaved(range(n), _of_ten, 4), 128),
        tfdata=SAME,
        unit=Unit.INNER,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_flat_map",
        written="range(n).window(10).flat_map(w.batch(10))",
        ours=lambda hr, n: hr.Dataset.range(10 * n).window(10).flat_map(lambda window: window.batch(10)),
        plain=lambda n: _windows(range(10 * n), n, 10, 10),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_shift",
        written="range(n).window(10, shift=1, drop_remainder=True).flat_map(w.batch(10))",
        ours=lambda hr, n: (
            hr.Dataset.range(n + 9).window(10, shift=1, drop_remainder=True).flat_map(lambda window: window.batch(10))
        ),
        plain=lambda n: _windows(range(n + 9), n, 10, 1),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="window_forecast",
        written="from_tensor_slices(series).window(21, 1).flat_map(w.batch(21)).shuffle(1000).map((w[:-1], w[-1])).batch(32).prefetch(1)",
        ours=_forecast,
        plain=_forecast_by_hand,
        tfdata=SAME,
        torch=lambda torch, series: mapped(
            torch, len(series) - 20, lambda start: _next_value(series, start), batch_size=32, shuffle=True
        ),
        data=lambda n, folder: np.arange(n + 20, dtype=np.float32),
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
        same=in_any_order,
    ),
    Case(
        name="window_pairs",
        written="zip((range, range)).window(10).flat_map(zip((x.batch(10), y.batch(10))))",
        ours=_window_pairs,
        plain=lambda n: zip(*(_windows(range(10 * n), n, 10, 10) for _ in range(2)), strict=True),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=200,
        full=50_000,
    ),
    Case(
        name="group_by_window",
        written="range(32 n).group_by_window(x % 4, group.batch(32), 32)",
        ours=lambda hr, n: hr.Dataset.range(32 * n).group_by_window(
            key_func=lambda x: x % 4, reduce_func=lambda key, group: group.batch(32), window_size=32
        ),
        plain=lambda n: (np.array(group) for group in grouped(range(32 * n), lambda x: x % 4, 32)),
        tfdata=SAME,
        unit=Unit.WINDOW,
        small=20,
        full=5_000,
    ),
    Case(
        name="group_by_window_padded",
        written="range(n).map(arange(x % 16)).group_by_window(len // 4, group.padded_batch(32), 32)",
        ours=lambda hr, n: (
            hr.Dataset.range(n)
            .map(lambda x: np.arange(x % 16))
            .group_by_window(
                key_func=lambda row: len(row) // 4,
                reduce_func=lambda key, group: group.padded_batch(32),
                window_size=32,
            )
        ),
        plain=lambda n: (
            padded([np.arange(x % 16) for x in group]) for group in grouped(range(n), lambda x: x % 16 // 4, 32)
        ),
        tfdata=lambda tf, n: (
            tf.data.Dataset.range(n)
            .map(lambda x: tf.range(x % 16))
            .group_by_window(
                key_func=lambda row: tf.cast(tf.size(row) // 4, tf.int64),
                reduce_func=lambda key, group: group.padded_batch(32),
                window_size=32,
            )
        ),
    ),
)
