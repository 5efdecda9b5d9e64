"""How values are pickled for another process where Python, NumPy or optree would have something else arrive.

What always holds: what may be written to may be written to where it arrives, and is changed by that; and what is structure here is structure
there, though no class of it was met there yet.
"""

from __future__ import annotations

import copyreg
import operator
import pickle
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.elements.record_classes import is_known_structure, know_structure, made_of_fields, makes_its_own_objects
from headrace.elements.structure import NAMESPACE, TreeDef, flatten, may_refuse, unflatten

__all__ = ["SMALL_BYTES", "is_plain", "reduced"]

# Smaller ones travel beside the message: a place and what leads to it would cost more than they do.
SMALL_BYTES: Final = 4096
_RECORDS: Final = frozenset({np.void, np.record})
# Whose classes and functions make what they are asked for.
_TRUSTED: Final = frozenset({"builtins", "numpy", "headrace"})


def reduced(value: Any) -> Any:
    """Returns how a value is pickled; NotImplemented where that is as ever."""
    kind: Any = type(value)
    if isinstance(value, np.ndarray):
        return _reduced_array(value)
    if kind in _RECORDS and value.dtype.names is not None:
        return _reduced_record(value)
    if kind is memoryview:
        return _reduced_view(value)
    if kind is TreeDef and not may_refuse(value):
        return _structure, (unflatten(value, range(value.num_leaves)),)
    if is_known_structure(kind) or makes_its_own_objects(kind):
        return _reduced_object(value)
    return NotImplemented


def is_plain(value: Any) -> bool:
    """Returns whether something besides arrays and Python's own numbers, texts and containers can be made again anywhere, if all in it can."""
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):  # known by a name, which is looked up
        return (value.__module__ or "").partition(".")[0] in _TRUSTED
    kind = type(value)
    return isinstance(value, np.generic | np.dtype) or kind.__module__.partition(".")[0] in _TRUSTED


def _reduced_array(array: np.ndarray) -> Any:
    """Has arrays that do not lie in one piece be copied into one, which can be shared; and what nobody may write to is kept so."""
    flags = array.flags
    if array.dtype.hasobject or type(array) is not np.ndarray:
        if flags.writeable or (copied := array.copy()) is array:  # np.ma.masked, of which there is one
            return NotImplemented
        return _locked, (copied,)
    if flags.c_contiguous or flags.f_contiguous or (flags.writeable and array.nbytes < SMALL_BYTES):
        return NotImplemented
    whole = np.ascontiguousarray(array)
    whole.flags.writeable = flags.writeable
    return whole.__reduce_ex__(pickle.HIGHEST_PROTOCOL)


def _locked(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _reduced_record(record: np.void) -> Any:
    """Has a structured scalar be the item of an array again: NumPy makes one of a pickle that drops whatever is written to it."""
    alone = np.empty(1, record.dtype)
    alone[0] = record
    alone.flags.writeable = record.flags.writeable
    return _first, (alone,)


def _first(array: np.ndarray) -> Any:
    return array[0]


def _reduced_view(view: memoryview) -> Any:
    """Has a view of memory be one again, which cloudpickle makes bytes of.

    Raises:
        PicklingError: its items are no numbers or bytes.
    """
    if view.ndim != 1 or len(view.format.lstrip("@")) != 1:
        raise pickle.PicklingError("cannot pickle a memoryview of several axes, or of items of several parts")
    held = view.tobytes() or bytes(view.itemsize)  # nothing cannot be seen as items
    return _view, (held if view.readonly else bytearray(held), view.format, len(view))


def _view(held: bytes | bytearray, kind: str, length: int) -> memoryview:
    whole: memoryview = memoryview(held).cast("B").cast(kind)  # type: ignore[call-overload]  # one of those that a view may have
    return whole[:length]


def _structure(template: Any) -> TreeDef:
    return flatten(template)[1]


def _reduced_object(value: Any) -> Any:
    """Has the class of an object be known as structure before the object is there, and a named tuple have the fields that it has."""
    found, kind = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL), type(value)
    if not isinstance(found, tuple):  # it is known by a name
        return NotImplemented
    make, arguments, *rest = found
    # The class's own way of making one may change what it is given, or want more; where the class says how to pickle it, that holds.
    if make is vars(copyreg)["__newobj__"]:
        if isinstance(value, tuple):
            if _are_same(arguments[1:], tuple(value)):
                make, arguments = made_of_fields, (kind, tuple(value))
        elif arguments == (kind,):
            make = _bare
    return _made, (kind, is_known_structure(kind), make, arguments), *rest


def _bare(kind: type) -> Any:
    return object.__new__(kind)


def _are_same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _made(kind: type, is_structure: bool, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    if is_structure:
        know_structure(kind, NAMESPACE)
    return make(*arguments)
