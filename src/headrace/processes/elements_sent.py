"""Elements on their way to another process: as arrays, where the same elements can be made of them there, else one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Indexed, Payload, Rows
from headrace.errors import said
from headrace.processes.parcels import to_bytes
from headrace.rows_and_columns import transpose
from headrace.structure import Element, flatten, normalize, paths_of, unflatten

__all__ = ["received_elements", "refused", "sent_elements"]


def sent_elements(payload: Payload, *, stacked: bool = False) -> Any:
    """Returns what is sent of elements; those that will be stacked go as one array for each leaf, if all leaves are arrays."""
    if stacked and isinstance(payload, Rows):
        payload = _stacked(payload)
    if isinstance(payload, Indexed) and payload.source.is_columnar:
        payload = payload.columns()
    if not isinstance(payload, Columns):
        return payload.rows()
    # A leaf for each array stands for the structure, which a C++ library's own object would not.
    if payload.matrix is not None:
        return unflatten(payload.treedef, range(payload.treedef.num_leaves)), None, payload.matrix, ()
    arrays = list(payload.arrays)
    return unflatten(payload.treedef, range(len(arrays))), arrays, None, list(payload.locked)


def _stacked(payload: Rows) -> Payload:
    rows = payload.rows()
    treedef = flatten(rows[0])[1] if rows else None
    if treedef is None or not treedef.num_leaves:
        return payload
    try:
        found, columns = transpose(rows)
    except Exception:  # noqa: BLE001 - they are no such rows, which who stacks them tells
        return payload
    if not all(map(_are_alike, columns)):
        return payload
    return Columns(found, [np.concatenate(column).reshape(len(column), *column[0].shape) for column in columns])


def _are_alike(column: Sequence[Any]) -> bool:
    """Returns whether leaves are arrays of numbers that differ in nothing but their values."""
    first = column[0]
    if type(first) is not np.ndarray or not first.ndim or first.dtype.kind not in "biufc" or not first.dtype.isnative:
        return False
    kind = (first.dtype, first.shape)
    return all(type(leaf) is np.ndarray and (leaf.dtype, leaf.shape) == kind for leaf in column)


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
