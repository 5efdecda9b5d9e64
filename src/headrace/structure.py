"""Nested structures: what an element is made of, and how many elements become arrays and come back.

An element is a structure of leaves. Tuples, named tuples, dicts, dataclasses, attrs classes and whatever else is
registered with optree are structure; everything else is a leaf. A list is never structure: it is an array that was
written as a list, as in tf.data, and ``normalize`` makes it one.

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

from headrace import exiting
from headrace.errors import InvalidArgumentError
from headrace.leaf_arrays import (
    NORMAL_LEAVES,
    NUMPYS_TEXTS,
    PLAIN_LEAVES,
    PYTHON_NUMBERS,
    as_arrays,
    check_unmasked,
    object_array,
    stack,
    without_fixed_texts,
)
from headrace.record_classes import (
    is_apart_from_optree,
    is_record_class,
    is_settled_tuple,
    register_named_tuple,
    register_record,
)
from headrace.tensor_spec import NAMESPACE, TensorSpec, dataset_spec

__all__ = [
    "LEAF",
    "NAMESPACE",
    "Element",
    "TreeDef",
    "as_arrays",
    "as_numpy",
    "columns_of",
    "flatten",
    "flatten_as_written",
    "may_refuse",
    "nbytes_of",
    "needs_rows",
    "normalize",
    "normalize_rows",
    "object_array",
    "paths_of",
    "rows_of",
    "rows_of_leaves",
    "scalars_as_elements",
    "spec_of",
    "stack",
    "transpose",
    "unflatten",
]

Element = Any
TreeDef = optree.PyTreeSpec

exiting.at_exit()

LEAF: Final[TreeDef] = optree.treespec_leaf(namespace=NAMESPACE)

_NATIVE_DTYPES: Final = frozenset(PYTHON_NUMBERS.values())


_TEXTS: Final = frozenset((str, bytes))
_dtype: Final = operator.attrgetter("dtype")


def flatten(element: Element) -> tuple[list[Any], TreeDef]:
    """Returns the leaves of a normalised element and its structure."""
    return optree.tree_flatten(element, namespace=NAMESPACE)


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Element:
    """Returns the element of that structure with those leaves."""
    return optree.tree_unflatten(treedef, leaves)


def may_refuse(treedef: TreeDef) -> bool:
    """Returns whether a class of the user's, registered with optree, builds any of it: then ``unflatten`` may raise anything."""
    kind = treedef.type
    if kind is not None and treedef.kind == optree.PyTreeKind.CUSTOM and not is_apart_from_optree(kind, NAMESPACE):
        return True
    return not treedef.is_leaf() and any(map(may_refuse, treedef.children()))


def paths_of(treedef: TreeDef) -> list[str]:
    """Returns a name for each leaf, as it would be written behind the element: ``[0]['label']``."""
    return ["".join(f"[{key!r}]" for key in path) for path in treedef.paths()]


def normalize(element: Element) -> Element:
    """Returns the element with every list made an array, every text Python's own, and every dataclass and attrs class known as structure.

    Raises:
        InvalidArgumentError: a list's items differ in shape, so that it is no array.
    """
    return optree.tree_map(_normalize_leaf, element, is_leaf=_is_unknown, namespace=NAMESPACE)


def _is_list(value: object) -> bool:
    return type(value) is list


def _is_unknown(value: object) -> bool:
    """Returns whether optree is not to look into a value: a list, or a named tuple of a class that is new here."""
    kind = type(value)
    return kind is list or (isinstance(value, tuple) and not is_settled_tuple(kind))


def _normalize_leaf(leaf: Any) -> Any:
    if _is_list(leaf):
        return _array_of_list(leaf)
    if isinstance(leaf, np.ndarray):
        if leaf.dtype.kind not in NUMPYS_TEXTS:
            return leaf
        return without_fixed_texts(leaf) if leaf.ndim else leaf.item()
    if type(leaf) in NORMAL_LEAVES:
        return leaf
    if isinstance(leaf, (np.str_, np.bytes_)):
        return leaf.item()
    if _is_new_structure(leaf):
        return normalize(leaf)
    return leaf


def _is_new_structure(leaf: Any) -> bool:
    """Returns whether a leaf is none, now that its class is known to optree."""
    kind = type(leaf)
    if isinstance(leaf, tuple):
        new = not is_settled_tuple(kind)
        register_named_tuple(kind, NAMESPACE)
        return new
    if _is_record(leaf):
        register_record(kind, NAMESPACE)
        return True
    return False


def _is_record(leaf: Any) -> bool:
    return is_record_class(type(leaf)) and not isinstance(leaf, TensorSpec)  # a specification is a leaf


def flatten_as_written(value: Any) -> tuple[list[Any], TreeDef]:
    """Returns the leaves of what no source has made an element yet, and its structure; a list is a leaf."""

    def known(leaf: Any) -> Any:
        if _is_new_structure(leaf):
            return optree.tree_map(known, leaf, is_leaf=_is_unknown, namespace=NAMESPACE)
        return leaf

    whole = optree.tree_map(known, value, is_leaf=_is_unknown, namespace=NAMESPACE)
    return optree.tree_flatten(whole, is_leaf=_is_list, namespace=NAMESPACE)


