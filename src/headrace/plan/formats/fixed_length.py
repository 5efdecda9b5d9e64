"""Files of records of a fixed length as a plan reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.io.compression import checked_compression_type
from headrace.io.fixed_length import FixedLengthFormat, FixedLengthReader
from headrace.io.reader import Chunk, Place, RecordReader
from headrace.plan.formats.checks import check_buffer_size
from headrace.plan.node import Spec
from headrace.structure import TensorSpec

__all__ = ["FixedLengthFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FixedLengthFiles:
    """Bytes, a record so many of them."""

    layout: FixedLengthFormat
    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        check_buffer_size(self.buffer_size)

    @property
    def op(self) -> str:
        return "FixedLengthRecordDataset"

    def spec(self) -> Spec:
        return TensorSpec((), bytes)

    def parameters(self) -> dict[str, Any]:
        return {
            "record_bytes": self.layout.record_bytes,
            "header_bytes": self.layout.header_bytes,
            "footer_bytes": self.layout.footer_bytes,
            "compression_type": self.compression_type or None,
        }

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.columns

    def open(self, path: str, place: Place) -> RecordReader:
        layout = self.layout
        return FixedLengthReader(
            path,
            layout.record_bytes,
            header_bytes=layout.header_bytes,
            footer_bytes=layout.footer_bytes,
            compression_type=self.compression_type,
            buffer_size=self.buffer_size,
            place=place,
        )
