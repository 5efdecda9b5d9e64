"""Elements on their way to another process: as arrays, where the same elements can be made of them there, else one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Indexed, Payload, Rows
from headrace.elements.leaf_arrays import PYTHON_NUMBERS, stack_scalars
from headrace.elements.rows_and_columns import transpose_in_order
from headrace.elements.structure import Element, flatten, normalize, paths_of, unflatten
from headrace.errors import said
from headrace.processes.parcels import to_bytes
from headrace.processes.values_pickled import SMALL_BYTES

__all__ = ["Memory", "as_columns", "received_elements", "refused", "sent_elements", "stacked"]

# Numbers whose type says their dtype.
_SCALARS: Final = PYTHON_NUMBERS.keys() | {
    np.dtype(code).type for code in np.typecodes["AllInteger"] + np.typecodes["Float"]
}

# Gives so many bytes (uint8) of memory that the reader shares; None where there are none.
Memory = Callable[[int], np.ndarray | None]


def as_columns(payload: Payload) -> Payload:
    """Returns elements in the form in which they are sent: as arrays, where the same elements can be made of them."""
    return payload.columns() if isinstance(payload, Indexed) and payload.source.is_columnar else payload


def sent_elements(payload: Payload) -> Any:
    """Returns what is sent of elements."""
    payload = as_columns(payload)
    if not isinstance(payload, Columns):
        return payload.rows()
    # A leaf for each array stands for the structure, which a C++ library's own object would not.
    if payload.matrix is not None:
        return unflatten(payload.treedef, range(payload.treedef.num_leaves)), None, payload.matrix, ()
    arrays = list(payload.arrays)
    return unflatten(payload.treedef, range(len(arrays))), arrays, None, list(payload.locked)


def stacked(payload: Payload, memory: Memory) -> Payload:
    """Returns elements that will be stacked as one array for each leaf, if all are arrays or numbers; large ones lie in that memory."""
    if not isinstance(payload, Rows):
        return payload
    rows = payload.rows()
    treedef = flatten(rows[0])[1] if rows else None
    if treedef is None or not treedef.num_leaves:
        return payload
    try:
        found, columns, keys_in_order = transpose_in_order(rows)
        if not keys_in_order:
            return payload
        return Columns(found, [_array_of(column, memory) for column in columns])
    except Exception:  # noqa: BLE001 - they are no such rows, which who stacks them tells
        return payload


def _array_of(column: Sequence[Any], memory: Memory) -> np.ndarray:
    """Returns leaves as one array.

    Raises:
        TypeError: they are neither scalars of one type nor arrays of numbers that differ in nothing but their values.
    """
    kinds = set(map(type, column))
    scalars = stack_scalars(column, kinds) if kinds <= _SCALARS else None
    if scalars is not None:
        return scalars
    first = column[0]
    if kinds != {np.ndarray} or not first.ndim or first.dtype.kind not in "biufc" or not first.dtype.isnative:
        raise TypeError("no arrays of numbers")
    if any(leaf.dtype != first.dtype or leaf.shape != first.shape for leaf in column):
        raise TypeError("arrays of several kinds")
    count = len(column)
    place = memory(count * first.nbytes) if count * first.nbytes >= SMALL_BYTES else None
    into = None if place is None else place.view(first.dtype).reshape(count * len(first), *first.shape[1:])
    return np.concatenate(column, out=into).reshape(count, *first.shape)


def received_elements(sent: Any) -> Payload:
    """Returns the elements again."""
    if isinstance(sent, list):
        return Rows([*map(normalize, sent)])  # as below: here they may be the first of their class
    shape, arrays, matrix, locked = sent
    return Columns(flatten(normalize(shape))[1], arrays, matrix, locked)  # normalised: its classes may be new here


def refused(element: Element, error: Exception, where: str) -> str:
    """Says which part of an element cannot be sent, and why not."""
    leaves, treedef = flatten(element)
    for path, leaf in zip(paths_of(treedef), leaves, strict=True):
        try:
            to_bytes(leaf)
        except Exception as why:  # noqa: BLE001 - a class may say anything that cannot be pickled
            what = f"its component {path}" if path else "it"
            return _words(f"{what}, of type {type(leaf).__name__},", why, where)
    return _words("it", error, where)


def _words(what: str, error: Exception, where: str) -> str:
    return f"{what} cannot be sent to {where}: {type(error).__name__}: {said(error)}. Give arrays, numbers and texts, or leave out executor="
