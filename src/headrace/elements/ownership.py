"""Who owns the memory of elements: what was given is not changed, what was handed out does not change later.

The rule, for arrays, structured scalars, what object arrays hold, dicts, dataclasses and every other structure:

- What somebody else still sees is handed out ``read_only``: arrays are read-only views, containers are the receiver's own.
- What belongs to the receiver alone is writable.
- What a function or a generator gave is ``function_results.owned``: it is copied, unless nobody else refers to it and its memory.

Objects of classes that headrace does not know are passed on as they are: nobody can say how to copy them.
"""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np
import optree

from headrace.elements.leaf_arrays import PLAIN_LEAVES, object_array
from headrace.elements.record_classes import (
    is_named_tuple_class,
    is_record_class,
    made_of_fields,
    parts_of,
    register_record,
)
from headrace.elements.rows_and_columns import columns_of_parts, with_parts
from headrace.elements.structure import NAMESPACE, Element, flatten, map_leaves, unflatten
from headrace.elements.tensor_classes import is_tensor_class
from headrace.elements.tensor_spec import TensorSpec

__all__ = [
    "FIXED",
    "copied",
    "copied_array",
    "has_fixed_contents",
    "is_carried_class",
    "read_only",
    "read_only_array",
    "read_only_rows",
]

# Leaves that nobody can change. (A structured scalar can be: it is a row of some array.)
FIXED: Final = (PLAIN_LEAVES - {np.ndarray, np.void}) | {type(None)}

# Of these a tuple or a dict is flat: nothing of it is structure.
_FLAT: Final = FIXED | {np.ndarray}

# As ``write=False``, which takes twice as long to be named.
_NOT: Final = False

_COPIED: Final = (list, dict, set, bytearray, collections.deque)  # and what is derived from them


# ------------------------------------------------------------------------------------------------ handing out


def read_only(element: Element) -> Element:
    """Returns the element as others may see it: its containers are its own, and its arrays cannot be written to.

    Example:
        >>> import numpy as np
        >>> from headrace.elements.ownership import read_only
        >>> mine = {"x": np.zeros(2)}
        >>> seen = read_only(mine)
        >>> seen["y"] = 1
        >>> sorted(mine)
        ['x']
        >>> seen["x"].flags.writeable, np.shares_memory(seen["x"], mine["x"])
        (False, True)
    """
    kind = type(element)
    if kind in FIXED:
        return element
    if kind is np.ndarray:
        return read_only_array(element)
    if kind is tuple and _FLAT.issuperset(map(type, element)):
        return element if FIXED.issuperset(map(type, element)) else tuple(map(_read_only_leaf, element))
    if kind is dict and _FLAT.issuperset(map(type, element.values())):
        return {key: _read_only_leaf(leaf) for key, leaf in element.items()}
    parts = parts_of(element)
    if parts is not None and _FLAT.issuperset(map(type, parts)):
        return made_of_fields(kind, list(map(_read_only_leaf, parts)))
    leaves, treedef = flatten(element)
    return unflatten(treedef, [_read_only_leaf(leaf) for leaf in leaves])


def read_only_rows(rows: list[Element], kinds: AbstractSet[type] | None = None) -> list[Element]:
    """Returns ``read_only`` for many elements, of these types."""
    kinds = kinds or set(map(type, rows))
    if kinds <= FIXED:
        return rows
    if kinds == {np.ndarray} and not any(dtype.hasobject for dtype in {array.dtype for array in rows}):
        views = [array.view() for array in rows]
        for view in views:
            view.setflags(_NOT)
        return views
    # Part by part, over all rows: row by row, to look at the types costs more than to copy.
    parts = columns_of_parts(rows, kinds)
    if parts is None:
        return list(map(read_only, rows))
    changed = [(key, seen) for key, column in parts if (seen := _read_only_part(column)) is not column]
    return rows if kinds == {tuple} and not changed else with_parts(rows, kinds, parts, changed)


def _read_only_part(column: Sequence[Any]) -> Sequence[Any]:
    kinds = set(map(type, column))
    return column if kinds <= FIXED else read_only_rows(list(column), kinds)


def read_only_array(array: np.ndarray) -> np.ndarray:
    """Returns the array as others may see it."""
    if type(array) is np.ndarray and not array.dtype.hasobject:  # mostly, and so first and quickly
        view = array.view()
        view.setflags(_NOT)  # type: ignore[call-arg]  # as NumPy takes it
        return view
    if array.dtype.hasobject and not has_fixed_contents(array):
        array = _with_contents(array, _read_only_content)
    elif isinstance(array, np.ma.MaskedArray):
        array = array.copy()  # a view has the same mask
    view = array.view()
    view.flags.writeable = False
    return view


