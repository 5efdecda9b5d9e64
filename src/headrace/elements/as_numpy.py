"""Elements that carry each of Python's numbers as a NumPy scalar, as those of tf.data's ``as_numpy_iterator`` do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.leaf_arrays import NORMAL_LEAVES
from headrace.elements.row_building import tied_rows
from headrace.elements.rows_and_columns import columns_of_parts, with_parts
from headrace.elements.structure import Element, TreeDef, map_leaves

__all__ = ["as_numpy", "as_numpy_rows", "numpy_rows_of"]

# What NumPy makes of Python's numbers.
_NUMBERS: Final[dict[type, type[Any]]] = {
    bool: np.bool_,
    int: np.int64,
    float: np.float64,
    complex: np.complex128,
}


def as_numpy(element: Element) -> Element:
    """Returns the element with each of Python's numbers as the NumPy scalar of its dtype."""
    kind = type(element)
    if kind is np.ndarray:
        return element
    if kind in _NUMBERS:
        return _number_as_numpy(element)
    if kind is tuple:
        return tuple([as_numpy(part) for part in element])
    if kind is dict:
        return {key: as_numpy(part) for key, part in element.items()}
    return map_leaves(_leaf_as_numpy, element)


def _number_as_numpy(number: Any) -> Any:
    try:
        return _NUMBERS[type(number)](number)
    except OverflowError:  # it is of another dtype, or of none
        return np.asarray(number)[()]


def _leaf_as_numpy(leaf: Any) -> Any:
    return np.asarray(leaf)[()] if isinstance(leaf, (bool, int, float, complex)) else leaf


# What stays as it is.
_OTHERS: Final = NORMAL_LEAVES - set(_NUMBERS)


def as_numpy_rows(rows: Sequence[Element]) -> Sequence[Element]:
    """Returns ``as_numpy`` of many elements: part by part, over all of them, where they have the same parts."""
    kinds = set(map(type, rows))
    if kinds <= _OTHERS:
        return rows
    if len(kinds) == 1 and (number := _NUMBERS.get(*kinds)) is not None:
        try:
            return list(np.array(rows, number))  # by an array: to make each by itself takes four times as long
        except OverflowError:  # one is of another dtype
            return list(map(_number_as_numpy, rows))
    parts = columns_of_parts(rows, kinds)
    if not parts:
        return list(map(as_numpy, rows))
    changed = [(key, made) for key, column in parts if (made := as_numpy_rows(column)) is not column]
    if not changed:
        return rows
    return with_parts(rows, kinds, parts, changed)


def numpy_rows_of(treedef: TreeDef, columns: Sequence[np.ndarray]) -> list[Element]:
    """Returns ``as_numpy`` of the elements whose scalars stand in these arrays: no number becomes one of Python's in between."""
    return tied_rows(treedef, [_scalars_of(column) for column in columns], len(columns[0]))


def _scalars_of(column: np.ndarray) -> list[Any]:
    return list(as_numpy_rows(column.tolist())) if column.dtype.kind == "O" else list(column)
