"""Arrow files as a plan reads them."""

from __future__ import annotations

import dataclasses

from headrace.io.reader import Place, RecordReader
from headrace.plan.formats.columnar import ColumnarFiles

__all__ = ["ArrowFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ArrowFiles(ColumnarFiles):
    """Arrow's file and stream formats, a record a row."""

    @property
    def op(self) -> str:
        return "ArrowDataset"

    def open(self, path: str, place: Place) -> RecordReader:
        from headrace.io.columnar.arrow_ipc import open_arrow
        from headrace.io.columnar.reader import ColumnarReader

        return ColumnarReader(path, open_arrow, self.selection, place)
