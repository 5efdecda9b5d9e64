"""Where elements begin: counted, sliced from memory, made by a generator, drawn."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case
from idioms.loaders import as_they_are, fetched, mapped, streamed
from idioms.plain import batches, chunks, dicts_stacked, slices, tuples_stacked
from idioms.sameness import as_many, in_any_order


def rows_of_64(units: int, folder: Path) -> Any:
    """Float32 rows."""
    return np.random.default_rng(0).standard_normal((units, 64), dtype=np.float32)


def _pair(units: int, folder: Path) -> Any:
    return rows_of_64(units, folder), np.arange(units) % 10


def _table(units: int, folder: Path) -> dict[str, Any]:
    return {"x": rows_of_64(units, folder), "y": np.arange(units) % 10, "weight": np.ones(units, np.float32)}


def _texts(units: int, folder: Path) -> list[str]:
    return [f"a line of text, number {index}" for index in range(units)]


def _labelled(units: int, folder: Path) -> Any:
    return _texts(units, folder), np.arange(units) % 2


def _skip_grams(units: int, folder: Path) -> Any:
    return (np.arange(units), np.arange(5 * units).reshape(units, 5)), np.ones((units, 5), np.int64)


class _Tensors:
    """A map-style dataset as PyTorch's tutorials write it."""

    def __init__(self, length: int) -> None:
        self._rows = rows_of_64(length, Path())

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        import torch  # what the other sides do without

        return torch.from_numpy(self._rows[index]) * 2, index


class _Examples:
    """A map-style dataset as PyTorch's tutorial has it."""

    def __init__(self, units: int) -> None:
        self.rows = rows_of_64(units, Path())
        self.labels = np.arange(units) % 10

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"row": self.rows[index], "label": self.labels[index]}


def _counted(units: int) -> Any:
    def count() -> Iterator[int]:
        yield from range(units)

    return count


def _pairs(units: int) -> Any:
    row = np.ones(8, np.float32)

    def examples() -> Iterator[tuple[Any, int]]:
        for index in range(units):
            yield row, index

    return examples


def _records(units: int) -> Any:
    def records() -> Iterator[dict[str, Any]]:
        for index in range(units):
            yield {"text": "some words", "label": index % 2}

    return records


def _gathered(structure: Any, chosen: Any) -> Any:
    if isinstance(structure, dict):
        return {key: _gathered(column, chosen) for key, column in structure.items()}
    if isinstance(structure, tuple):
        return tuple(_gathered(column, chosen) for column in structure)
    return structure[chosen]


def _shuffled(structure: Any, length: int, size: int) -> Iterator[Any]:
    order = np.random.default_rng(0).permutation(length)
    return (_gathered(structure, chosen) for chosen in slices(order, size))


def _shuffled_texts(data: Any) -> Iterator[Any]:
    texts, labels = data
    order = list(range(len(texts)))
    random.Random(0).shuffle(order)
    return tuples_stacked(((texts[index], labels[index]) for index in order), 256)


def _fetched_shuffled(torch: Any, structure: Any, length: int) -> Any:
    return fetched(
        torch,
        length,
        lambda indices: _gathered(structure, indices),
        batch_size=256,
        shuffle=True,
        collate_fn=as_they_are,
    )


def _draws(n: int) -> Iterable[int]:
    draw = random.Random(0)
    return (draw.getrandbits(63) for _ in range(n))


