"""TFRecord files as a plan reads them."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from headrace.io.reader import Place, RecordReader
from headrace.io.tfrecord.reader import FrameReader
from headrace.plan.formats.streamed import StreamedFiles
from headrace.plan.node import Spec
from headrace.tensor_spec import TensorSpec

__all__ = ["TFRecordFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TFRecordFiles(StreamedFiles):
    """Byte strings of any length, with checksums."""

    op: ClassVar[str] = "TFRecordDataset"

    def spec(self) -> Spec:
        return TensorSpec((), bytes)

    def open(self, path: str, place: Place) -> RecordReader:
        return FrameReader(path, self.compression_type, self.buffer_size, place)
