"""Parquet files as a plan reads them."""

from __future__ import annotations

import dataclasses

from headrace.io.reader import Place, RecordReader
from headrace.plan.formats.columnar import ColumnarFiles

__all__ = ["ParquetFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFiles(ColumnarFiles):
    """Parquet, a record a row."""

    @property
    def op(self) -> str:
        return "ParquetDataset"

    def open(self, path: str, place: Place) -> RecordReader:
        from headrace.io.columnar.parquet import ParquetGroups
        from headrace.io.columnar.reader import ColumnarReader

        return ColumnarReader(path, ParquetGroups, self.selection, place)
