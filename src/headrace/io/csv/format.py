"""Describes CSV files: what a plan holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from headrace.elements.tensor_spec import Spec
from headrace.frozen import frozen
from headrace.io.csv.components import CsvComponents
from headrace.io.csv.reader import CsvReader
from headrace.io.reader import Chunk, RecordPosition, RecordReader
from headrace.io.streamed_files import StreamedFiles

__all__ = ["CsvFiles"]


@frozen(kw_only=True)
class CsvFiles(StreamedFiles):
    """CSV, a record a row."""

    op: ClassVar[str] = "CsvDataset"
    smallest_buffer: ClassVar[int] = 1  # tf.data refuses 0 here
    csv: CsvComponents
    header: bool = False

    def spec(self) -> Spec:
        return self.csv.spec()

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        if chunk.matrix is not None:
            return self.csv.arrays((), chunk.matrix) if any(self.csv.spans) else None
        return self.csv.arrays(chunk.columns, None)

    def parameters(self) -> dict[str, Any]:
        csv = self.csv.csv
        return {
            "columns": len(csv.dtypes),
            "spans": [span for span in self.csv.spans if span is not None] or None,
            "dtypes": sorted({"str" if dtype is str else np.dtype(dtype).name for dtype in csv.dtypes}),
            "header": self.header,
            "field_delim": csv.field_delim,
            "use_quote_delim": csv.use_quote_delim,
            "na_value": csv.na_value,
            "select_cols": csv.select_cols,
            "exclude_cols": csv.exclude_cols,
            **StreamedFiles.parameters(self),
        }

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        return CsvReader(
            path,
            self.csv.csv,
            header=self.header,
            compression_type=self.compression_type,
            buffer_size=self.buffer_size,
            position=position,
        )