CASES: Final = (
    Case(
        name="range",
        written="range(n)",
        ours=lambda hr, n: hr.Dataset.range(n),
        plain=range,
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, lambda: range(n), batch_size=None),
    ),
    Case(
        name="range_batch",
        written="range(n).batch(128)",
        ours=lambda hr, n: hr.Dataset.range(n).batch(128),
        plain=lambda n: batches(range(n), 128),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, lambda: range(n), batch_size=128),
        full=5_000_000,
    ),
    Case(
        name="from_tensor_slices_rows",
        written="from_tensor_slices(rows)",
        ours=lambda hr, rows: hr.Dataset.from_tensor_slices(rows),
        plain=iter,
        tfdata=SAME,
        torch=lambda torch, rows: mapped(torch, len(rows), rows.__getitem__, batch_size=None),
        data=rows_of_64,
    ),
    Case(
        name="from_tensor_slices_texts",
        written="from_tensor_slices(texts)",
        ours=lambda hr, texts: hr.Dataset.from_tensor_slices(texts),
        plain=iter,
        tfdata=SAME,
        torch=lambda torch, texts: mapped(torch, len(texts), texts.__getitem__, batch_size=None),
        data=_texts,
    ),
    Case(
        name="from_tensor_slices_pairs_shuffle_batch",
        written="from_tensor_slices((x, y)).shuffle(n).batch(256)",
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).shuffle(len(data[1])).batch(256),
        plain=lambda data: _shuffled(data, len(data[1]), 256),
        tfdata=SAME,
        torch=lambda torch, data: _fetched_shuffled(torch, data, len(data[1])),
        data=_pair,
        same=in_any_order,
    ),
    Case(
        name="from_tensor_slices_dicts_shuffle_batch",
        written='from_tensor_slices({"x", "y", "weight"}).shuffle(n).batch(256)',
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).shuffle(len(data["y"])).batch(256),
        plain=lambda data: _shuffled(data, len(data["y"]), 256),
        tfdata=SAME,
        torch=lambda torch, data: _fetched_shuffled(torch, data, len(data["y"])),
        data=_table,
        same=in_any_order,
    ),
    Case(
        name="from_tensor_slices_texts_shuffle_batch",
        written="from_tensor_slices((texts, labels)).shuffle(n).batch(256)",
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).shuffle(len(data[1])).batch(256),
        plain=_shuffled_texts,
        tfdata=SAME,
        torch=lambda torch, data: mapped(
            torch, len(data[1]), lambda index: (data[0][index], data[1][index]), batch_size=256, shuffle=True
        ),
        data=_labelled,
        same=in_any_order,
    ),
    Case(
        name="from_tensor_slices_skip_grams",
        written="from_tensor_slices(((targets, contexts), labels)).shuffle(n).batch(1024).cache().prefetch(AUTOTUNE)",
        ours=lambda hr, data: (
            hr.Dataset.from_tensor_slices(data).shuffle(len(data[1])).batch(1024).cache().prefetch(hr.AUTOTUNE)
        ),
        plain=lambda data: _shuffled(data, len(data[1]), 1024),
        tfdata=SAME,
        data=_skip_grams,
        same=in_any_order,
    ),
    Case(
        name="from_tensor_slices_repeat",
        written="from_tensor_slices((x, y)).shuffle(n).batch(256).repeat(2).prefetch(2)",
        ours=lambda hr, data: (
            hr.Dataset.from_tensor_slices(data).shuffle(len(data[1])).batch(256).repeat(2).prefetch(2)
        ),
        plain=lambda data: (batch for _ in range(2) for batch in _shuffled(data, len(data[1]), 256)),
        tfdata=SAME,
        data=_pair,
        same=in_any_order,
    ),
    Case(
        name="from_tensor_slices_dicts_repeat",
        written='from_tensor_slices({"x", "y", "weight"}).shuffle(n).batch(256).repeat(2).prefetch(2)',
        ours=lambda hr, data: (
            hr.Dataset.from_tensor_slices(data).shuffle(len(data["y"])).batch(256).repeat(2).prefetch(2)
        ),
        plain=lambda data: (batch for _ in range(2) for batch in _shuffled(data, len(data["y"]), 256)),
        tfdata=SAME,
        data=_table,
        same=in_any_order,
    ),
    Case(
        name="from_tensors",
        written="from_tensors(row).repeat(n).batch(32)",
        ours=lambda hr, n: hr.Dataset.from_tensors(np.ones(8, np.float32)).repeat(n).batch(32),
        plain=lambda n: batches((np.ones(8, np.float32) for _ in range(n)), 32),
        tfdata=SAME,
    ),
    Case(
        name="source",
        written='source(examples of {"row", "label"}).shuffle(n).batch(64)',
        ours=lambda hr, examples: hr.Dataset.source(examples).shuffle(len(examples)).batch(64),
        plain=lambda examples: dicts_stacked(
            (examples[index] for index in np.random.default_rng(0).permutation(len(examples))), 64
        ),
        torch=lambda torch, examples: torch.utils.data.DataLoader(examples, batch_size=64, shuffle=True),
        data=lambda units, folder: _Examples(units),
        same=in_any_order,
    ),
    Case(
        name="source_tensors",
        written="source(rows, doubled, as tensors of PyTorch's).batch(32)",
        ours=lambda hr, rows: hr.Dataset.source(rows).batch(32),
        plain=lambda rows: tuples_stacked(
            ((row.numpy(), label) for row, label in map(rows.__getitem__, range(len(rows)))), 32
        ),
        torch=lambda torch, rows: torch.utils.data.DataLoader(rows, batch_size=32),
        data=lambda units, folder: _Tensors(units),
        needs="torch",
    ),
    Case(
        name="from_generator",
        written="from_generator(counted)",
        ours=lambda hr, n: hr.Dataset.from_generator(_counted(n)),
        plain=lambda n: _counted(n)(),
        tfdata=lambda tf, n: tf.data.Dataset.from_generator(_counted(n), output_types=tf.int64),
        torch=lambda torch, n: streamed(torch, _counted(n), batch_size=None),
    ),
    Case(
        name="from_generator_signature",
        written="from_generator(pairs, output_signature=(TensorSpec((8,)), TensorSpec(())))",
        ours=lambda hr, n: hr.Dataset.from_generator(
            _pairs(n), output_signature=(hr.TensorSpec((8,), np.float32), hr.TensorSpec((), np.int64))
        ),
        plain=lambda n: _pairs(n)(),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, _pairs(n), batch_size=None),
    ),
    Case(
        name="from_generator_signature_of_arrays",
        written="from_generator(zip(x, y), output_signature=(TensorSpec((64,)), TensorSpec(()))).batch(32)",
        ours=lambda hr, data: hr.Dataset.from_generator(
            lambda: zip(*data, strict=True),
            output_signature=(hr.TensorSpec((64,), np.float32), hr.TensorSpec((), np.int64)),
        ).batch(32),
        plain=lambda data: tuples_stacked(zip(*data, strict=True), 32),
        tfdata=SAME,
        torch=lambda torch, data: streamed(torch, lambda: zip(*data, strict=True), batch_size=32),
        data=_pair,
    ),
    Case(
        name="from_generator_signature_scalars",
        written="from_generator(counted, output_signature=TensorSpec(())).batch(32).prefetch(2)",
        ours=lambda hr, n: (
            hr.Dataset.from_generator(_counted(n), output_signature=hr.TensorSpec((), np.int32)).batch(32).prefetch(2)
        ),
        plain=lambda n: (np.array(chunk, np.int32) for chunk in chunks(_counted(n)(), 32)),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, _counted(n), batch_size=32),
    ),
    Case(
        name="from_generator_signature_dicts",
        written='from_generator(records, output_signature={"text", "label"}).batch(32)',
        ours=lambda hr, n: hr.Dataset.from_generator(
            _records(n), output_signature={"text": hr.TensorSpec((), str), "label": hr.TensorSpec((), np.int64)}
        ).batch(32),
        plain=lambda n: dicts_stacked(_records(n)(), 32),
        tfdata=lambda tf, n: tf.data.Dataset.from_generator(
            _records(n),
            output_signature={"text": tf.TensorSpec((), tf.string), "label": tf.TensorSpec((), tf.int64)},
        ).batch(32),
        torch=lambda torch, n: streamed(torch, _records(n), batch_size=32),
    ),
    Case(
        name="from_generator_types",
        written="from_generator(pairs, output_types=(float32, int64)).batch(32)",
        ours=lambda hr, n: hr.Dataset.from_generator(_pairs(n), output_types=(np.float32, np.int64)).batch(32),
        plain=lambda n: tuples_stacked(_pairs(n)(), 32),
        tfdata=SAME,
        torch=lambda torch, n: streamed(torch, _pairs(n), batch_size=32),
    ),
    Case(
        name="counter",
        written="counter().take(n).batch(128)",
        ours=lambda hr, n: hr.Dataset.counter().take(n).batch(128),
        plain=lambda n: batches(range(n), 128),
        tfdata=SAME,
    ),
    Case(
        name="random",
        written="random(seed=0).take(n).batch(128)",
        ours=lambda hr, n: hr.Dataset.random(seed=0).take(n).batch(128),
        plain=lambda n: batches(_draws(n), 128),
        tfdata=SAME,
        same=as_many,
    ),
)
