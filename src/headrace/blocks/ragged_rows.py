"""A payload of elements that are arrays of different lengths: all of them in one array, which no element is an object in.

Who reads many short arrays to put them together anyway, as ``pack`` and ``unbatch`` do, asks for them in this form (``Stage.may_join``). It
hands none of them on, so it is not written down whether they were read-only.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Rows
from headrace.elements.rows_and_columns import rows_of_leaves
from headrace.elements.structure import Element, TreeDef

__all__ = ["RaggedColumn", "RaggedRows"]


class RaggedColumn:
    """Arrays of one dtype and one axis, joined.

    Args:
        values: all of them, one behind the other; nobody else has it.
        ends: where each begins in it, and the last one ends (int64).
    """

    __slots__ = ("ends", "values")

    def __init__(self, values: np.ndarray, ends: np.ndarray) -> None:
        self.values = values
        self.ends = ends

    @classmethod
    def of_bytes(cls, contents: Sequence[bytes], dtype: np.dtype) -> RaggedColumn:
        """Joins arrays of which each is given as its bytes."""
        ends = np.zeros(len(contents) + 1, np.int64)
        np.fromiter(map(len, contents), np.int64, len(contents)).cumsum(out=ends[1:])
        ends //= dtype.itemsize
        values = np.frombuffer(bytearray().join(contents), dtype) if ends[-1] else np.empty(0, dtype)
        return cls(values, ends)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def subset(self, indices: Indices) -> RaggedColumn:
        """Returns the arrays at these indices."""
        if isinstance(indices, range) and indices.step == 1:
            ends = self.ends[indices.start : indices.stop + 1]
            return RaggedColumn(self.values[ends[0] : ends[-1]], ends - ends[0])
        starts = self.ends[:-1][indices] if isinstance(indices, np.ndarray) else self.ends[list(indices)]
        stops = self.ends[1:][indices] if isinstance(indices, np.ndarray) else self.ends[1:][list(indices)]
        parts = [self.values[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        ends = np.zeros(len(parts) + 1, np.int64)
        (stops - starts).cumsum(out=ends[1:])
        values = np.concatenate(parts) if parts else self.values[:0]
        return RaggedColumn(values, ends)

    def arrays(self) -> list[np.ndarray]:
        """Returns them one by one, each with memory of its own."""
        values, ends = self.values, self.ends.tolist()
        return [values[start:stop].copy() for start, stop in itertools.pairwise(ends)]


class RaggedRows:
    """Elements whose leaves are arrays that are joined, at least one."""

    __slots__ = ("joined", "treedef")

    def __init__(self, treedef: TreeDef, columns: Sequence[RaggedColumn]) -> None:
        self.treedef = treedef
        self.joined = columns

    def __len__(self) -> int:
        return len(self.joined[0])

    def subset(self, indices: Indices) -> RaggedRows:
        return RaggedRows(self.treedef, [column.subset(indices) for column in self.joined])

    def rows(self) -> list[Element]:
        return rows_of_leaves(self.treedef, [column.arrays() for column in self.joined], len(self))

    @property
    def has_tuples(self) -> bool | None:
        return self.treedef.type is tuple

    def columns(self) -> Columns:
        return Rows(self.rows()).columns()

    @property
    def nbytes(self) -> int:
        return sum(column.values.nbytes for column in self.joined)
