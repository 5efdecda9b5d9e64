"""JSON Lines files as a plan reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.io.compression import checked_compression_type
from headrace.io.json_fields import JsonFields
from headrace.io.json_lines import JsonLinesReader
from headrace.io.reader import Chunk, Place, RecordReader
from headrace.plan.formats.checks import check_buffer_size
from headrace.plan.node import Spec

__all__ = ["JsonLinesFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JsonLinesFiles:
    """JSON Lines, a record a line; ``fields`` is None where all is read that is there."""

    fields: JsonFields | None = None
    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        check_buffer_size(self.buffer_size)

    @property
    def op(self) -> str:
        return "JsonLinesDataset"

    def spec(self) -> Spec:
        return None if self.fields is None else self.fields.spec()

    def parameters(self) -> dict[str, Any]:
        return {
            "fields": None if self.fields is None else [field.described() for field in self.fields],
            "compression_type": self.compression_type or None,
        }

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.columns

    def open(self, path: str, place: Place) -> RecordReader:
        return JsonLinesReader(
            path, self.fields, compression_type=self.compression_type, buffer_size=self.buffer_size, place=place
        )
