"""Nested structures: what an element is made of, and what it is once it is normal.

An element is a structure of leaves. Tuples, named tuples, dicts, dataclasses, attrs classes and whatever else is
registered with optree are structure; everything else is a leaf. A list is never structure: it is an array that was
written as a list, as in tf.data, and ``normalize`` makes it one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import optree

from headrace import exiting
from headrace.elements.leaf_arrays import (
    NORMAL_LEAVES,
    NUMPYS_TEXTS,
    PLAIN_LEAVES,
    array_of_items,
    check_unmasked,
    object_array,
    stack,
    without_fixed_texts,
)
from headrace.elements.record_classes import (
    is_apart_from_optree,
    is_record_class,
    is_settled_tuple,
    register_named_tuple,
    register_record,
)
from headrace.elements.tensor_classes import is_tensor_class
from headrace.elements.tensor_spec import NAMESPACE, TensorSpec
from headrace.elements.used_up import check_lasts

__all__ = [
    "LEAF",
    "NAMESPACE",
    "Element",
    "TreeDef",
    "array_of_list",
    "flat_dict",
    "flatten",
    "flatten_as_written",
    "is_record",
    "map_leaves",
    "may_refuse",
    "nbytes_of",
    "nbytes_of_leaves",
    "nbytes_of_objects",
    "normalize",
    "object_array",
    "paths_of",
    "stack",
    "unflatten",
]

Element = Any
TreeDef = optree.PyTreeSpec

exiting.at_exit()

LEAF: Final[TreeDef] = optree.treespec_leaf(namespace=NAMESPACE)


_TEXT: Final = frozenset((str,))
_TEXTS: Final = frozenset((str, bytes))
_SCALARS: Final = NORMAL_LEAVES - {np.ndarray}  # and what is normal wherever it comes
_dtype: Final = operator.attrgetter("dtype")


def flatten(element: Element) -> tuple[list[Any], TreeDef]:
    """Returns the leaves of a normalised element and its structure.

    What is plain needs no optree, which lets Python's lock go in each call: beside threads that compute, a call then takes as long as
    a hundred (docs/decisions/0151).
    """
    kind = type(element)
    if kind in PLAIN_LEAVES:
        return [element], LEAF
    if kind is tuple and PLAIN_LEAVES.issuperset(map(type, element)):
        return list(element), _flat_tuple(len(element))
    if kind is dict and PLAIN_LEAVES.issuperset(map(type, element.values())) and _TEXT.issuperset(map(type, element)):
        return [element[key] for key in sorted(element)], flat_dict(tuple(element))
    if is_tensor_class(kind):  # type: ignore[arg-type]  # every class has a hash
        return [element], LEAF
    if kind is tuple:
        parts = list(map(flatten, element))
        treedef = optree.treespec_tuple([part[1] for part in parts], namespace=NAMESPACE)
        return [leaf for leaves, _ in parts for leaf in leaves], treedef
    if kind is dict and _TEXT.issuperset(map(type, element)):  # in which order optree puts other keys is its own
        by_key = {key: flatten(part) for key, part in element.items()}
        treedef = optree.treespec_dict({key: part[1] for key, part in by_key.items()}, namespace=NAMESPACE)
        return [leaf for key in sorted(by_key) for leaf in by_key[key][0]], treedef
    return optree.tree_flatten(element, namespace=NAMESPACE)


@functools.lru_cache(maxsize=256)
def _flat_tuple(length: int) -> TreeDef:
    return optree.treespec_tuple([LEAF] * length, namespace=NAMESPACE)


@functools.lru_cache(maxsize=256)
def flat_dict(keys: tuple[str, ...]) -> TreeDef:
    """Returns the structure of dicts of leaves; the very same one each time, by which ``row_building`` knows it."""
    return optree.treespec_dict(dict.fromkeys(keys, LEAF), namespace=NAMESPACE)


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Element:
    """Returns the element of that structure with those leaves."""
    return optree.tree_unflatten(treedef, leaves)


def map_leaves(function: Callable[[Any], Any], element: Element) -> Element:
    """Returns the element with what a function makes of each leaf in its place."""
    leaves, treedef = flatten(element)
    return optree.tree_unflatten(treedef, map(function, leaves))


def may_refuse(treedef: TreeDef) -> bool:
    """Returns whether a class of the user's, registered with optree, builds any of it: then ``unflatten`` may raise anything."""
    kind = treedef.type
    if kind is not None and treedef.kind == optree.PyTreeKind.CUSTOM and not is_apart_from_optree(kind, NAMESPACE):
        return True
    if treedef.num_nodes == treedef.num_leaves + 1:  # of which none is in another
        return False
    return not treedef.is_leaf() and any(map(may_refuse, treedef.children()))


def paths_of(treedef: TreeDef) -> list[str]:
    """Returns a name for each leaf, as it would be written behind the element: ``[0]['label']``."""
    return ["".join(f"[{key!r}]" for key in path) for path in treedef.paths()]


