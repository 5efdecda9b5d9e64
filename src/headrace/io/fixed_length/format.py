"""Describes files of records of a fixed length: what a plan holds of them."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.elements.tensor_spec import Spec, TensorSpec
from headrace.frozen import frozen
from headrace.io.fixed_length.reader import FixedLengthParser, FixedLengthReader
from headrace.io.reader import RecordPosition, RecordReader
from headrace.io.streamed_files import StreamedFiles

__all__ = ["FixedLengthFiles"]


@frozen(kw_only=True)
class FixedLengthFiles(StreamedFiles):
    """Bytes, a record of a fixed number of them."""

    op: ClassVar[str] = "FixedLengthRecordDataset"
    layout: FixedLengthParser

    def spec(self) -> Spec:
        return TensorSpec((), bytes)

    def parameters(self) -> dict[str, Any]:
        return {
            "record_bytes": self.layout.record_bytes,
            "header_bytes": self.layout.header_bytes,
            "footer_bytes": self.layout.footer_bytes,
            **StreamedFiles.parameters(self),
        }

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        layout = self.layout
        return FixedLengthReader(
            path,
            layout.record_bytes,
            header_bytes=layout.header_bytes,
            footer_bytes=layout.footer_bytes,
            compression_type=self.compression_type,
            buffer_size=self.buffer_size,
            position=position,
        )
