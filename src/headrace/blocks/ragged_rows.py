"""A payload of elements that are arrays of different lengths: each is its bytes, which cost less than an array, and are joined at once.

Who reads many short arrays to put them together anyway, as ``pack`` and ``unbatch`` do, asks for them in this form (``Stage.may_join``). It
hands none of them on, so it is not written down whether they were read-only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Rows
from headrace.elements.rows_and_columns import rows_of_leaves
from headrace.elements.structure import Element, TreeDef

__all__ = ["RaggedColumn", "RaggedRows", "array_of_bytes"]


def array_of_bytes(contents: Sequence[bytes], dtype: np.dtype[Any]) -> np.ndarray:
    """Joins the bytes of arrays of one axis to one array, which may be written to."""
    return np.frombuffer(bytearray().join(contents), dtype)


class RaggedColumn:
    """Arrays of one dtype, which is of numbers, and one axis.

    Args:
        contents: the bytes of each.
        dtype: that of all.

    Attributes:
        lengths: how many items each has (int64).
    """

    __slots__ = ("_values", "contents", "dtype", "lengths")

    def __init__(self, contents: list[bytes], dtype: np.dtype[Any]) -> None:
        self.contents = contents
        self.dtype = dtype
        self.lengths = np.fromiter(map(len, contents), np.int64, len(contents)) // dtype.itemsize
        self._values: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.contents)

    @property
    def values(self) -> np.ndarray:
        """All of them, one behind the other; nobody else has that."""
        if self._values is None:
            self._values = array_of_bytes(self.contents, self.dtype)
        return self._values

    @property
    def nbytes(self) -> int:
        """How many bytes they have."""
        return int(self.lengths.sum()) * self.dtype.itemsize

    def subset(self, indices: Indices) -> RaggedColumn:
        """Returns the arrays at these indices."""
        contents = self.contents
        if isinstance(indices, range) and indices.step == 1:
            return RaggedColumn(contents[indices.start : indices.stop], self.dtype)
        chosen = indices if isinstance(indices, range) else indices.tolist()
        return RaggedColumn([contents[index] for index in chosen], self.dtype)

    def cut(self, most: int) -> RaggedColumn:
        """Returns the arrays up to that many items of each."""
        nbytes = most * self.dtype.itemsize
        return RaggedColumn([content[:nbytes] for content in self.contents], self.dtype)

    def arrays(self) -> list[np.ndarray]:
        """Returns them one by one, each with memory of its own."""
        return [np.frombuffer(content, self.dtype).copy() for content in self.contents]


class RaggedRows:
    """Elements whose leaves are arrays of numbers with one axis, at least one."""

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
        return sum(column.nbytes for column in self.joined)
