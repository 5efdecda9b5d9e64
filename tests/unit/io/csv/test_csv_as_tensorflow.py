"""What TensorFlow made of 819 pieces of CSV, recorded by record_tensorflow_csv.py: headrace makes the same of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.errors import InvalidArgumentError
from headrace.io.csv.decoding import decode_csv
from headrace.io.csv.reader import CsvReader
from headrace.io.csv.record_format import CsvFormat

DTYPES = {"f": np.float32, "d": np.float64, "i": np.int32, "l": np.int64, "s": str}
DEFAULTS = {"f": 1.5, "d": np.float64(2.5), "i": 3, "l": np.int64(4), "s": "none"}


def recorded() -> list[tuple[str, str, dict[str, Any], Any, list[Any]]]:
    cases: list[tuple[str, str, dict[str, Any], Any, list[Any]]] = json.loads(
        Path(__file__).with_name("tensorflow_csv.json").read_text(encoding="utf-8")
    )
    return cases


def defaults_of(columns: str) -> list[Any]:
    required = [columns[index + 1 : index + 2] == "!" for index, kind in enumerate(columns) if kind != "!"]
    kinds = columns.replace("!", "")
    return [DTYPES[kind] if lacking else DEFAULTS[kind] for kind, lacking in zip(kinds, required, strict=True)]


def as_json(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return repr(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


def records_of(reader: CsvReader) -> Iterator[list[Any] | None]:
    while True:
        try:
            chunk = reader.read(3)
        except InvalidArgumentError:
            yield None
            continue
        if chunk is None:
            return
        for row in zip(*chunk.columns, strict=True):
            yield [as_json(value) for value in row]


def test_a_record_is_decoded_as_by_tensorflow() -> None:
    for text, columns, options, expected, _ in recorded():
        if expected == "no such option":
            continue
        try:
            found = [as_json(value) for value in decode_csv(text, defaults_of(columns), **options)]
        except InvalidArgumentError:
            found = None
        assert found == expected, (text, columns, options)


@pytest.mark.parametrize("buffer_size", [None, 1, 7])
def test_a_file_is_read_as_by_tensorflow(tmp_path: Path, buffer_size: int | None) -> None:
    path = tmp_path / "case.csv"
    for text, columns, recorded_options, _, expected in recorded():
        options = dict(recorded_options)
        header = options.pop("header", False)
        path.write_bytes(text.encode())
        fmt = CsvFormat(defaults_of(columns), **options)
        reader = CsvReader(str(path), fmt, header=header, buffer_size=buffer_size)
        assert list(records_of(reader)) == expected, (text, columns, recorded_options)


def test_the_record_has_every_kind_of_outcome() -> None:
    outcomes = [expected for *_, expected in recorded()]
    assert len(outcomes) > 800
    assert any(None in rows and any(rows) for rows in outcomes)
    assert any(len(rows) > 2 and None not in rows for rows in outcomes)
