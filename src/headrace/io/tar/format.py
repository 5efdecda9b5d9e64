"""Describes tar archives: what a plan holds of them."""

from __future__ import annotations

from typing import ClassVar

from headrace.elements.tensor_spec import Spec
from headrace.frozen import frozen
from headrace.io.reader import RecordPosition, RecordReader
from headrace.io.streamed_files import StreamedFiles
from headrace.io.tar.reader import TarReader

__all__ = ["TarFiles"]


@frozen(kw_only=True)
class TarFiles(StreamedFiles):
    """Tar archives, a record a key: a dict, which may have other extensions than the one before."""

    op: ClassVar[str] = "TarDataset"

    def spec(self) -> Spec:
        return None

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        return TarReader(path, self.compression_type, position=position)
