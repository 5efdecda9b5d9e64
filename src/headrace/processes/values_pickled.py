"""How values are pickled for another process where Python, NumPy or optree would have something else arrive.

What always holds: what may be written to may be written to where it arrives, and is changed by that; and what is structure here is structure
there, though no class of it was met there yet.
"""

from __future__ import annotations

import pickle
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from headrace.elements.record_classes import is_known_structure, know_structure
from headrace.elements.structure import NAMESPACE, TreeDef, flatten, may_refuse, unflatten

__all__ = ["SMALL_BYTES", "is_plain", "reduced"]

# Smaller ones travel beside the message: a place and what leads to it would cost more than they do.
SMALL_BYTES: Final = 4096
_RECORDS: Final = frozenset({np.void, np.record})
# Whose classes and functions make what they are asked for.
_TRUSTED: Final = frozenset({"builtins", "numpy", "headrace"})


def reduced(value: Any) -> Any:
    """Returns how a value is pickled; NotImplemented where that is as ever."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return _reduced_array(value)
    if kind in _RECORDS and value.dtype.names is not None:
        return _reduced_record(value)
    if kind is memoryview:
        return _reduced_view(value)
    if kind is TreeDef and not may_refuse(value):
        return _structure, (unflatten(value, range(value.num_leaves)),)
    if is_known_structure(kind):
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
    """Has the class of an object be known as structure before the object is there."""
    found = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    if not isinstance(found, tuple):  # it is known by a name
        return NotImplemented
    make, arguments, *rest = found
    return _made, (type(value), make, arguments), *rest


def _made(kind: type, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    know_structure(kind, NAMESPACE)
    return make(*arguments)
