"""TFRecord files of `tf.train.Example`: what the guides of TensorFlow put into them, and what is read of them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import Case
from idioms.cases import file_data as files
from idioms.plain import dicts_stacked

_NOTE: Final = "the plain loop calls headrace's parse_single_example: Python has no other"
_SEED: Final = 0
_IDS: Final = 128
_ABSENT: Final = 0.1

# What a feature is, in headrace's words or TensorFlow's, given its io and its dtypes.
Features = Callable[[Any, Any, Any, Any], dict[str, Any]]


def _few(io: Any, floats: Any, ints: Any, text: Any) -> dict[str, Any]:
    return {
        "x": io.FixedLenFeature([4], floats),
        "label": io.FixedLenFeature([], ints),
        "text": io.FixedLenFeature([], text),
    }


def _of_table(io: Any, floats: Any, ints: Any, text: Any) -> dict[str, Any]:
    del text
    return {f"f{column}": io.FixedLenFeature([], floats) for column in range(13)} | {
        f"i{column}": io.FixedLenFeature([], ints) for column in range(13)
    }


def _of_clicks(io: Any, floats: Any, ints: Any, text: Any) -> dict[str, Any]:
    del floats
    return {f"i{column}": io.FixedLenFeature([], ints, 0) for column in range(8)} | {
        f"c{column}": io.FixedLenFeature([], text, b"") for column in range(8)
    }


def _of_sentence(io: Any, floats: Any, ints: Any, text: Any) -> dict[str, Any]:
    del floats, text
    return {
        "input_ids": io.FixedLenFeature([_IDS], ints),
        "input_mask": io.FixedLenFeature([_IDS], ints),
        "label": io.FixedLenFeature([], ints),
    }


def _features(library: Any, features: Features) -> dict[str, Any]:
    if library.__name__ == "headrace":
        return features(library.io, np.float32, np.int64, bytes)
    return features(library.io, library.float32, library.int64, library.string)


def _in_batches(library: Any, readers: Any, paths: list[str], features: Features) -> Any:
    asked = _features(library, features)
    return (
        readers.TFRecordDataset(paths).batch(128).map(lambda batch: library.io.parse_example(batch, asked)).prefetch(2)
    )


def _one_by_one(library: Any, readers: Any, paths: list[str], features: Features) -> Any:
    asked = _features(library, features)
    records = readers.TFRecordDataset(paths)
    return records.map(lambda record: library.io.parse_single_example(record, asked)).batch(128)


def _by_hand(paths: list[str], features: Features) -> Iterator[Any]:
    """By protobuf, which is what TensorFlow's users have in Python: headrace's own parser stands for it."""
    io, asked = import_module("headrace").io, _features(import_module("headrace"), features)
    records = (record for path in paths for record in files.records_of(path))
    return dicts_stacked((io.parse_single_example(record, asked) for record in records), 128)


# ------------------------------------------------------------------------------------------------ files


def _tables(units: int, folder: Path) -> list[str]:
    """Thirteen floats and thirteen whole numbers below a thousand."""
    rng = np.random.default_rng(_SEED)
    rows = (
        {f"f{column}": value for column, value in enumerate(rng.random(13).astype(np.float32))}
        | {f"i{column}": value for column, value in enumerate(rng.integers(0, 1000, 13).tolist())}
        for _ in range(units)
    )
    return files.example_files(rows, units, folder)


def _clicks(units: int, folder: Path) -> list[str]:
    """Eight whole numbers and eight texts, of which each lacks in a tenth of the examples."""
    rng = np.random.default_rng(_SEED)

    def row() -> dict[str, Any]:
        numbers, texts = rng.exponential(50, 8).astype(int).tolist(), rng.integers(0, 2**32, 8).tolist()
        whole = {f"i{column}": value for column, value in enumerate(numbers)}
        whole |= {f"c{column}": b"%08x" % value for column, value in enumerate(texts)}
        return {name: value for name, value in whole.items() if rng.random() >= _ABSENT}

    return files.example_files((row() for _ in range(units)), units, folder)


def _sentences(units: int, folder: Path) -> list[str]:
    """Ids of tokens with zeros behind them, where they are, and a label."""
    rng = np.random.default_rng(_SEED)

    def row() -> dict[str, Any]:
        is_there = np.arange(_IDS) < rng.integers(20, _IDS)
        return {
            "input_ids": rng.integers(1, 30_000, _IDS) * is_there,
            "input_mask": is_there,
            "label": rng.integers(0, 2),
        }

    return files.example_files((row() for _ in range(units)), units, folder)


def _case(name: str, written: str, features: Features, data: Any, program: Any = _in_batches) -> Case:
    return Case(
        name=name,
        written=written,
        ours=lambda hr, paths: program(hr, hr, paths, features),
        plain=lambda paths: _by_hand(paths, features),
        tfdata=lambda tf, paths: program(tf, tf.data, paths, features),
        data=data,
        note=_NOTE,
        full=20_000,
    )


CASES: Final[tuple[Case, ...]] = (
    _case(
        "tfrecord_parse_single_example",
        "TFRecordDataset(files).map(parse_single_example).batch(128)",
        _few,
        files.examples,
        _one_by_one,
    ),
    _case(
        "tfrecord_parse_example",
        "TFRecordDataset(files).batch(128).map(parse_example).prefetch(2)",
        _few,
        files.examples,
    ),
    _case(
        "tfrecord_parse_tables",
        "TFRecordDataset(files).batch(128).map(parse_example).prefetch(2), 13 floats and 13 whole numbers",
        _of_table,
        _tables,
    ),
    _case(
        "tfrecord_parse_clicks",
        "TFRecordDataset(files).batch(128).map(parse_example).prefetch(2), 16 features, a tenth of each missing",
        _of_clicks,
        _clicks,
    ),
    _case(
        "tfrecord_parse_sentences",
        "TFRecordDataset(files).batch(128).map(parse_example).prefetch(2), 128 ids, their mask and a label",
        _of_sentence,
        _sentences,
    ),
)
