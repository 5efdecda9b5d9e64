"""One element in, one or none out: map, filter, and chains of them."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case, Unit
from idioms.cases.chain_data import (
    Normalizer,
    batch_rows,
    columns,
    columns_by_name,
    even,
    five_and_a_filter,
    five_and_a_filter_by_hand,
    images,
    scaled,
    texts,
    words_of,
)
from idioms.loaders import mapped, streamed
from idioms.plain import batches, dicts_stacked, slices, tuples_stacked


def _doubled_x(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "x": row["x"] * 2}


def _dict_rows(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return ({"x": x, "y": y} for x, y in zip(data["x"], data["y"], strict=True))


def _pairs(data: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    return ((row["x"] * 2, row["y"]) for row in _dict_rows(data))


@dataclass
class _Example:
    """What a program has for a row."""

    x: Any
    y: Any


def _examples(data: dict[str, Any]) -> Iterator[_Example]:
    return (_Example(x * 2, y) for x, y in zip(data["x"], data["y"], strict=True))


def _examples_of(hr: Any, data: dict[str, Any]) -> Any:
    return hr.Dataset.from_tensor_slices((data["x"], data["y"])).map(lambda x, y: _Example(x * 2, y))


def _fields_stacked(examples: Iterator[_Example], size: int) -> Iterator[Any]:
    for chunk in iter(lambda: list(islice(examples, size)), []):
        yield np.stack([one.x for one in chunk]), np.array([one.y for one in chunk])


CASES: Final = (
    Case(
        name="map_dataclasses",
        written="from_tensor_slices((x, y)).map(Example(x * 2, y)).batch(32).map(its fields)",
        ours=lambda hr, data: _examples_of(hr, data).batch(32).map(lambda batch: (batch.x, batch.y)),
        plain=lambda data: _fields_stacked(_examples(data), 32),
        data=columns_by_name,
    ),
    Case(
        name="filter_dataclasses",
        written="from_tensor_slices((x, y)).map(Example(x * 2, y)).filter(e.y % 3 > 0).map((e.x, e.y)).batch(32)",
        ours=lambda hr, data: (
            _examples_of(hr, data).filter(lambda one: one.y % 3 > 0).map(lambda one: (one.x, one.y)).batch(32)
        ),
        plain=lambda data: _fields_stacked((one for one in _examples(data) if one.y % 3 > 0), 32),
        data=columns_by_name,
    ),
    Case(
        name="map",
        written="range(n).map(x + 1)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1),
        plain=lambda n: (x + 1 for x in range(n)),
        tfdata=SAME,
        torch=lambda torch, n: mapped(torch, n, lambda index: index + 1, batch_size=None),
    ),
    Case(
        name="map_batch",
        written="range(n).map(x + 1).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).batch(128),
        plain=lambda n: batches((x + 1 for x in range(n)), 128),
        tfdata=SAME,
        torch=lambda torch, n: mapped(torch, n, lambda index: index + 1, batch_size=128),
    ),
    Case(
        name="map_batch_prefetch",
        written="range(n).map(x + 1).batch(128).prefetch(1)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).batch(128).prefetch(1),
        plain=lambda n: batches((x + 1 for x in range(n)), 128),
        tfdata=SAME,
        torch=lambda torch, n: mapped(torch, n, lambda index: index + 1, batch_size=128),
    ),
    Case(
        name="map_prefetch_map",
        written="range(n).map(x + 1).prefetch(1).map(x * 2).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).prefetch(1).map(lambda x: x * 2).batch(128),
        plain=lambda n: batches(((x + 1) * 2 for x in range(n)), 128),
        tfdata=SAME,
    ),
    Case(
        name="map_parallel",
        written="range(n).map(x + 1, AUTOTUNE).batch(128).prefetch(AUTOTUNE)",
        ours=lambda hr, n: (
            hr.Dataset.range(n).map(lambda x: x + 1, num_parallel_calls=hr.AUTOTUNE).batch(128).prefetch(hr.AUTOTUNE)
        ),
        plain=lambda n: batches((x + 1 for x in range(n)), 128),
        tfdata=SAME,
        torch=lambda torch, n: mapped(torch, n, lambda index: index + 1, batch_size=128),
    ),
    Case(
        name="map_parallel_of_4",
        written="range(n).map(x + 1, num_parallel_calls=4).batch(128).prefetch(AUTOTUNE)",
        ours=lambda hr, n: (
            hr.Dataset.range(n).map(lambda x: x + 1, num_parallel_calls=4).batch(128).prefetch(hr.AUTOTUNE)
        ),
        plain=lambda n: batches((x + 1 for x in range(n)), 128),
        tfdata=SAME,
    ),
    Case(
        name="map_partial",
        written="range(n).map(partial(add, 1)).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).map(partial(operator.add, 1)).batch(128),
        plain=lambda n: batches(map(partial(operator.add, 1), range(n)), 128),
        tfdata=SAME,
    ),
    Case(
        name="map_five_and_filter",
        written="range(n), five maps and a filter, batch(128)",
        ours=five_and_a_filter,
        plain=lambda n: batches(five_and_a_filter_by_hand(n), 128),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, lambda: five_and_a_filter_by_hand(n), batch_size=128),
    ),
    Case(
        name="map_five_and_filter_repeat",
        written="range(n), five maps and a filter, batch(128).repeat(2).prefetch(2)",
        ours=lambda hr, n: five_and_a_filter(hr, n).repeat(2).prefetch(2),
        plain=lambda n: (batch for _ in range(2) for batch in batches(five_and_a_filter_by_hand(n), 128)),
        tfdata=SAME,
    ),
    Case(
        name="map_tuples",
        written="from_tensor_slices((x, y)).map((x * 2, y)).batch(128)",
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).map(lambda x, y: (x * 2, y)).batch(128),
        plain=lambda data: tuples_stacked(((x * 2, y) for x, y in zip(*data, strict=True)), 128),
        tfdata=SAME,
        torch=lambda torch, data: mapped(
            torch, len(data[1]), lambda index: (data[0][index] * 2, data[1][index]), batch_size=128
        ),
        data=columns,
    ),
    Case(
        name="as_numpy_iterator",
        written="from_tensor_slices((x, y)).map((x, y > 10)).as_numpy_iterator()",
        ours=lambda hr, data: (
            hr.Dataset.from_tensor_slices(data).map(lambda x, y: (x, y > 10)).as_numpy_iterator  # anew in each epoch
        ),
        plain=lambda data: ((x, y > 10) for x, y in zip(*data, strict=True)),
        tfdata=lambda tf, data: (
            tf.data.Dataset.from_tensor_slices(data).map(lambda x, y: (x, y > 10)).as_numpy_iterator
        ),
        data=columns,
    ),
    Case(
        name="map_dicts",
        written='from_tensor_slices({"x", "y"}).map({**row, "x": row["x"] * 2}).batch(128)',
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).map(_doubled_x).batch(128),
        plain=lambda data: dicts_stacked(map(_doubled_x, _dict_rows(data)), 128),
        tfdata=SAME,
        torch=lambda torch, data: mapped(
            torch,
            len(data["y"]),
            lambda index: _doubled_x({"x": data["x"][index], "y": data["y"][index]}),
            batch_size=128,
        ),
        data=columns_by_name,
    ),
    Case(
        name="map_dicts_to_pairs",
        written='from_tensor_slices({"x", "y"}).map((row["x"] * 2, row["y"])).repeat(2).batch(128)',
        ours=lambda hr, data: (
            hr.Dataset.from_tensor_slices(data).map(lambda row: (row["x"] * 2, row["y"])).repeat(2).batch(128)
        ),
        plain=lambda data: tuples_stacked((pair for _ in range(2) for pair in _pairs(data)), 128),
        tfdata=SAME,
        data=columns_by_name,
    ),
    Case(
        name="map_images",
        written="from_tensor_slices((images, labels)).map((normalize(image), label), AUTOTUNE).batch(32).prefetch(AUTOTUNE)",
        ours=lambda hr, data: (
            hr.Dataset.from_tensor_slices(data)
            .map(lambda image, label: (image / 255.0, label), num_parallel_calls=hr.AUTOTUNE)
            .batch(32)
            .prefetch(hr.AUTOTUNE)
        ),
        plain=lambda data: tuples_stacked(((image / 255.0, label) for image, label in zip(*data, strict=True)), 32),
        tfdata=lambda tf, data: (
            tf.data.Dataset.from_tensor_slices(data)
            .map(lambda image, label: (tf.cast(image, tf.float64) / 255.0, label), num_parallel_calls=tf.data.AUTOTUNE)
            .batch(32)
            .prefetch(tf.data.AUTOTUNE)
        ),
        torch=lambda torch, data: mapped(
            torch, len(data[1]), lambda index: (data[0][index] / 255.0, data[1][index]), batch_size=32
        ),
        data=images,
        full=20_000,
    ),
    Case(
        name="map_method",
        written="from_tensor_slices((x, y)).map(normalizer.normalize).batch(128)",
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).map(Normalizer(2.0).normalize).batch(128),
        plain=lambda data: tuples_stacked(map(Normalizer(2.0).normalize, *data), 128),
        tfdata=SAME,
        data=columns,
    ),
    Case(
        name="map_texts",
        written="from_tensor_slices(texts).map(str.lower).batch(128)",
        ours=lambda hr, lines: hr.Dataset.from_tensor_slices(lines).map(str.lower).batch(128),
        plain=lambda lines: batches(map(str.lower, lines), 128),
        tfdata=lambda tf, lines: tf.data.Dataset.from_tensor_slices(lines).map(tf.strings.lower).batch(128),
        torch=lambda torch, lines: mapped(torch, len(lines), lambda index: lines[index].lower(), batch_size=128),
        data=texts,
    ),
    Case(
        name="map_texts_to_ids",
        written="from_tensor_slices(texts).map(ids of its words).batch(32)",
        ours=lambda hr, lines: hr.Dataset.from_tensor_slices(lines).map(words_of).batch(32),
        plain=lambda lines: batches(map(words_of, lines), 32),
        tfdata=lambda tf, lines: (
            tf.data.Dataset.from_tensor_slices(lines)
            .map(lambda line: tf.strings.to_hash_bucket_fast(tf.strings.split(line), 1000))
            .map(tf.ones_like)
            .batch(32)
        ),
        torch=lambda torch, lines: mapped(torch, len(lines), lambda index: words_of(lines[index]), batch_size=32),
        data=texts,
    ),
    Case(
        name="map_of_batches",
        written="from_tensor_slices(rows).batch(32).map(x * 2)",
        ours=lambda hr, rows: hr.Dataset.from_tensor_slices(rows).batch(32).map(scaled),
        plain=lambda rows: (scaled(batch) for batch in slices(rows, 32)),
        tfdata=SAME,
        data=batch_rows,
        unit=Unit.BATCH,
        small=200,
        full=20_000,
    ),
    Case(
        name="map_of_batches_parallel",
        written="from_tensor_slices(rows).batch(32).map(x * 2, AUTOTUNE).prefetch(2)",
        ours=lambda hr, rows: (
            hr.Dataset.from_tensor_slices(rows).batch(32).map(scaled, num_parallel_calls=hr.AUTOTUNE).prefetch(2)
        ),
        plain=lambda rows: (scaled(batch) for batch in slices(rows, 32)),
        tfdata=SAME,
        data=batch_rows,
        unit=Unit.BATCH,
        small=200,
        full=20_000,
    ),
    Case(
        name="filter",
        written="range(n).filter(x % 2 == 0)",
        ours=lambda hr, n: hr.Dataset.range(n).filter(even),
        plain=lambda n: (x for x in range(n) if x % 2 == 0),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, lambda: filter(even, range(n)), batch_size=None),
    ),
    Case(
        name="filter_pairs",
        written="from_tensor_slices((x, y)).filter(y % 2 == 0).batch(32)",
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).filter(lambda x, y: y % 2 == 0).batch(32),
        plain=lambda data: tuples_stacked((pair for pair in zip(*data, strict=True) if pair[1] % 2 == 0), 32),
        tfdata=SAME,
        data=columns,
    ),
    Case(
        name="filter_texts",
        written='from_tensor_slices(texts).filter("7" in it).batch(32)',
        ours=lambda hr, lines: hr.Dataset.from_tensor_slices(lines).filter(lambda line: "7" in line).batch(32),
        plain=lambda lines: batches((line for line in lines if "7" in line), 32),
        tfdata=lambda tf, lines: (
            tf.data.Dataset.from_tensor_slices(lines)
            .filter(lambda line: tf.strings.regex_full_match(line, ".*7.*"))
            .batch(32)
        ),
        data=texts,
    ),
    Case(
        name="enumerate",
        written="range(n).enumerate()",
        ours=lambda hr, n: hr.Dataset.range(n).enumerate(),
        plain=lambda n: enumerate(range(n)),
        tfdata=SAME,
    ),
    Case(
        name="enumerate_map",
        written="range(n).enumerate().map(i + x).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).enumerate().map(lambda i, x: i + x).batch(128),
        plain=lambda n: batches((i + x for i, x in enumerate(range(n))), 128),
        tfdata=SAME,
    ),
    Case(
        name="zip",
        written="zip((range(n), range(n))).map(x + y).batch(128)",
        ours=lambda hr, n: (
            hr.Dataset.zip((hr.Dataset.range(n), hr.Dataset.range(n))).map(lambda x, y: x + y).batch(128)
        ),
        plain=lambda n: batches((x + y for x, y in zip(range(n), range(n), strict=True)), 128),
        tfdata=SAME,
    ),
    Case(
        name="zip_triplets",
        written="zip((texts, texts, texts)).map((a, b, c)).batch(32)",
        ours=lambda hr, lines: (
            hr.Dataset.zip(tuple(hr.Dataset.from_tensor_slices(lines) for _ in range(3)))
            .map(lambda a, b, c: (a, b, c))
            .batch(32)
        ),
        plain=lambda lines: tuples_stacked(zip(lines, lines, lines, strict=True), 32),
        tfdata=SAME,
        data=texts,
    ),
    Case(
        name="zip_seeds",
        written="zip(((x, y), (counter(), counter()))).map(x * 2 + seed, y).batch(32)",
        ours=lambda hr, data: (
            hr.Dataset.zip(
                (hr.Dataset.from_tensor_slices(data), hr.Dataset.zip((hr.Dataset.counter(), hr.Dataset.counter())))
            )
            .map(lambda pair, seed: (pair[0] * 2, pair[1] + seed[0]))
            .batch(32)
        ),
        plain=lambda data: tuples_stacked(((x * 2, y + seed) for x, y, seed in zip(*data, count(), strict=False)), 32),
        tfdata=SAME,
        data=columns,
    ),
    Case(
        name="prefetch_scalars",
        written="range(n).prefetch(1)",
        ours=lambda hr, n: hr.Dataset.range(n).prefetch(1),
        plain=range,
        tfdata=SAME,
    ),
    Case(
        name="ignore_errors",
        written="range(n).map(x + 1).ignore_errors().batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).ignore_errors().batch(128),
        plain=lambda n: batches((x + 1 for x in range(n)), 128),
        tfdata=SAME,
    ),
    Case(
        name="apply",
        written="range(n).apply(a function of the dataset).assert_cardinality(n).batch(128)",
        ours=lambda hr, n: (
            hr.Dataset.range(n).apply(lambda ds: ds.map(lambda x: x + 1)).assert_cardinality(n).batch(128)
        ),
        plain=lambda n: batches((x + 1 for x in range(n)), 128),
        tfdata=lambda tf, n: (
            tf.data.Dataset.range(n)
            .apply(lambda ds: ds.map(lambda x: x + 1))
            .apply(tf.data.experimental.assert_cardinality(n))
            .batch(128)
        ),
    ),
)
