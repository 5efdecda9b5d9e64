"""What is parsed is what TensorFlow made of the same bytes (recorded by record_tensorflow_examples.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pytest.importorskip("google.protobuf")
RECORD = json.loads(Path(__file__).with_name("tensorflow_examples.json").read_text())
DTYPES = {"int64": np.int64, "float32": np.float32, "bytes": bytes}


def feature_of(kind: str, shape: list[int], dtype: str, default: Any) -> Any:
    if kind == "var":
        return hr.io.VarLenFeature(DTYPES[dtype])
    if kind == "fixed":
        return hr.io.FixedLenFeature(shape, DTYPES[dtype], default)
    return hr.io.FixedLenSequenceFeature(shape, DTYPES[dtype], kind == "sequence", default)


def plain(array: np.ndarray) -> Any:
    if array.dtype == object:
        return json.loads(json.dumps(array.tolist(), default=bytes.decode))
    if array.dtype.kind in "fc":
        array = array.view(f"u{array.dtype.itemsize // (2 if array.dtype.kind == 'c' else 1)}")
    return array.tolist()


def as_recorded(value: Any) -> Any:
    if isinstance(value, hr.RaggedTensor):
        return [plain(row) for row in value]
    array = np.asarray(value, object if isinstance(value, bytes) else None)
    return [list(array.shape), plain(array)]


def result(parse: Any) -> Any:
    try:
        return as_recorded(parse())
    except hr.errors.InvalidArgumentError:
        return None


def test_every_recorded_batch_is_parsed_as_tensorflow_parsed_it() -> None:
    differences: list[Any] = []
    for feature, batch, several, single in RECORD["parse"]:
        records = [bytes.fromhex(message) for message in batch]
        ours = result(lambda f=feature, r=records: hr.io.parse_example(r, {"x": feature_of(*f)})["x"])
        if ours != several:
            differences.append((feature, batch, several, ours))
        if single == "none":
            continue
        ours = result(lambda f=feature, r=records: hr.io.parse_single_example(r[0], {"x": feature_of(*f)})["x"])
        if ours != single:
            differences.append(("single", feature, batch, single, ours))
    assert differences == []


def test_raw_bytes_are_the_numbers_that_tensorflow_made_of_them() -> None:
    differences = []
    for texts, dtype, little_endian, length, recorded in RECORD["raw"]:
        given = bytes.fromhex(texts) if isinstance(texts, str) else [bytes.fromhex(text) for text in texts]
        arguments = (given, np.dtype(dtype), little_endian, length)
        ours = result(lambda a=arguments: hr.io.decode_raw(*a))
        if ours != recorded:
            differences.append((texts, dtype, little_endian, length, recorded, ours))
    assert differences == []
