"""Describes Parquet and Arrow files: what a plan holds of them.

pyarrow is imported when a file is opened, and not before.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.elements.tensor_spec import Spec
from headrace.frozen import frozen
from headrace.io.columnar.wanted import RowGroups, Selection
from headrace.io.file_format import Piece
from headrace.io.reader import AheadReader, Chunk, RecordPosition, RecordReader
from headrace.known_as import known_as

__all__ = ["ArrowFiles", "ColumnarFiles", "ParquetFiles"]


@frozen(kw_only=True)
class ColumnarFiles:
    """Rows of columns, a record a row."""

    selection: Selection

    def spec(self) -> Spec:
        """Returns what the first file says, where it was there when the dataset was made."""
        expected = self.selection.expected
        return None if expected is None else dict(expected.spec)

    def parameters(self) -> dict[str, Any]:
        selection = self.selection
        return {
            "columns": None if selection.columns is None else list(selection.columns),
            "filters": None if selection.filters is None else str(selection.filters),
            "record_defaults": str(dict(selection.record_defaults)) if selection.record_defaults else None,
        }

    def open(self, path: str, position: RecordPosition) -> RecordReader:
        from headrace.io.columnar.reader import ColumnarReader

        return ColumnarReader(path, self._open_groups, self.selection, position)

    def open_piece(self, path: str, piece: Piece, position: RecordPosition) -> RecordReader:
        from headrace.io.columnar.reader import ColumnarReader

        return ColumnarReader(path, self._open_groups, self.selection, position, piece)

    def open_ahead(self, path: str, position: RecordPosition, piece: Piece | None = None) -> AheadReader:
        from headrace.io.columnar.reader import ColumnarReader

        return ColumnarReader(path, self._open_groups, self.selection, position, piece)

    def pieces(self, path: str) -> list[Piece] | None:
        """Returns the row groups, or record batches, that have rows."""
        groups = self._open_groups(path, self.selection)
        try:
            starts = groups.starts if groups.says_where else None
        finally:
            groups.close()
        if starts is None:
            return None
        rows = itertools.starmap(range, itertools.pairwise(starts))
        return [Piece(number, records) for number, records in enumerate(rows) if records]

    def _open_groups(self, path: str, selection: Selection) -> RowGroups:
        raise NotImplementedError

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.arrays


@known_as("ParquetDataset")
@frozen(kw_only=True)
class ParquetFiles(ColumnarFiles):
    """Parquet, a record a row."""

    @property
    def op(self) -> str:
        return "ParquetDataset"

    def _open_groups(self, path: str, selection: Selection) -> RowGroups:
        from headrace.io.columnar.parquet import ParquetGroups

        return ParquetGroups(path, selection)


@known_as("ArrowDataset")
@frozen(kw_only=True)
class ArrowFiles(ColumnarFiles):
    """Arrow's file and stream formats, a record a row."""

    @property
    def op(self) -> str:
        return "ArrowDataset"

    def _open_groups(self, path: str, selection: Selection) -> RowGroups:
        from headrace.io.columnar.arrow_ipc import open_arrow

        return open_arrow(path, selection)
