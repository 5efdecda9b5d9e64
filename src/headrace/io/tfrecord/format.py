"""Describes TFRecord files: what a plan holds of them."""

from __future__ import annotations

from typing import ClassVar

from headrace.elements.tensor_spec import Spec, TensorSpec
from headrace.frozen import frozen
from headrace.io.reader import RecordPosition, RecordReader
from headrace.io.streamed_files import StreamedFiles
from headrace.io.tfrecord.reader import FrameReader

__all__ = ["TFRecordFiles"]


@frozen(kw_only=True)
class TFRecordFiles(StreamedFiles):
    """Byte strings of any length, with checksums."""

    op: ClassVar[str] = "TFRecordDataset"

    def spec(self) -> Spec:
        return TensorSpec((), bytes)

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        return FrameReader(path, self.compression_type, self.buffer_size, position)
