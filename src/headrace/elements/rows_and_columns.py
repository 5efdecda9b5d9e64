"""Many elements as rows and as columns: how they become arrays, one a leaf, and come back.

What always holds:
- ``rows_of(*columns_of(rows))`` gives back equal rows, and one row is the same whatever run of rows it came with.
- A scalar whose dtype is a Python number's own (int64, float64, bool) is that Python number; it has the same
  value, and the same dtype when stacked. Other scalars are NumPy scalars.
- Strings, bytes and other objects live in object arrays: no length is fixed, no trailing NUL is lost.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np
import optree

from headrace.elements.key_orders import orders_of_keys
from headrace.elements.leaf_arrays import NORMAL_LEAVES, NUMPYS_TEXTS, PLAIN_LEAVES, PYTHON_NUMBERS, stack
from headrace.elements.record_classes import columns_of_fields, made_of_fields
from headrace.elements.row_building import tied_rows
from headrace.elements.structure import (
    LEAF,
    NAMESPACE,
    Element,
    TreeDef,
    flat_dict,
    flatten,
    is_record,
    map_leaves,
    normalize,
    paths_of,
)
from headrace.elements.tensor_classes import is_tensor_class
from headrace.errors import InvalidArgumentError

__all__ = [
    "columns_in_order",
    "columns_of",
    "columns_of_parts",
    "needs_rows",
    "normalize_rows",
    "rows_of",
    "rows_of_leaves",
    "scalars_as_elements",
    "transpose",
    "transpose_in_order",
    "with_parts",
]

_TEXTS: Final = frozenset((str, bytes))
_dtype: Final = operator.attrgetter("dtype")

_NATIVE_DTYPES: Final = frozenset(PYTHON_NUMBERS.values())

# To pick so many parts out of each row, one after the other, is quicker than one pass over rows of any width.
_FEW_PARTS: Final = 8


def scalars_as_elements(element: Element) -> Element:
    """Returns the element with every NumPy scalar, also in an array without axes, as elements of arrays carry it."""
    return map_leaves(_scalar_as_element, element)


def _scalar_as_element(leaf: Any) -> Any:
    if isinstance(leaf, np.generic) or (isinstance(leaf, np.ndarray) and not leaf.ndim):
        return _column_rows(np.asarray(leaf)[None])[0]
    return leaf


def normalize_rows(rows: list[Element], kinds: AbstractSet[type]) -> list[Element]:
    """Returns ``normalize`` for many elements of these types; costs next to nothing where there is nothing to do."""
    return rows if _is_normal(rows, kinds) else [normalize(row) for row in rows]


def _is_normal(rows: Sequence[Element], kinds: AbstractSet[type]) -> bool:
    """Returns whether all leaves of these rows are what they should be already."""
    if not kinds <= NORMAL_LEAVES:
        columns = columns_of_parts(rows, kinds)
        return columns is not None and all(_is_normal(column, set(map(type, column))) for _, column in columns)
    if np.ndarray not in kinds:
        return True
    arrays = rows if len(kinds) == 1 else [leaf for leaf in rows if type(leaf) is np.ndarray]
    return not any(dtype.kind in NUMPYS_TEXTS for dtype in set(map(_dtype, arrays)))  # few dtypes, of many arrays


def columns_of_parts(rows: Sequence[Element], kinds: AbstractSet[type]) -> list[tuple[Any, Sequence[Any]]] | None:
    """Returns the parts of tuples, dicts, named tuples or records, each with its key, in the order of the first; None where they differ in these.

    Where it does not return None, ``with_parts`` makes the elements anew.
    """
    if len(kinds) != 1 or not rows:
        return None
    if kinds not in ({tuple}, {dict}):
        columns = columns_of_fields(next(iter(kinds)), rows)
        return None if columns is None else list(enumerate(columns))
    if len(set(map(len, rows))) != 1:
        return None
    keys: Iterable[Any] = range(len(rows[0])) if kinds == {tuple} else rows[0]
    if kinds == {tuple} and len(rows[0]) > _FEW_PARTS:
        return list(zip(keys, zip(*rows, strict=True), strict=True))
    try:
        return [(key, list(map(operator.itemgetter(key), rows))) for key in keys]
    except KeyError:
        return None


def with_parts(
    rows: Sequence[Element],
    kinds: AbstractSet[type],
    parts: Sequence[tuple[Any, Sequence[Any]]],
    changed: Sequence[tuple[Any, Sequence[Any]]],
) -> list[Element]:
    """Returns elements with these parts and others changed, in containers of their own."""
    (kind,) = kinds
    if kind is dict:
        made = list(map(dict, rows))  # each with its keys in its own order
        for key, column in changed:
            for row, part in zip(made, column, strict=True):
                row[key] = part
        return made
    together = zip(*(dict(parts) | dict(changed)).values(), strict=True)
    return list(together) if kind is tuple else [made_of_fields(kind, row) for row in together]


def needs_rows(columns: Iterable[np.ndarray]) -> bool:
    """Returns whether an array of objects holds items along its first axis that are something else once they are elements.

    None, tuples and dicts are structure wherever they come from, and numbers and arrays are stacked to arrays of their dtype:
    such an array is no column of elements, and its items are taken one by one. Texts, and objects that nobody knows, are a column.
    """
    return any(column.ndim == 1 and column.dtype.kind == "O" and _has_no_objects(column) for column in columns)


def _has_no_objects(column: np.ndarray) -> bool:
    items = column.tolist()
    if set(map(type, items)) <= _TEXTS:
        return False
    others = {type(item): item for item in items if type(item) not in _TEXTS}
    if not PLAIN_LEAVES.isdisjoint(others) or any(hasattr(kind, "__array__") for kind in others):
        return True
    return not optree.all_leaves(others.values(), namespace=NAMESPACE) or any(map(is_record, others.values()))


def rows_of_leaves(treedef: TreeDef, columns: Iterable[list[Any]], count: int) -> list[Element]:
    """Returns ``count`` elements whose leaves stand in these lists, one list a leaf."""
    return tied_rows(treedef, list(columns), count)


def rows_of(treedef: TreeDef, columns: Sequence[np.ndarray]) -> list[Element]:
    """Returns the elements whose leaves stand in these arrays, one array a leaf, elements along the first axis."""
    return tied_rows(treedef, [_column_rows(column) for column in columns], len(columns[0]) if columns else 0)


def _column_rows(column: np.ndarray) -> list[Any]:
    """Returns the leaves in an array, as elements carry them."""
    if column.ndim == 1 and (column.dtype in _NATIVE_DTYPES or column.dtype.kind == "O"):
        leaves: list[Any] = column.tolist()
        return leaves
    return list(column)


def columns_of(rows: Sequence[Element], kinds: AbstractSet[type] | None = None) -> tuple[TreeDef, list[np.ndarray]]:
    """Returns the leaves of equal-structured rows as arrays, elements along the first axis.

    Args:
        rows: the elements, at least one.
        kinds: their types, where somebody has looked already.

    Raises:
        InvalidArgumentError: the rows differ in structure, or a component in shape or dtype; named.
    """
    treedef, arrays, _ = columns_in_order(rows, kinds)
    return treedef, arrays


def columns_in_order(
    rows: Sequence[Element], kinds: AbstractSet[type] | None = None
) -> tuple[TreeDef, list[np.ndarray], bool]:
    """Returns what ``columns_of`` does, and whether the dicts of all rows have their keys in the order of those of the first one.

    Raises:
        InvalidArgumentError: as ``columns_of`` does.
    """
    treedef, columns, keys_in_order = _transposed(rows, kinds or set(map(type, rows)))
    if treedef.is_leaf():
        return treedef, [stack(*columns[0])], True
    arrays = []
    for number, column in enumerate(columns):
        try:
            arrays.append(stack(*column))
        except InvalidArgumentError as error:
            name = paths_of(treedef)[number]
            raise InvalidArgumentError(f"component {name}: {error.reason}") from error.__cause__
    return treedef, arrays, keys_in_order


def transpose(rows: Sequence[Element]) -> tuple[TreeDef, list[Sequence[Any]]]:
    """Returns the common structure of the rows, and for each of its leaves the leaves of all rows."""
    return transpose_in_order(rows)[:2]


def transpose_in_order(rows: Sequence[Element]) -> tuple[TreeDef, list[Sequence[Any]], bool]:
    """Returns what ``transpose`` does, and whether the dicts of all rows have their keys in the order of those of the first one."""
    treedef, columns, keys_in_order = _transposed(rows, set(map(type, rows)))
    return treedef, [leaves for leaves, _ in columns], keys_in_order


# The leaves of all rows in one place of their structure, and the types of them, where somebody has looked already.
_Column = tuple[Sequence[Any], AbstractSet[type] | None]


def _transposed(rows: Sequence[Element], kinds: AbstractSet[type]) -> tuple[TreeDef, list[_Column], bool]:
    """Returns the structure of the rows, their leaves, and whether all of them have their keys in the order of the first."""
    if kinds <= PLAIN_LEAVES or (len(kinds) == 1 and is_tensor_class(*kinds)):
        return LEAF, [(rows, kinds)], True
    columns = columns_of_parts(rows, kinds)
    if columns is None:
        return _transpose_any(rows)
    parts = {key: _transposed(column, set(map(type, column))) for key, column in columns}
    keys_in_order = all(part[2] for part in parts.values())
    if kinds not in ({tuple}, {dict}):
        own = [part[0] for part in parts.values()]
        if all(spec is LEAF for spec in own):
            treedef = flatten(rows[0])[1]
        else:
            treedef = optree.treespec_from_collection(made_of_fields(type(rows[0]), own), namespace=NAMESPACE)
        return treedef, [column for part in parts.values() for column in part[1]], keys_in_order
    if kinds == {tuple}:
        treedef = optree.treespec_tuple([part[0] for part in parts.values()], namespace=NAMESPACE)
        return treedef, [column for part in parts.values() for column in part[1]], keys_in_order
    if any(type(key) is not str for key in parts):  # in which order optree puts others is its own
        return _transpose_any(rows)
    if all(part[0] is LEAF for part in parts.values()):
        treedef = flat_dict(tuple(parts))
    else:
        treedef = optree.treespec_dict({key: part[0] for key, part in parts.items()}, namespace=NAMESPACE)
    orders = list(map(tuple, rows))
    keys_in_order = keys_in_order and orders.count(orders[0]) == len(orders)
    return treedef, [column for key in sorted(parts) for column in parts[key][1]], keys_in_order


def _transpose_any(rows: Sequence[Element]) -> tuple[TreeDef, list[_Column], bool]:
    leaves, treedef = flatten(rows[0])
    table = [leaves]
    for row in rows[1:]:
        leaves, other = flatten(row)
        if other != treedef:
            message = f"elements differ in structure: {_show(treedef)} and {_show(other)}"
            raise InvalidArgumentError(message)
        table.append(leaves)
    first = orders_of_keys(rows[0])
    keys_in_order = all(orders_of_keys(row) == first for row in rows)
    return treedef, [(column, None) for column in zip(*table, strict=True)], keys_in_order


def _show(treedef: TreeDef) -> str:
    return str(treedef).removeprefix("PyTreeSpec(").split(", namespace=")[0].removesuffix(")")
