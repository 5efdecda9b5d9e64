"""Elements that are kept to be read again and again: in arrays where they fit into some, read-only for all, by index.

What always holds:
- An element comes back as what it was: its types, its dtypes, the order of the keys in its dicts.
- Arrays are copied into others only where nobody else has their memory, or where they are small: so what is shared, such as
  one array in all elements, stays shared.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns, is_alike
from headrace.blocks.handing_out import handed_out, protected
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.elements.key_orders import has_same_order, have_keys_in_one_order, orders_of_keys
from headrace.elements.leaf_arrays import PYTHON_NUMBERS, stack
from headrace.elements.rows_and_columns import transpose
from headrace.elements.structure import LEAF, Element, TreeDef, nbytes_of
from headrace.errors import InvalidArgumentError

__all__ = ["Keeper", "KeptSource", "is_same_form", "joined_columns", "joined_kept"]

# Elements at least this large are kept as they come: to copy each takes longer than it would gain.
_LARGE_BYTES: Final = 4 << 10
# A view of an array that others have too takes about 150 bytes by itself, and most of the time that its elements take.
_SMALL_VIEW_BYTES: Final = 1 << 10
_SCALARS: Final = frozenset({*PYTHON_NUMBERS, str, bytes})
_OF_PYTHON: Final = frozenset(PYTHON_NUMBERS.values())
_NUMBERS: Final = "biufcmM"
_dtype: Final = operator.attrgetter("dtype")
_shape: Final = operator.attrgetter("shape")
_is_writable: Final = operator.attrgetter("flags.writeable")


class Keeper:
    """Makes the elements of one epoch, block after block, such as they are kept: columns or rows, read, and read-only.

    Once some did not fit into columns, none are copied into some any more: all will be rows when they are joined.
    """

    __slots__ = ("_fits",)

    def __init__(self) -> None:
        self._fits = True

    def kept(self, payload: Payload) -> Payload:
        """Returns the elements of the next block."""
        match payload:
            case Columns():
                whole = protected(payload)
            case Indexed() if payload.source.is_columnar:
                whole = protected(payload.columns())
            case Zipped():
                parts = [self.kept(part) for part in payload.parts]
                together = Zipped(payload.treedef, parts)
                whole = together.columns() if self._fits else protected(Rows(together.rows()))
            case _:
                rows = payload if isinstance(payload, Rows) else Rows(payload.rows())
                columns = _as_columns(rows) if self._fits else None
                whole = protected(rows if columns is None else columns)
        self._fits = self._fits and isinstance(whole, Columns)
        return whole


def _as_columns(rows: Rows) -> Columns | None:
    """Returns the elements in arrays; None where these would not give back what they are, or take more memory than they do."""
    elements, kinds = rows.elements, rows.kinds
    if not kinds <= _SCALARS and nbytes_of(elements[0]) >= _LARGE_BYTES:
        return None
    try:
        if len(kinds) == 1 and kinds <= _SCALARS:  # mostly, and so first and quickly
            return Columns(LEAF, [stack(elements, kinds)])
        treedef, columns = transpose(elements)
        types = [set(map(type, column)) for column in columns]
        if not columns or not all(map(_fits_an_array, columns, types)) or not _has_one_order(elements, kinds, treedef):
            return None
        return Columns(treedef, [stack(*column) for column in zip(columns, types, strict=True)])
    except InvalidArgumentError:  # they differ, or a number has no room in 64 bits
        return None


def _fits_an_array(column: Sequence[Any], kinds: AbstractSet[type]) -> bool:
    """Returns whether leaves of these types fit into one array, which gives back what they are, and may be copied into it."""
    first = column[0]
    if len(kinds) > 1 or kinds <= _SCALARS:
        return len(kinds) == 1
    if not isinstance(first, np.generic) and type(first) is not np.ndarray:
        return False
    if first.dtype.kind not in _NUMBERS or not first.dtype.isnative or len(set(map(_dtype, column))) > 1:
        return False
    if isinstance(first, np.generic):
        return first.dtype not in _OF_PYTHON
    if not first.ndim or len(set(map(_shape, column))) > 1:
        return False
    return bool(first.nbytes <= _SMALL_VIEW_BYTES) or all(map(_is_writable, column))


def _has_one_order(elements: Sequence[Element], kinds: AbstractSet[type], treedef: TreeDef) -> bool:
    """Returns whether the dicts in all elements have their keys in one order, which is no part of their structure."""
    is_flat = treedef.num_nodes == treedef.num_leaves + 1  # one node besides its leaves
    if is_flat and kinds == {tuple}:
        return True
    if is_flat and kinds == {dict}:
        return len(set(map(tuple, elements))) == 1
    return have_keys_in_one_order(elements, orders_of_keys(elements[0]))


def joined_kept(pieces: list[Payload]) -> Payload:
    """Joins pieces of kept elements into one; takes the list apart as it goes, so that the memory of all is not needed twice."""
    if len(pieces) == 1:
        return pieces.pop()
    columns = [piece for piece in pieces if isinstance(piece, Columns)]
    if len(columns) == len(pieces) > 0 and _is_small(columns[0]):
        first = columns[0]
        if all(is_same_form(first, piece) for piece in columns):
            pieces.clear()
            return joined_columns(columns)
    elements: list[Element] = []
    pieces.reverse()
    while pieces:
        elements += pieces.pop().rows()
    return Rows(elements)


def _is_small(columns: Columns) -> bool:
    return columns.nbytes < _LARGE_BYTES * len(columns)


def is_same_form(first: Columns, other: Columns) -> bool:
    """Returns whether other elements are columns that may be joined to the first, and come back as what they are."""
    if not is_alike(first, other):
        return False
    same = has_same_order(first.treedef, other.treedef)
    return same and (first.matrix is None) == (other.matrix is None)


def joined_columns(pieces: list[Columns]) -> Columns:
    """Joins columns of the same form, at least one; takes the list apart as it goes."""
    if len(pieces) == 1:
        return pieces.pop()
    first, count = pieces[0], sum(map(len, pieces))
    wholes = [np.empty((count, *array.shape[1:]), array.dtype) for array in _arrays_of(first)]
    start = 0
    pieces.reverse()
    while pieces:
        arrays = _arrays_of(pieces.pop())
        stop = start + len(arrays[0])
        for whole, array in zip(wholes, arrays, strict=True):
            whole[start:stop] = array
        start = stop
    for whole in wholes:
        whole.flags.writeable = False
    return Columns(first.treedef, wholes) if first.matrix is None else Columns(first.treedef, None, wholes[0])


def _arrays_of(columns: Columns) -> Sequence[np.ndarray]:
    return columns.arrays if columns.matrix is None else [columns.matrix]


class KeptSource:
    """Kept elements, by index: whoever reads them gets containers of his own."""

    __slots__ = ("payload",)

    def __init__(self, payload: Payload) -> None:
        self.payload = payload

    def __len__(self) -> int:
        return len(self.payload)

    @property
    def has_tuples(self) -> bool | None:
        return self.payload.has_tuples

    @property
    def is_columnar(self) -> bool:
        return isinstance(self.payload, Columns)

    def rows(self, indices: Indices) -> list[Element]:
        part = self.payload.subset(indices)
        return part.rows() if isinstance(part, Columns) else handed_out(part).rows()

    def columns(self, indices: Indices) -> Columns:
        return self.payload.subset(indices).columns()