def _array_of_list(values: list[Any]) -> np.ndarray:
    try:
        array = np.array(values)
    except ValueError as error:
        message = f"a list must be an array, but its items differ in shape: {error}"
        raise InvalidArgumentError(message) from error
    if values and isinstance(values[0], np.ndarray):
        for item in values:
            check_unmasked(item, "a list")
    if array.dtype.kind in "US" and array.size:
        exact = np.empty(array.shape, dtype=object)
        exact[...] = values
        return exact
    return without_fixed_texts(array)


def scalars_as_elements(element: Element) -> Element:
    """Returns the element with every NumPy scalar, also in an array without axes, as elements of arrays carry it."""
    return optree.tree_map(_scalar_as_element, element, namespace=NAMESPACE)


def _scalar_as_element(leaf: Any) -> Any:
    if isinstance(leaf, np.generic) or (isinstance(leaf, np.ndarray) and not leaf.ndim):
        return _column_rows(np.asarray(leaf)[None])[0]
    return leaf


def spec_of(element: Element) -> Any:
    """Returns the structure of ``TensorSpec`` that this one element has, also as it was written."""
    leaves, treedef = flatten_as_written(element)
    return unflatten(treedef, [_spec_as_written(leaf) for leaf in leaves])


def _spec_as_written(leaf: Any) -> TensorSpec:
    spec = leaf_spec(_normalize_leaf(leaf))
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in NUMPYS_TEXTS:
        return TensorSpec(spec.shape, leaf.dtype)  # where it holds nothing, its dtype alone says of what
    return spec


def leaf_spec(leaf: Any) -> TensorSpec:
    """Returns the shape and type of one leaf, as it would be in an array."""
    if isinstance(leaf, np.ndarray):
        dtype = _content_type(leaf)
        return (dataset_spec(leaf) if dtype is object else None) or TensorSpec(leaf.shape, dtype)
    dtype = _scalar_dtype(leaf)
    return (dataset_spec(leaf) if dtype is object else None) or TensorSpec((), dtype)


def _content_type(array: np.ndarray) -> Any:
    if array.dtype.kind != "O":
        return array.dtype
    kinds = set(map(type, array.ravel().tolist()))
    return kinds.pop() if len(kinds) == 1 and kinds <= {str, bytes} else object


def _scalar_dtype(leaf: Any) -> Any:
    kind = type(leaf)
    if kind in PYTHON_NUMBERS:
        return PYTHON_NUMBERS[kind]
    if isinstance(leaf, (str, bytes)):
        return str if isinstance(leaf, str) else bytes
    if isinstance(leaf, (np.generic, complex)):
        return np.asarray(leaf).dtype
    return object


def as_numpy(element: Element) -> Element:
    """Returns the element with each of Python's numbers as the NumPy scalar of its dtype."""
    return optree.tree_map(_leaf_as_numpy, element, namespace=NAMESPACE)


def _leaf_as_numpy(leaf: Any) -> Any:
    return np.asarray(leaf)[()] if isinstance(leaf, (bool, int, float, complex)) else leaf


def nbytes_of(element: Element) -> int:
    """Returns about how many bytes the leaves of one element hold."""
    return sum(_leaf_nbytes(leaf) for leaf in flatten(element)[0])


def _leaf_nbytes(leaf: Any) -> int:
    if isinstance(leaf, (np.ndarray, np.generic)):
        return int(leaf.nbytes)
    return len(leaf) if isinstance(leaf, (str, bytes)) else 8


def normalize_rows(rows: list[Element], kinds: AbstractSet[type]) -> list[Element]:
    """Returns ``normalize`` for many elements of these types; costs next to nothing where there is nothing to do."""
    if _is_normal(rows, kinds):
        return rows
    if kinds == {tuple} and len(set(map(len, rows))) == 1 and _is_plain(zip(*rows, strict=True)):
        return rows
    if kinds == {dict}:
        keys = _same_keys(rows)
        if keys is not None and _is_plain([row[key] for row in rows] for key in keys):
            return rows
    return [normalize(row) for row in rows]


def _is_plain(columns: Iterable[Sequence[Any]]) -> bool:
    """Returns whether all leaves in these columns are what they should be already."""
    return all(_is_normal(column, set(map(type, column))) for column in columns)


def _is_normal(column: Sequence[Any], kinds: AbstractSet[type]) -> bool:
    if not kinds <= NORMAL_LEAVES:
        return False
    if np.ndarray not in kinds:
        return True
    arrays = column if len(kinds) == 1 else [leaf for leaf in column if type(leaf) is np.ndarray]
    return not any(dtype.kind in NUMPYS_TEXTS for dtype in set(map(_dtype, arrays)))  # few dtypes, of many arrays


