"""TFRecord files as a plan reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.io.compression import checked_compression_type
from headrace.io.reader import Chunk, Place, RecordReader
from headrace.io.tfrecord import FrameReader
from headrace.plan.formats.checks import check_buffer_size
from headrace.plan.node import Spec
from headrace.structure import TensorSpec

__all__ = ["TFRecordFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TFRecordFiles:
    """Byte strings of any length, with checksums."""

    compression_type: str | None = None
    buffer_size: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "compression_type", checked_compression_type(self.compression_type))
        check_buffer_size(self.buffer_size)

    @property
    def op(self) -> str:
        return "TFRecordDataset"

    def spec(self) -> Spec:
        return TensorSpec((), bytes)

    def parameters(self) -> dict[str, Any]:
        return {"compression_type": self.compression_type or None}

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.columns

    def open(self, path: str, place: Place) -> RecordReader:
        return FrameReader(path, self.compression_type, self.buffer_size, place)
