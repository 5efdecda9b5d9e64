"""Describes JSON Lines files: what a plan holds of them."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.elements.tensor_spec import Spec
from headrace.frozen import frozen
from headrace.io.json_lines.fields import JsonFields
from headrace.io.json_lines.reader import JsonLinesReader
from headrace.io.reader import RecordPosition, RecordReader
from headrace.io.streamed_files import StreamedFiles

__all__ = ["JsonLinesFiles"]


@frozen(kw_only=True)
class JsonLinesFiles(StreamedFiles):
    """JSON Lines, a record a line; ``fields`` is None where all is read that is there."""

    op: ClassVar[str] = "JsonLinesDataset"
    fields: JsonFields | None = None

    def spec(self) -> Spec:
        return None if self.fields is None else self.fields.spec()

    def parameters(self) -> dict[str, Any]:
        return {
            "fields": None if self.fields is None else [field.described() for field in self.fields],
            **StreamedFiles.parameters(self),
        }

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        return JsonLinesReader(
            path, self.fields, compression_type=self.compression_type, buffer_size=self.buffer_size, position=position
        )
