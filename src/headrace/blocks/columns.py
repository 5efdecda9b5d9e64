"""Elements in arrays, one a leaf or one for all leaves, and which of what comes out of them may be written to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, Final

import numpy as np

from headrace.blocks.origin import Indices
from headrace.elements.key_orders import looks_the_same
from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import LEAF, Element, TreeDef, nbytes_of_objects, unflatten

__all__ = ["Columns", "is_alike"]


class Columns:
    """Elements in arrays, one a leaf; a matrix (elements, leaves, …) instead, where each leaf is one column of it.

    Elements share no array of their own: whoever keeps one leaf of a matrix does not keep all of it alive. What is copied
    out of arrays that are read-only is ``locked``: nobody can tell whether it was copied, so one by one its elements are
    read-only as well.

    Attributes:
        treedef: their structure.
        matrix: of its leaves, where it is one.
        keys_in_order: whether the dicts of all of them had their keys in the order of the structure; else they are stacked only with
            those with which they come out as one element.
    """

    __slots__ = ("_arrays", "_locked", "keys_in_order", "matrix", "treedef")

    def __init__(
        self,
        treedef: TreeDef,
        arrays: Sequence[np.ndarray] | None,
        matrix: np.ndarray | None = None,
        locked: Sequence[bool] = (),
        *,
        keys_in_order: bool = True,
    ) -> None:
        assert arrays is not None or matrix is not None
        self.treedef = treedef
        self._arrays = arrays
        self._locked = locked
        self.matrix = matrix
        self.keys_in_order = keys_in_order

    @property
    def locked(self) -> Sequence[bool]:
        """For each array whether its elements are read-only."""
        if self.matrix is not None:
            return [_is_locked(self.matrix)] * self.treedef.num_leaves
        locks = self._locked or repeat(False)
        return [_has_arrays(array) and (lock or not array.flags.writeable) for lock, array in zip(locks, self.arrays)]  # noqa: B905 - one may be endless

    @property
    def arrays(self) -> Sequence[np.ndarray]:
        """One array a leaf."""
        if self._arrays is None:
            assert self.matrix is not None  # one of the two was given
            self._arrays = list(self.matrix.swapaxes(0, 1))
        return self._arrays

    def __len__(self) -> int:
        arrays = self._arrays
        return len(arrays[0]) if arrays is not None else len(self.matrix)  # type: ignore[arg-type]  # one of the two was given

    def subset(self, indices: Indices) -> Columns:
        key = slice(indices.start, indices.stop, indices.step) if isinstance(indices, range) else indices
        if isinstance(indices, range) and not len(indices):
            key = slice(0, 0)
        if self.matrix is not None:
            return self.with_matrix(self.matrix[key])
        if isinstance(key, slice):
            arrays, locked = [array[key] for array in self.arrays], self._locked
        else:
            arrays, locked = [array.take(key, axis=0) for array in self.arrays], self.locked
        return Columns(self.treedef, arrays, locked=locked, keys_in_order=self.keys_in_order)

    def seen(self, part: range) -> Columns:
        """Returns a run of the elements, of arrays one a leaf, as others may see them: read-only."""
        key = slice(part.start, part.stop, part.step)
        views = [array[key] for array in self.arrays]
        for view in views:
            view.setflags(_NOT)  # type: ignore[call-arg]  # as NumPy takes it
        return Columns(self.treedef, views)

    def with_matrix(self, matrix: np.ndarray) -> Columns:
        """Returns such columns in a view or a copy of this matrix, whose elements are read-only as these are."""
        assert self.matrix is not None  # the caller has looked
        if _is_locked(self.matrix):
            matrix.flags.writeable = False
        return Columns(self.treedef, None, matrix)

    def rows(self) -> list[Element]:
        if self.matrix is not None and (self.matrix.ndim > _PLAIN_AXES or len(self) < self.treedef.num_leaves):
            return [unflatten(self.treedef, _leaves_of(row)) for row in self.matrix]
        if any(self._locked):
            arrays = [array.view() for array in self.arrays]
            for array, lock in zip(arrays, self._locked, strict=True):
                array.flags.writeable = array.flags.writeable and not lock
            return rows_of(self.treedef, arrays)
        return rows_of(self.treedef, self.arrays)

    @property
    def has_tuples(self) -> bool | None:
        return self.treedef.type is tuple

    def columns(self) -> Columns:
        return self

    @property
    def nbytes(self) -> int:
        if self.matrix is not None:
            return self.matrix.nbytes
        return sum(nbytes_of_objects(array) if array.dtype.kind == "O" else array.nbytes for array in self.arrays)


# As ``write=False``, which takes twice as long to be named.
_NOT: Final = False
# Of a matrix of scalars; one of more holds arrays.
_PLAIN_AXES: Final = 2


def _is_locked(matrix: np.ndarray) -> bool:
    return matrix.ndim > _PLAIN_AXES and not matrix.flags.writeable


def _leaves_of(row: np.ndarray) -> list[Any]:
    """Returns the leaves of one element of a matrix."""
    if row.ndim > 1 and row.flags.writeable:
        return list(map(np.ndarray.copy, row))
    return rows_of(LEAF, [row])


def _has_arrays(column: np.ndarray) -> bool:
    """Returns whether the elements in it are arrays, or rows of records: what one could write to."""
    return column.ndim > 1 or column.dtype.names is not None


def is_alike(first: Columns, other: object) -> bool:
    """Returns whether columns have one structure, the same dtypes and shapes, and may be written to alike."""
    if not isinstance(other, Columns) or not looks_the_same(first.treedef, other.treedef):
        return False
    if not (first.keys_in_order and other.keys_in_order):
        return False
    if first.matrix is not None and other.matrix is not None:
        one, two = first.matrix, other.matrix
        return one.dtype == two.dtype and one.shape[1:] == two.shape[1:] and _is_locked(one) == _is_locked(two)
    are_locked = first._locked or other._locked  # noqa: SLF001 - of its own class
    for one, two in zip(first.arrays, other.arrays, strict=True):
        if one.dtype != two.dtype or ((one.ndim, two.ndim) != (1, 1) and one.shape[1:] != two.shape[1:]):
            return False
        if not are_locked and _has_arrays(one) and one.flags.writeable != two.flags.writeable:
            return False
    return not are_locked or first.locked == other.locked
