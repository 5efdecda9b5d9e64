"""Describes text files: what a plan holds of them."""

from __future__ import annotations

from typing import ClassVar

from headrace.elements.tensor_spec import Spec, TensorSpec
from headrace.frozen import frozen
from headrace.io.reader import RecordPosition, RecordReader
from headrace.io.streamed_files import StreamedFiles
from headrace.io.text.reader import LineReader

__all__ = ["TextFiles"]


@frozen(kw_only=True)
class TextFiles(StreamedFiles):
    """Text, a record a line."""

    op: ClassVar[str] = "TextLineDataset"

    def spec(self) -> Spec:
        return TensorSpec((), str)

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        return LineReader(path, self.compression_type, self.buffer_size, position)
