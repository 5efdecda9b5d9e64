"""Taking what a function or a generator gave: it is copied, unless nobody else refers to it and its memory.

Who else refers to it is counted right after the call, so whoever fills one buffer again and again gives elements that stay what they were.
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.elements.ownership import FIXED, copied, copied_array, has_fixed_contents
from headrace.elements.record_classes import is_named_tuple_class, is_record_class, made_of_fields, names_of_fields
from headrace.elements.structure import Element, flatten
from headrace.reused_memory import reused

__all__ = ["COUNTS", "LARGE_BYTES", "copied_result", "owned"]
# Without Python's lock, another thread may hold what the count does not say: then everything is copied.
COUNTS: Final[bool] = getattr(sys, "_is_gil_enabled", lambda: True)()
_references: Final = sys.getrefcount
# Copies of so many bytes lie in memory that is used again, of which so much waits: who copies knows no run's budget.
LARGE_BYTES: Final = 256 << 10
_MOST_SPARE_BYTES: Final = 64 << 20


def _counted(value: Any, given: Any = None) -> tuple[int, int]:
    return _references(value), _references(given)


def _usual_references() -> tuple[int, int, int, int, int]:
    """Returns how many references a value has that nobody else holds, where each function below counts them."""
    given, result = np.empty(0), np.empty(0)
    alone, _ = _counted(result, given)
    result = given
    passed_on, _ = _counted(result, given)
    (in_container,) = [_counted(part)[0] for part in (np.empty(0),)]
    base = np.empty(1)[:].base  # which its view held, too
    variable = _references(base)
    return alone, passed_on - alone, in_container, variable, variable + 1


# As the only result; more of what was given and came back; as a part; in one variable; as the base of a view in another.
_ALONE, _PASSED_ON, _IN_CONTAINER, _IN_VARIABLE, _AS_BASE = _usual_references()


class _Given(NamedTuple):
    """What a function was called with, held here once however many functions get it."""

    element: Any
    own: int  # references to it that are ours
    slots: int  # and to each of its leaves, for each place that it has there
    is_kept: bool  # whether somebody else has it


_NOTHING: Final = _Given(None, 0, 0, is_kept=False)


def owned(given_back: Any, given: Any = None, *, lists: int = 0, slots: int = 1) -> Any:
    """Returns what a function gave back, or an equal copy of it where somebody else may still change it.

    To be called as ``result = owned(result, row)``: each in one variable of the caller's, for the references are counted.

    Args:
        given_back: what it returned or yielded, as it did.
        given: the element that it was called with: who gives that back, or a view of it, keeps nothing by that.
        lists: how many times the caller holds that, besides its variable.
        slots: how many times the caller holds each leaf of that.
    """
    kind = type(given_back)
    others = _references(given_back) - _ALONE
    if others <= 0 and kind is np.ndarray and COUNTS:  # mostly, and so first and quickly
        if given_back.base is None and given_back.flags.owndata and not given_back.dtype.hasobject:
            return given_back
    elif kind in FIXED:
        return given_back
    elif kind is np.memmap or not COUNTS:
        return copied(given_back)
    elif type(given) in FIXED and (whole := _quickly_owned(given_back, others)) is not None:
        return whole
    is_kept = _references(given) - _ALONE > lists  # so that others reach what is in it
    if others <= 0 and (kind is tuple or kind is dict):
        leaves: Iterable[Any] = ()
        if not is_kept:
            leaves = given if type(given) is tuple else given.values() if type(given) is dict else ()
        if _has_free_parts(given_back, leaves, slots):
            return given_back
    if kind is np.ndarray:
        given = _Given(given, _PASSED_ON + lists, slots, is_kept)
        return given_back if _is_free(given_back, others, given) else copied_result(given_back)
    shared = others > (_PASSED_ON + lists if given_back is given else 0)
    given = _Given(given, _PASSED_ON + lists, slots, is_kept)
    return _owned_whole(given_back, shared, given)


def _quickly_owned(given_back: Any, others: int) -> Any:
    """Returns the same where the function was given nothing that has memory, for an array or a flat tuple or dict; None for all else."""
    kind = type(given_back)
    if others > 0 or (kind is not dict and kind is not tuple):
        return copied_result(given_back) if others > 0 and kind is np.ndarray else None
    copies = {}
    for key in given_back if kind is dict else range(len(given_back)):
        part = given_back[key]
        if type(part) in FIXED:
            continue
        if type(part) is np.memmap:
            copies[key] = copied_array(part)
            continue
        if type(part) is not np.ndarray:
            return None
        known = _references(part) - _IN_CONTAINER + 1  # which counts one variable more
        if known > 0 or not _is_free(part, known, _NOTHING):
            copies[key] = copied_result(part)
    if kind is tuple and copies:
        return tuple([copies.get(index, part) for index, part in enumerate(given_back)])
    return {**given_back, **copies} if copies else given_back


def copied_result(array: np.ndarray) -> np.ndarray:
    """Returns a copy of an array, a large one in memory that is used again: of a batch, to be given fresh pages takes as long as to be copied."""
    if array.nbytes < LARGE_BYTES or type(array) is not np.ndarray or array.dtype.hasobject:
        return copied_array(array)
    if not array.flags.c_contiguous or not array.flags.writeable:
        return copied_array(array)
    whole = reused(array.nbytes, _MOST_SPARE_BYTES).view(array.dtype).reshape(array.shape)
    whole[...] = array
    return whole


def _has_free_parts(whole: Any, given: Iterable[Any], slots: int) -> bool:
    """Returns whether all that lies in a tuple or dict that nobody else has is plainly free, as it mostly is.

    It is an array of its own memory, or one of what was given, to which there are no other references than ours.
    """
    for part in whole if type(whole) is tuple else whole.values():
        if type(part) in FIXED:
            continue
        if type(part) is not np.ndarray or part.dtype.hasobject:
            return False
        known = _references(part) - _IN_CONTAINER + 1  # which counts one variable more
        if known <= 0 and part.base is None and part.flags.owndata:
            continue
        if known > slots and part.flags.writeable:
            return False
        for leaf in given:
            if leaf is part:
                break
        else:
            return False
    return True


def _owned_part(part: Any, shared: bool, given: _Given) -> Any:
    """Returns the same for a part; ``shared``, where others have the container in which it lies."""
    kind = type(part)
    if kind in FIXED:
        return part
    if kind is np.memmap:
        return copied_array(part)
    others = _references(part) - _IN_CONTAINER
    if kind is np.ndarray:
        is_free = not shared and _is_free(part, others, given)
        return part if is_free else copied_result(part)
    return _owned_whole(part, shared or others > 0, given)


def _owned_whole(whole: Any, shared: bool, given: _Given) -> Any:
    """Returns a container or an object; ``shared``, where others have it."""
    kind = type(whole)
    if kind is dict:
        values = [_owned_part(part, shared, given) for part in whole.values()]
        return dict(zip(whole, values, strict=True))
    if kind is list:
        if FIXED.issuperset(map(type, whole)):
            return list(whole)
        return [_owned_part(part, shared, given) for part in whole]
    if kind is tuple or is_named_tuple_class(kind):
        parts = [_owned_part(part, shared, given) for part in whole]
        if all(map(operator.is_, parts, whole)):
            return whole
        return tuple(parts) if kind is tuple else made_of_fields(kind, parts)
    if is_record_class(kind) and not shared:
        fields = [name for name in names_of_fields(kind) if hasattr(whole, name)]
        values = [_owned_part(part, shared, given) for part in map(getattr, itertools.repeat(whole), fields)]
        if all(map(operator.is_, values, map(getattr, itertools.repeat(whole), fields))):
            return whole
    return copied(whole)


def _is_free(array: np.ndarray, others: int, given: _Given) -> bool:
    """Returns whether nobody else can reach the memory of an array to which that many others refer."""
    base: Any = array.base  # also bytes, whatever the stubs say
    if others <= 0:
        if base is None:
            if array.flags.owndata:
                return has_fixed_contents(array)
        elif type(base) is bytes:
            return True
        elif type(base) is np.ndarray and _references(base) <= _AS_BASE and base.flags.owndata:
            return has_fixed_contents(array)
    if type(given.element) in FIXED:
        return False  # it was given nothing that has memory
    return has_fixed_contents(array) and _is_of(array, others, given)


def _is_of(array: np.ndarray, others: int, given: _Given) -> bool:
    """Returns whether an array is one that the function was given, or a view of it, and nobody else has it."""
    leaves = _parts_of(given.element)
    source = _source_of(array, leaves)
    is_deeper = source is None and type(given.element) is not np.ndarray
    if is_deeper:
        leaves = flatten(given.element)[0]
        source = _source_of(array, leaves)
    if source is None:
        return False
    if not array.flags.writeable and not source.flags.writeable:
        return True  # who keeps it cannot write to it either
    if source is not given.element and (given.is_kept or is_deeper):  # who has what lies between, nobody counted
        return False
    count = sum(leaf is source for leaf in leaves)
    places = given.own if source is given.element else count * given.slots
    if source is array:
        return others <= places
    as_base = 2 if array.base is source else 0  # the view has it, and the function that asks
    return others <= 0 and _references(source) - _IN_VARIABLE - count - as_base <= places


def _parts_of(element: Element) -> list[Any]:
    """Returns the leaves of a flat element, which costs little to find out."""
    kind = type(element)
    if kind is np.ndarray:
        return [element]
    return list(element if kind is tuple else element.values() if kind is dict else ())


def _source_of(array: np.ndarray, leaves: list[Any]) -> Any:
    """Returns the leaf that is this array, or else one of which it is a view, or None."""
    for leaf in leaves:
        if leaf is array:
            return array
    base: Any = array.base
    if base is not None:
        for leaf in leaves:
            if leaf is base or (type(leaf) is np.ndarray and leaf.base is base):
                return leaf
    return None
