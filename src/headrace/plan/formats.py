"""The formats that ``Files`` reads: how a file of each is opened, and what its records are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.io.compression import checked_compression_type
from headrace.io.csv_components import CsvComponents
from headrace.io.csv_reader import CsvReader
from headrace.io.reader import Chunk, Place, RecordReader
from headrace.io.text import LineReader
from headrace.plan.node import Spec
from headrace.structure import TensorSpec

__all__ = ["CsvFiles", "TextFiles"]


def _check_buffer_size(buffer_size: int | None) -> None:
    if buffer_size is not None and (isinstance(buffer_size, bool) or not isinstance(buffer_size, int)):
        raise TypeError(f"buffer_size must be an int or None, not {type(buffer_size).__name__}")
    if buffer_size is not None and buffer_size < 1:
        raise InvalidArgumentError(f"buffer_size must be at least 1 byte, not {buffer_size}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TextFiles:
    """Text, a record a line."""

    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        _check_buffer_size(self.buffer_size)

    @property
    def op(self) -> str:
        return "TextLineDataset"

    def spec(self) -> Spec:
        return TensorSpec((), str)

    def parameters(self) -> dict[str, Any]:
        return {"compression_type": self.compression_type or None}

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.columns

    def open(self, path: str, place: Place) -> RecordReader:
        return LineReader(path, self.compression_type, self.buffer_size, place)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CsvFiles:
    """CSV, a record a row."""

    csv: CsvComponents
    header: bool = False
    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        _check_buffer_size(self.buffer_size)

    @property
    def op(self) -> str:
        return "CsvDataset"

    def spec(self) -> Spec:
        return self.csv.spec()

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        if chunk.matrix is not None:
            return self.csv.arrays((), chunk.matrix) if any(self.csv.spans) else None
        return self.csv.arrays(chunk.columns, None)

    def parameters(self) -> dict[str, Any]:
        csv = self.csv.csv
        return {
            "columns": len(csv.dtypes),
            "spans": [span for span in self.csv.spans if span is not None] or None,
            "dtypes": sorted({"str" if dtype is str else np.dtype(dtype).name for dtype in csv.dtypes}),
            "header": self.header,
            "field_delim": csv.field_delim,
            "use_quote_delim": csv.use_quote_delim,
            "na_value": csv.na_value,
            "select_cols": csv.select_cols,
            "exclude_cols": csv.exclude_cols,
            "compression_type": self.compression_type or None,
        }

    def open(self, path: str, place: Place) -> RecordReader:
        return CsvReader(
            path,
            self.csv.csv,
            header=self.header,
            compression_type=self.compression_type,
            buffer_size=self.buffer_size,
            place=place,
        )
