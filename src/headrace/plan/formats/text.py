"""Text files as a plan reads them."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from headrace.io.reader import Place, RecordReader
from headrace.io.text import LineReader
from headrace.plan.formats.streamed import StreamedFiles
from headrace.plan.node import Spec
from headrace.tensor_spec import TensorSpec

__all__ = ["TextFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TextFiles(StreamedFiles):
    """Text, a record a line."""

    op: ClassVar[str] = "TextLineDataset"

    def spec(self) -> Spec:
        return TensorSpec((), str)

    def open(self, path: str, place: Place) -> RecordReader:
        return LineReader(path, self.compression_type, self.buffer_size, place)
