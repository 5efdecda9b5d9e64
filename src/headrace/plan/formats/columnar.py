"""Files of columns as a plan reads them: what Parquet and Arrow files have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.io.columnar.wanted import Selection
from headrace.io.reader import Chunk
from headrace.plan.node import Spec

__all__ = ["ColumnarFiles"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ColumnarFiles:
    """Rows of columns, a record a row."""

    selection: Selection

    def spec(self) -> Spec:
        """What the first file says, where it was there when the dataset was made."""
        expected = self.selection.expected
        return None if expected is None else dict(expected.spec)

    def parameters(self) -> dict[str, Any]:
        selection = self.selection
        return {
            "columns": None if selection.columns is None else list(selection.columns),
            "filters": None if selection.filters is None else str(selection.filters),
            "record_defaults": str(dict(selection.record_defaults)) if selection.record_defaults else None,
        }

    def components(self, chunk: Chunk) -> Sequence[np.ndarray] | None:
        return chunk.arrays
