"""What remembers or draws: scan, unique, shuffle, resampling, caches, what is kept on disk."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case
from idioms.cases.sources import rows_of_64
from idioms.loaders import fetched
from idioms.plain import batches, slices, tuples_stacked
from idioms.sameness import as_many, in_any_order


def _in_folder(units: int, folder: Path) -> tuple[int, str]:
    return units, str(folder)


def _shuffled(n: int) -> list[int]:
    order = list(range(1, n + 1))
    random.Random(0).shuffle(order)
    return order


def _average(state: Any, x: Any) -> Any:
    total, seen = state
    return (total + x, seen + 1), (total + x) / (seen + 1)


def _averages(n: int) -> Iterator[float]:
    total = 0.0
    for seen, x in enumerate(range(n), 1):
        total += x
        yield total / seen


def _smoothed(state: Any, row: Any) -> Any:
    state = state * np.float32(0.9) + row * np.float32(0.1)
    return state, state


def _smoothed_by_hand(rows: Any) -> Iterator[Any]:
    state = np.zeros(64, np.float32)
    for row in rows:
        state, output = _smoothed(state, row)
        yield output


def _counted(state: Any, row: Any) -> Any:
    return {"sum": state["sum"] + row, "count": state["count"] + 1}


def _counted_by_hand(rows: Any) -> Any:
    state = {"sum": np.zeros(64, np.float32), "count": 0}
    for row in rows:
        state = _counted(state, row)
    return [state]


def _sums(n: int) -> Iterator[Any]:
    state = np.int64(0)  # as the program begins, so that NumPy adds
    for x in range(n):
        state += x
        yield state


def _is_rare(x: int) -> int:
    return int(x % 10 == 0)


def _resampled(n: int) -> Iterator[tuple[int, int]]:
    """As many of the rare tenth as of the others: in five of nine draws what comes, else the next one that is not rejected."""
    draw, as_they_come, judged = random.Random(0).random, iter(range(n)), iter(range(n))
    accepted = (0.0, 1.0)  # of the others, of the rare
    while True:
        source = as_they_come if draw() < 5 / 9 else (x for x in judged if draw() < accepted[_is_rare(x)])
        x = next(source, None)
        if x is None:
            return
        yield _is_rare(x), x


def _noisy(rows: Any) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    return (row + rng.standard_normal(64, dtype=np.float32) for row in rows)


def _filling(hr: Any, data: tuple[int, str], name: str) -> Any:
    """An epoch of a dataset that is new each time, and so fills what it keeps."""
    n, folder = data
    fresh = itertools.count()

    def epoch() -> Any:
        dataset = hr.Dataset.range(n).map(lambda x: x + 1)
        if name == "memory":
            return dataset.cache().batch(128)
        path = f"{folder}/{name}-{next(fresh)}"
        return (dataset.cache(path) if name == "cache" else dataset.snapshot(path)).batch(128)

    return epoch


def _saved(hr: Any, data: tuple[int, str]) -> Any:
    n, folder = data
    hr.Dataset.range(n).map(lambda x: (x, x + 1)).save(f"{folder}/saved")
    return hr.Dataset.load(f"{folder}/saved").batch(128)


def _saving(hr: Any, data: tuple[int, str]) -> Any:
    n, folder = data

    def epoch() -> list[int]:
        hr.Dataset.range(n).map(lambda x: x + 1).save(f"{folder}/saving")
        return []

    return epoch


def _plus_one_kept(data: tuple[int, str]) -> Iterator[Any]:
    """The same, and a file of it at the end."""
    kept = []
    for batch in _plus_one(data):
        kept.append(batch)
        yield batch
    np.save(f"{data[1]}/kept.npy", np.concatenate(kept))


def _plus_one(data: tuple[int, str]) -> Iterator[Any]:
    return batches((x + 1 for x in range(data[0])), 128)


def _saved_by_hand(data: tuple[int, str]) -> list[int]:
    n, folder = data
    np.save(f"{folder}/saving.npy", np.array([x + 1 for x in range(n)]))
    return []


CASES: Final = (
    Case(
        name="scan",
        written="range(n).scan(0, (state + x, state + x))",
        ours=lambda hr, n: hr.Dataset.range(n).scan(np.int64(0), lambda state, x: (state + x, state + x)),
        plain=_sums,
        tfdata=SAME,
    ),
    Case(
        name="scan_average",
        written="range(n).map(float).scan((0.0, 0.0), running average).batch(32)",
        ours=lambda hr, n: hr.Dataset.range(n).map(float).scan((0.0, 0.0), _average).batch(32),
        plain=lambda n: batches(_averages(n), 32),
        tfdata=lambda tf, n: (
            tf.data.Dataset.range(n)
            .map(lambda x: tf.cast(x, tf.float64))
            .scan((np.float64(0), np.float64(0)), _average)
            .batch(32)
        ),
    ),
    Case(
        name="scan_rows",
        written="from_tensor_slices(rows).scan(zeros, (smoothed, smoothed)).batch(32)",
        ours=lambda hr, rows: hr.Dataset.from_tensor_slices(rows).scan(np.zeros(64, np.float32), _smoothed).batch(32),
        plain=lambda rows: batches(_smoothed_by_hand(rows), 32),
        tfdata=SAME,
        data=rows_of_64,
    ),
    Case(
        name="reduce_to_dict",
        written='from_tensor_slices(rows).reduce({"sum": zeros, "count": 0}, sums and count)',
        ours=lambda hr, rows: (
            lambda: [
                hr.Dataset.from_tensor_slices(rows).reduce({"sum": np.zeros(64, np.float32), "count": 0}, _counted)
            ]
        ),
        plain=_counted_by_hand,
        data=rows_of_64,
    ),
    Case(
        name="unique_few",
        written="from_tensor_slices(texts).map(first ten letters).unique()",
        ours=lambda hr, texts: hr.Dataset.from_tensor_slices(texts).map(lambda text: text[:10]).unique(),
        plain=lambda texts: dict.fromkeys(text[:10] for text in texts),
        data=lambda units, folder: [f"text {index % 1000}" for index in range(units)],
    ),
    Case(
        name="unique",
        written="range(n).map(x % 1000).unique()",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x % 1000).unique(),
        plain=lambda n: dict.fromkeys(x % 1000 for x in range(n)),
        tfdata=SAME,
    ),
    Case(
        name="unique_texts",
        written="from_tensor_slices(texts).unique().batch(32)",
        ours=lambda hr, texts: hr.Dataset.from_tensor_slices(texts).unique().batch(32),
        plain=lambda texts: batches(dict.fromkeys(texts), 32),
        tfdata=SAME,
        data=lambda units, folder: [f"text {index % 1000}" for index in range(units)],
    ),
    Case(
        name="shuffle",
        written="range(n).map(x + 1).shuffle(1000).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).shuffle(1000).batch(128),
        plain=lambda n: batches(_shuffled(n), 128),
        tfdata=SAME,
        same=in_any_order,
    ),
    Case(
        name="shuffle_generator",
        written="from_generator(pairs).shuffle(1000).batch(32).prefetch(AUTOTUNE)",
        ours=lambda hr, n: (
            hr.Dataset.from_generator(lambda: ((x, x % 10) for x in range(1, n + 1)))
            .shuffle(1000)
            .batch(32)
            .prefetch(hr.AUTOTUNE)
        ),
        plain=lambda n: tuples_stacked(((x, x % 10) for x in _shuffled(n)), 32),
        tfdata=lambda tf, n: (
            tf.data.Dataset.from_generator(
                lambda: ((x, x % 10) for x in range(1, n + 1)),
                output_types=(tf.int64, tf.int64),
                output_shapes=((), ()),
            )
            .shuffle(1000)
            .batch(32)
            .prefetch(tf.data.AUTOTUNE)
        ),
        same=in_any_order,
    ),
    Case(
        name="random_map",
        written="from_tensor_slices(rows).random_map(row + noise).batch(32)",
        ours=lambda hr, rows: (
            hr.Dataset.from_tensor_slices(rows)
            .random_map(lambda rng, row: row + rng.standard_normal(64, dtype=np.float32), seed=0)
            .batch(32)
        ),
        plain=lambda rows: batches(_noisy(rows), 32),
        tfdata=lambda tf, rows: (
            tf.data.Dataset.from_tensor_slices(rows).map(lambda row: row + tf.random.normal([64])).batch(32)
        ),
        torch=lambda torch, rows: fetched(
            torch,
            len(rows),
            lambda chosen: [torch.from_numpy(rows[i]) + torch.randn(64) for i in chosen],
            batch_size=32,
        ),
        data=rows_of_64,
        same=as_many,
    ),
    Case(
        name="rejection_resample",
        written="range(n).rejection_resample(x % 10 == 0, [0.5, 0.5], [0.9, 0.1]).map(x).batch(32)",
        ours=lambda hr, n: (
            hr.Dataset.range(n)
            .rejection_resample(_is_rare, target_dist=[0.5, 0.5], initial_dist=[0.9, 0.1], seed=0)
            .map(lambda label, x: x)
            .batch(32)
        ),
        plain=lambda n: batches((x for _, x in _resampled(n)), 32),
        tfdata=lambda tf, n: (
            tf.data.Dataset.range(n)
            .rejection_resample(
                lambda x: tf.cast(x % 10 == 0, tf.int64), target_dist=[0.5, 0.5], initial_dist=[0.9, 0.1], seed=0
            )
            .map(lambda label, x: x)
            .batch(32)
        ),
        same=as_many,
    ),
    Case(
        name="reduce",
        written="range(n).reduce(0, state + x)",
        ours=lambda hr, n: lambda: [hr.Dataset.range(n).reduce(np.int64(0), lambda state, x: state + x)],
        plain=lambda n: [sum(range(n))],
        tfdata=SAME,
    ),
    Case(
        name="cache",
        written="range(n).map(x + 1).cache().batch(128), read again",
        ours=lambda hr, n: hr.Dataset.range(n).map(lambda x: x + 1).cache().batch(128),
        plain=lambda n: batches(range(1, n + 1), 128),
        tfdata=SAME,
    ),
    Case(
        name="cache_pairs_shuffle",
        written="from_tensor_slices((x, y)).map((x * 2, y)).cache().shuffle(n).batch(32).prefetch(AUTOTUNE), read again",
        ours=lambda hr, rows: (
            hr.Dataset.from_tensor_slices((rows, np.arange(len(rows))))
            .map(lambda x, y: (x * 2, y))
            .cache()
            .shuffle(len(rows))
            .batch(32)
            .prefetch(hr.AUTOTUNE)
        ),
        plain=lambda rows: (
            (rows[chosen] * 2, chosen) for chosen in slices(np.random.default_rng(0).permutation(len(rows)), 32)
        ),
        tfdata=SAME,
        data=rows_of_64,
        same=in_any_order,
    ),
    Case(
        name="cache_filling",
        written="range(n).map(x + 1).cache().batch(128), its first epoch",
        ours=lambda hr, data: _filling(hr, data, "memory"),
        plain=_plus_one,
        tfdata=SAME,
        data=_in_folder,
    ),
    Case(
        name="cache_file",
        written="range(n).map(x + 1).cache(file).batch(128), read again",
        ours=lambda hr, data: hr.Dataset.range(data[0]).map(lambda x: x + 1).cache(f"{data[1]}/cache").batch(128),
        plain=_plus_one,
        tfdata=SAME,
        data=_in_folder,
    ),
    Case(
        name="cache_file_filling",
        written="range(n).map(x + 1).cache(file).batch(128), its first epoch",
        ours=lambda hr, data: _filling(hr, data, "cache"),
        plain=_plus_one_kept,
        tfdata=SAME,
        data=_in_folder,
    ),
    Case(
        name="snapshot",
        written="range(n).map(x + 1).snapshot(folder).batch(128), read again",
        ours=lambda hr, data: hr.Dataset.range(data[0]).map(lambda x: x + 1).snapshot(f"{data[1]}/snapshot").batch(128),
        plain=_plus_one,
        tfdata=SAME,
        data=_in_folder,
    ),
    Case(
        name="snapshot_filling",
        written="range(n).map(x + 1).snapshot(folder).batch(128), its first epoch",
        ours=lambda hr, data: _filling(hr, data, "snapshot"),
        plain=_plus_one_kept,
        tfdata=SAME,
        data=_in_folder,
    ),
    Case(
        name="load",
        written="load(folder).batch(128), pairs",
        ours=_saved,
        plain=lambda data: tuples_stacked(((x, x + 1) for x in range(data[0])), 128),
        tfdata=SAME,
        data=_in_folder,
    ),
    Case(
        name="save",
        written="range(n).map(x + 1).save(folder)",
        ours=_saving,
        plain=_saved_by_hand,
        tfdata=SAME,
        data=_in_folder,
    ),
)
