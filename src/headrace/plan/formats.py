"""The formats that ``Files`` reads: how a file of each is opened, and what its records are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.io.compression import checked_compression_type
from headrace.io.csv_format import CsvFormat
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


def _spread(record_defaults: Any) -> tuple[list[Any], tuple[int | None, ...]]:
    """One default a column, and for each component how many columns it spans, None for a scalar."""
    columns: list[Any] = []
    spans: list[int | None] = []
    for default in record_defaults:
        if isinstance(default, np.ndarray) and default.ndim == 1 and len(default) > 1:
            columns.extend(default)
            spans.append(len(default))
        else:
            columns.append(default)
            spans.append(None)
    return columns, tuple(spans)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CsvFiles:
    """CSV, a record a row.

    Attributes:
        csv: how the fields become columns.
        spans: for each component how many columns it spans, as one array; None is one column, as a scalar.
        header: whether the first record of each file is left out.
    """

    csv: CsvFormat
    spans: tuple[int | None, ...]
    header: bool = False
    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        _check_buffer_size(self.buffer_size)

    @classmethod
    def of(
        cls, record_defaults: Any, *, header: bool, compression_type: str | None, buffer_size: int | None, **csv: Any
    ) -> CsvFiles:
        """The format for defaults of which an array spans as many columns as it has values."""
        columns, spans = _spread(record_defaults)
        return cls(
            csv=CsvFormat(columns, **csv),
            spans=spans,
            header=header,
            compression_type=compression_type,
            buffer_size=buffer_size,
        )

    @property
    def op(self) -> str:
        return "CsvDataset"

    def spec(self) -> Spec:
        firsts = accumulate((span or 1 for span in self.spans[:-1]), initial=0)
        return tuple(
            TensorSpec(() if span is None else (span,), self.csv.dtypes[first])
            for span, first in zip(self.spans, firsts, strict=True)
        )

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        if not any(self.spans):
            return None if chunk.matrix is not None else chunk.columns
        firsts = accumulate((span or 1 for span in self.spans[:-1]), initial=0)
        return [_component(chunk, first, span) for first, span in zip(firsts, self.spans, strict=True)]

    def parameters(self) -> dict[str, Any]:
        csv = self.csv
        return {
            "columns": len(csv.dtypes),
            "spans": [span for span in self.spans if span is not None] or None,
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
            self.csv,
            header=self.header,
            compression_type=self.compression_type,
            buffer_size=self.buffer_size,
            place=place,
        )


def _component(chunk: Chunk, first: int, span: int | None) -> np.ndarray:
    """The columns from ``first`` on, as one array of rows; one column where there is no span."""
    if span is None:
        return chunk.columns[first] if chunk.matrix is None else chunk.matrix[:, first]
    if chunk.matrix is not None:
        return chunk.matrix[:, first : first + span]
    return np.stack(chunk.columns[first : first + span], axis=-1)
