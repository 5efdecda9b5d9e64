"""Many elements that are alike, as most are, seen to be such at once: of one structure, and in each component of one kind.

What is said of them is what looking at each would say. Where a look at all of them does not tell, nothing is said.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from headrace.elements.key_orders import have_keys_in_one_order, orders_of_keys
from headrace.elements.rows_and_columns import normalize_rows, transpose
from headrace.elements.structure import LEAF, Element, TreeDef, nbytes_of_leaves
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.elements.columns import Kind, kind_of_leaf

__all__ = ["Alike", "alike"]

_NUMBERS: Final = frozenset((bool, float, complex))
_TEXTS: Final = frozenset((str, bytes))
_SCALARS: Final = _NUMBERS | _TEXTS | {int}
_axes_and_dtype: Final = operator.attrgetter("ndim", "dtype")


@frozen(eq=False)
class Alike:
    """Elements that may lie in one segment.

    Attributes:
        treedef: their structure.
        kinds: of the leaves in each component.
        orders: of the keys in their dicts.
        columns: the leaves of each component.
        nbytes: about how many bytes all leaves hold.
    """

    treedef: TreeDef
    kinds: tuple[Kind, ...]
    orders: Any
    columns: list[Sequence[Any]]
    nbytes: int


def alike(elements: Sequence[Element]) -> Alike | None:
    """Returns the elements as columns; None where they differ, or one of them cannot be stored.

    Example:
        >>> from headrace.io.elements.alike import alike
        >>> alike([(1, "one"), (2, "two")]).columns
        [[1, 2], ['one', 'two']]
        >>> alike([1, "two"]) is None
        True
    """
    types = set(map(type, elements))
    if len(types) == 1 and types <= _SCALARS:  # mostly, and so first and quickly
        kind = _kind_of_column(elements, types)
        return kind and Alike(LEAF, (kind,), None, [elements], _nbytes_of_column(elements, kind))
    try:
        rows = normalize_rows(list(elements), types)
        orders = orders_of_keys(rows[0])
        if not have_keys_in_one_order(rows, orders):
            return None
        treedef, columns = transpose(rows)
        kinds = [_kind_of_column(column, set(map(type, column))) for column in columns]
    except InvalidArgumentError:  # one by one it is found which of them it is
        return None
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    return Alike(treedef, tuple(known), orders, columns, sum(map(_nbytes_of_column, columns, known)))


def _kind_of_column(column: Sequence[Any], types: AbstractSet[type]) -> Kind | None:
    """Returns the kind of all leaves, of these types; None where they have several, or a look at each has to tell."""
    if len(types) > 1:
        return None
    first, kind = column[0], type(column[0])
    if kind is int:
        return kind_of_leaf(first) if _fit_int64(column) else None
    if kind in _NUMBERS or kind in _TEXTS:
        return kind_of_leaf(first)
    if kind is np.ndarray or issubclass(kind, np.generic):
        is_one = first.dtype.kind in "biufcmM" and len(set(map(_axes_and_dtype, column))) == 1
        return kind_of_leaf(first) if is_one else None
    return None


def _fit_int64(numbers: Sequence[int]) -> bool:
    try:
        np.fromiter(numbers, np.int64, len(numbers))  # sooner than the least and the greatest are found
    except OverflowError:
        return False
    return True


def _nbytes_of_column(column: Sequence[Any], kind: Kind) -> int:
    if type(column[0]) in _TEXTS:
        return sum(map(len, column))
    if kind.axes == 0:
        return len(column) * nbytes_of_leaves(column[:1])
    return nbytes_of_leaves(column)