def _same_keys(rows: Sequence[dict[Any, Any]]) -> list[Any] | None:
    """Returns the keys that all of these dicts have, in the order of the first; None where they differ."""
    keys = rows[0].keys()
    return list(keys) if all(map(keys.__eq__, map(dict.keys, rows))) else None


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
    return not optree.all_leaves(others.values(), namespace=NAMESPACE) or any(map(_is_record, others.values()))


def rows_of_leaves(treedef: TreeDef, columns: Iterable[list[Any]], count: int) -> list[Element]:
    """Returns ``count`` elements whose leaves stand in these lists, one list a leaf."""
    return _zip_rows(treedef, iter(columns), count)


def rows_of(treedef: TreeDef, columns: Sequence[np.ndarray]) -> list[Element]:
    """Returns the elements whose leaves stand in these arrays, one array a leaf, elements along the first axis."""
    return _zip_rows(treedef, iter([_column_rows(column) for column in columns]), len(columns[0]) if columns else 0)


def _column_rows(column: np.ndarray) -> list[Any]:
    """Returns the leaves in an array, as elements carry them."""
    if column.ndim == 1 and (column.dtype in _NATIVE_DTYPES or column.dtype.kind == "O"):
        leaves: list[Any] = column.tolist()
        return leaves
    return list(column)


def _zip_rows(treedef: TreeDef, columns: Any, count: int) -> list[Element]:
    """Takes from ``columns`` what the structure needs, and ties the leaves of each row together."""
    if treedef.is_leaf():
        leaves: list[Any] = next(columns)
        return leaves
    children = [_zip_rows(child, columns, count) for child in treedef.children()]
    if not children:
        return [optree.tree_unflatten(treedef, ()) for _ in range(count)]
    if treedef.type is tuple:
        return list(zip(*children, strict=True))
    if treedef.type is dict:
        names = treedef.entries()
        order = list(optree.tree_unflatten(treedef, range(treedef.num_leaves)))  # as the first one was written
        children = [children[names.index(name)] for name in order]
        return [dict(zip(order, row, strict=True)) for row in zip(*children, strict=True)]
    one_level = treedef.one_level()
    assert one_level is not None  # only a leaf has none
    return [optree.tree_unflatten(one_level, row) for row in zip(*children, strict=True)]


def columns_of(rows: Sequence[Element], kinds: AbstractSet[type] | None = None) -> tuple[TreeDef, list[np.ndarray]]:
    """Returns the leaves of equal-structured rows as arrays, elements along the first axis.

    Args:
        rows: the elements, at least one.
        kinds: their types, where somebody has looked already.

    Raises:
        InvalidArgumentError: the rows differ in structure, or a component in shape or dtype; named.
    """
    kinds = kinds or set(map(type, rows))
    if kinds <= PLAIN_LEAVES:
        return LEAF, [stack(rows, kinds)]
    treedef, columns = transpose(rows)
    if treedef.is_leaf():
        return treedef, [stack(columns[0])]
    arrays = []
    for number, column in enumerate(columns):
        try:
            arrays.append(stack(column))
        except InvalidArgumentError as error:
            name = paths_of(treedef)[number]
            raise InvalidArgumentError(f"component {name}: {error.reason}") from error.__cause__
    return treedef, arrays


def transpose(rows: Sequence[Element]) -> tuple[TreeDef, list[Sequence[Any]]]:
    """Returns the common structure of the rows, and for each of its leaves the leaves of all rows."""
    kinds = set(map(type, rows))
    if kinds <= PLAIN_LEAVES:
        return LEAF, [rows]
    if kinds == {tuple} and len(set(map(len, rows))) == 1:
        parts = [transpose(column) for column in zip(*rows, strict=True)]
        treedef = optree.treespec_tuple([part[0] for part in parts], namespace=NAMESPACE)
        return treedef, [column for part in parts for column in part[1]]
    keys = _same_keys(rows) if kinds == {dict} else None
    if keys is not None and all(type(key) is str for key in keys):  # in which order optree puts others is its own
        by_key = {key: transpose([row[key] for row in rows]) for key in keys}
        treedef = optree.treespec_dict({key: by_key[key][0] for key in keys}, namespace=NAMESPACE)
        return treedef, [column for key in sorted(keys) for column in by_key[key][1]]
    return _transpose_any(rows)


def _transpose_any(rows: Sequence[Element]) -> tuple[TreeDef, list[Sequence[Any]]]:
    leaves, treedef = flatten(rows[0])
    table = [leaves]
    for row in rows[1:]:
        leaves, other = flatten(row)
        if other != treedef:
            message = f"elements differ in structure: {_show(treedef)} and {_show(other)}"
            raise InvalidArgumentError(message)
        table.append(leaves)
    return treedef, list(zip(*table, strict=True))


def _show(treedef: TreeDef) -> str:
    return str(treedef).removeprefix("PyTreeSpec(").split(", namespace=")[0].removesuffix(")")
