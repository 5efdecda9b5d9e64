"""Elements on their way to another process: as arrays, where the same elements can be made of them there, else one by one."""

from __future__ import annotations

from typing import Any

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Indexed, Payload, Rows
from headrace.errors import said
from headrace.processes.parcels import to_bytes
from headrace.structure import Element, flatten, paths_of, unflatten

__all__ = ["received_elements", "refused", "sent_elements"]


def sent_elements(payload: Payload) -> Any:
    """Returns what is sent of elements."""
    if isinstance(payload, Indexed) and payload.source.is_columnar:
        payload = payload.columns()
    if not isinstance(payload, Columns):
        return payload.rows()
    # A leaf for each array stands for the structure, which a C++ library's own object would not.
    if payload.matrix is not None:
        return unflatten(payload.treedef, range(payload.treedef.num_leaves)), None, payload.matrix, ()
    arrays = list(payload.arrays)
    return unflatten(payload.treedef, range(len(arrays))), arrays, None, list(payload.locked)


def received_elements(sent: Any) -> Payload:
    """Returns the elements again."""
    if isinstance(sent, list):
        return Rows(sent)
    shape, arrays, matrix, locked = sent
    return Columns(flatten(shape)[1], arrays, matrix, locked)


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