def has_fixed_contents(array: np.ndarray) -> bool:
    """Returns whether nobody can change what an array of objects holds, as where it holds texts; of numbers, always."""
    if not array.dtype.hasobject:
        return True
    return array.dtype.kind == "O" and FIXED.issuperset(map(type, array.ravel().tolist()))


def _read_only_leaf(leaf: Any) -> Any:
    kind = type(leaf)
    if kind in FIXED:
        return leaf
    if isinstance(leaf, np.ndarray):
        return read_only_array(leaf)
    if isinstance(leaf, np.void):
        return read_only_array(_void_as_array(leaf))[0]
    return _copied_object(leaf)


def _read_only_content(value: Any) -> Any:
    return _content(value, _read_only_leaf)


def _void_as_array(scalar: np.void) -> np.ndarray:
    """Returns a structured scalar as an array of one, of its own memory."""
    array = np.empty(1, scalar.dtype)
    array[0] = scalar
    return array


def _with_contents(array: np.ndarray, convert: Callable[[Any], Any]) -> np.ndarray:
    """Returns an array of one's own with what the function makes of each object."""
    if array.dtype.kind != "O":
        return copy.deepcopy(array)
    return object_array([convert(value) for value in array.ravel().tolist()]).reshape(array.shape)


def _content(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Returns what an object array holds, made anew as far as it can be changed."""
    kind = type(value)
    if kind in FIXED:
        return value
    if kind is dict:
        return {key: _content(part, leaf) for key, part in value.items()}
    if kind in (list, tuple):
        return kind(_content(part, leaf) for part in value)
    if is_named_tuple_class(kind):
        return made_of_fields(kind, [_content(part, leaf) for part in value])
    return leaf(value)


# ------------------------------------------------------------------------------------------------ copying


def copied(element: Element) -> Element:
    """Returns an equal element of one's own; what was read-only stays so, and lists stay lists."""
    kind = type(element)
    if kind in FIXED:
        return element
    if issubclass(kind, np.ndarray):
        return copied_array(element)
    if is_tensor_class(kind):  # type: ignore[arg-type]  # every class has a hash
        return element.clone()  # to ask optree what lies in it costs several times as much
    if kind is tuple and _FLAT.issuperset(map(type, element)):
        return tuple(map(_copied_leaf, element))
    if kind is dict and _FLAT.issuperset(map(type, element.values())):
        return {key: _copied_leaf(leaf) for key, leaf in element.items()}
    return map_leaves(_copied_leaf, element)


def _copied_leaf(leaf: Any) -> Any:
    kind = type(leaf)
    if kind in FIXED:
        return leaf
    if isinstance(leaf, np.ndarray):
        return copied_array(leaf)
    if isinstance(leaf, np.void):
        array = _void_as_array(leaf)
        array.flags.writeable = leaf.flags.writeable
        return copied_array(array)[0]
    if is_record_class(kind):
        register_record(kind, NAMESPACE)
        return copied(leaf)
    return _copied_object(leaf)


def copied_array(array: np.ndarray) -> np.ndarray:
    """Returns an equal array of one's own memory; what was read-only stays so, and of a file only the contents count."""
    if has_fixed_contents(array):
        own = array.copy("K") if type(array) is not np.memmap else np.array(array, order="K")
    else:
        own = _with_contents(array, lambda value: _content(value, _copied_leaf))
    if not array.flags.writeable:
        own.flags.writeable = False
    return own


# What is known by its class alone to be something else than an object that is carried as it is; and where classes of iterators are.
_OTHERS: Final = (*_COPIED, tuple, str, bytes, int, float, complex, np.ndarray, np.generic, TensorSpec)
_PYTHONS: Final = frozenset({"builtins", "itertools"})


def is_carried_class(kind: type) -> bool:
    """Returns whether objects of a class are leaves that are carried as they are: dates, paths, members of an enum, pictures.

    Nobody copies them or makes anything else of them, and nobody knows what is in them.
    """
    if issubclass(kind, _OTHERS) or kind.__module__ in _PYTHONS or is_record_class(kind) or is_tensor_class(kind):  # type: ignore[arg-type]  # every class has a hash
        return False
    return optree.register_pytree_node.get(kind, namespace=NAMESPACE) is None


def _copied_object(leaf: Any) -> Any:
    """Returns a leaf that is no array, as far as it is known how to copy one."""
    kind = type(leaf)
    if isinstance(leaf, _COPIED) or is_record_class(kind):
        try:
            return copy.deepcopy(leaf)
        except Exception:  # noqa: BLE001 - it holds what has no copy, such as a lock
            return leaf
    return leaf.clone() if is_tensor_class(kind) else leaf  # type: ignore[arg-type]  # every class has a hash