def normalize(element: Element) -> Element:
    """Returns the element with every list made an array, every text Python's own, and every dataclass and attrs class known as structure.

    Raises:
        InvalidArgumentError: a list's items differ in shape, so that it is no array.
    """
    kind = type(element)  # what mostly comes is normal, and is quickly seen to be
    if kind in _SCALARS or (kind is np.ndarray and element.dtype.kind not in NUMPYS_TEXTS):
        return element
    if kind is tuple and _are_normal(element):
        return element
    if kind is dict and _are_normal(element.values()):
        return dict(element)
    if kind is tuple:
        return tuple([normalize(part) for part in element])
    if kind is dict:
        return {key: normalize(part) for key, part in element.items()}
    if kind is list:
        return array_of_list(element)
    if is_tensor_class(kind):  # type: ignore[arg-type]  # every class has a hash
        return element
    return optree.tree_map(_normalize_leaf, element, is_leaf=_is_unknown, namespace=NAMESPACE)


def _are_normal(leaves: Iterable[Any]) -> bool:
    """Returns whether all of these are leaves as elements carry them."""
    if _SCALARS.issuperset(map(type, leaves)):
        return True
    return all(
        leaf.dtype.kind not in NUMPYS_TEXTS if type(leaf) is np.ndarray else type(leaf) in _SCALARS for leaf in leaves
    )


def _is_list(value: object) -> bool:
    return type(value) is list


def _is_unknown(value: object) -> bool:
    """Returns whether optree is not to look into a value: a list, or a named tuple of a class that is new here."""
    kind = type(value)
    return kind is list or (isinstance(value, tuple) and not is_settled_tuple(kind))


def _normalize_leaf(leaf: Any) -> Any:
    if _is_list(leaf):
        return array_of_list(leaf)
    if isinstance(leaf, np.ndarray):
        if leaf.dtype.kind not in NUMPYS_TEXTS:
            return leaf if type(leaf) is not np.memmap else leaf.view(np.ndarray)
        return without_fixed_texts(leaf) if leaf.ndim else leaf.item()
    if type(leaf) in NORMAL_LEAVES:
        return leaf
    if isinstance(leaf, (np.str_, np.bytes_)):
        return leaf.item()
    if _is_new_structure(leaf):
        return normalize(leaf)
    check_lasts(leaf)
    return leaf


def _is_new_structure(leaf: Any) -> bool:
    """Returns whether a leaf is none, now that its class is known to optree."""
    kind = type(leaf)
    if isinstance(leaf, tuple):
        new = not is_settled_tuple(kind)
        register_named_tuple(kind, NAMESPACE)
        return new
    if is_record(leaf):
        register_record(kind, NAMESPACE)
        return True
    return False


def is_record(leaf: Any) -> bool:
    """Returns whether a value is one of a dataclass or an attrs class, whose fields are parts of an element."""
    return is_record_class(type(leaf)) and not isinstance(leaf, TensorSpec)  # a specification is a leaf


def flatten_as_written(value: Any) -> tuple[list[Any], TreeDef]:
    """Returns the leaves of what no source has made an element yet, and its structure; a list is a leaf."""

    def known(leaf: Any) -> Any:
        if _is_new_structure(leaf):
            return optree.tree_map(known, leaf, is_leaf=_is_unknown, namespace=NAMESPACE)
        return leaf

    whole = optree.tree_map(known, value, is_leaf=_is_unknown, namespace=NAMESPACE)
    return optree.tree_flatten(whole, is_leaf=_is_list, namespace=NAMESPACE)


# Numbers of one of these types are an array of that kind, or else are looked at.
_SURE: Final = {int: "i", float: "f", bool: "b"}


def array_of_list(values: list[Any]) -> np.ndarray:
    """Returns the array that a list becomes in an element.

    Raises:
        InvalidArgumentError: its items differ in shape, or no integer dtype holds all of the ints.
    """
    kinds = set(map(type, values))
    if values and kinds <= _TEXTS:
        return object_array(values)
    if len(kinds) == 1 and kinds <= _SURE.keys():
        array = np.array(values)
        if array.dtype.kind == _SURE[kinds.pop()]:
            return array
    array = array_of_items(values)
    if values and isinstance(values[0], np.ndarray):
        for item in values:
            check_unmasked(item, "a list")
    if array.dtype.kind in "US" and array.size:
        exact = np.empty(array.shape, dtype=object)
        exact[...] = values
        return exact
    return without_fixed_texts(array)


def nbytes_of(element: Element) -> int:
    """Returns about how many bytes the leaves of one element hold."""
    kind = type(element)  # of each block a few elements are asked for: what is plain needs no optree
    if kind in NORMAL_LEAVES:
        return _leaf_nbytes(element)
    if kind is tuple or kind is dict:
        return sum(map(nbytes_of, element if kind is tuple else element.values()))
    return nbytes_of_leaves(flatten(element)[0])


def nbytes_of_leaves(leaves: Iterable[Any]) -> int:
    """Returns about how many bytes these leaves hold."""
    return sum(map(_leaf_nbytes, leaves))


def nbytes_of_objects(array: np.ndarray) -> int:
    """Estimates from three items, which may be texts of a few bytes or pictures: to look at each would be dear."""
    items = array.reshape(-1)
    if not len(items):
        return 0
    return array.nbytes + len(items) * max(map(_leaf_nbytes, (items[0], items[len(items) // 2], items[-1])))


def _leaf_nbytes(leaf: Any) -> int:
    if isinstance(leaf, np.ndarray):
        return nbytes_of_objects(leaf) if leaf.dtype.kind == "O" else leaf.nbytes
    if isinstance(leaf, np.generic):
        return leaf.nbytes
    return len(leaf) if isinstance(leaf, (str, bytes)) else 8
