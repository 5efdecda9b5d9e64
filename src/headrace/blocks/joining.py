"""Payloads put together: one after the other, or in turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.blocks.batch_buffer import BatchBufferView
from headrace.blocks.columns import Columns, is_alike
from headrace.blocks.origin import as_array
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.blocks.unmade import Unmade
from headrace.elements.key_orders import has_same_structure

__all__ = ["join", "woven"]


def join(payloads: Sequence[Payload]) -> Payload:
    """Joins payloads in the cheapest form that holds all their elements."""
    if len(payloads) == 1:
        return payloads[0]
    first = payloads[0]
    if isinstance(first, Indexed) and all(isinstance(p, Indexed) and p.source is first.source for p in payloads):
        return Indexed(first.source, np.concatenate([as_array(p.indices) for p in payloads]))  # type: ignore[attr-defined]
    if isinstance(first, Unmade) and (unmade := _joined_unmade(first, payloads)) is not None:
        return unmade
    if isinstance(first, BatchBufferView) and (whole := _joined_views(first, payloads)) is not None:
        return whole
    if isinstance(first, Zipped) and all(
        isinstance(p, Zipped) and has_same_structure(first.treedef, p.treedef) for p in payloads
    ):
        table = zip(*(payload.parts for payload in payloads), strict=True)  # type: ignore[attr-defined]
        return Zipped(first.treedef, list(map(join, table)))
    if all(map(_is_columnar, payloads)):
        payloads = columns = [_as_columns(payload) for payload in payloads]
        if all(is_alike(columns[0], other) for other in columns):
            return _joined_columns(columns[0], columns)
    return Rows.joined(payloads)


def _is_columnar(payload: Payload) -> bool:
    """Returns whether the elements are in columns, or come in some that give back what they are."""
    return isinstance(payload, (Columns, Unmade)) or (isinstance(payload, Indexed) and payload.source.is_columnar)


def _as_columns(payload: Payload) -> Columns:
    """Returns them in columns; what is read by index is read-only, as it is one by one."""
    columns = payload.columns()
    return (
        columns
        if not isinstance(payload, Indexed)
        else Columns(columns.treedef, columns.arrays, locked=[True] * len(columns.arrays))
    )


def _joined_views(first: BatchBufferView, payloads: Sequence[Payload]) -> BatchBufferView | None:
    """Returns one view of all, if they lie side by side."""
    stop = first.start
    for payload in payloads:
        if not isinstance(payload, BatchBufferView) or payload.buffer is not first.buffer or payload.start != stop:
            return None
        stop = payload.stop
    return BatchBufferView(first.buffer, first.start, stop)


def _joined_unmade(first: Unmade, payloads: Sequence[Payload]) -> Unmade | None:
    """Returns all as what is made later, if all are and would be made alike."""
    parts: list[Any] = []
    for payload in payloads:
        if not isinstance(payload, Unmade) or payload.is_made or payload.maker.key != first.maker.key:
            return None
        parts += payload.parts
    return Unmade(first.maker, parts)


def _joined_columns(first: Columns, payloads: Sequence[Columns]) -> Columns:
    matrices = [payload.matrix for payload in payloads]
    if all(matrix is not None for matrix in matrices):
        return first.with_matrix(np.concatenate(matrices))  # type: ignore[arg-type]  # none is None
    columns = zip(*(payload.arrays for payload in payloads), strict=True)
    return Columns(first.treedef, [np.concatenate(arrays) for arrays in columns], locked=first.locked)


def woven(payloads: Sequence[Payload], turn: int) -> Payload:
    """Weaves payloads of one length: ``turn`` elements of each in turn, again and again; the length is a multiple of it."""
    first = payloads[0]
    if not isinstance(first, Columns) or not all(is_alike(first, payload) for payload in payloads):
        order = np.arange(len(payloads) * len(first)).reshape(len(payloads), -1, turn).swapaxes(0, 1).ravel()
        return join(payloads).subset(order)
    parts: list[Columns] = payloads  # type: ignore[assignment]  # is_alike has looked
    if all(part.matrix is not None for part in parts):
        return first.with_matrix(_woven_arrays([part.matrix for part in parts], turn))  # type: ignore[misc]  # none is None
    table = zip(*(part.arrays for part in parts), strict=True)
    return Columns(first.treedef, [_woven_arrays(arrays, turn) for arrays in table], locked=first.locked)


def _woven_arrays(arrays: Sequence[np.ndarray], turn: int) -> np.ndarray:
    """Weaves arrays with one copy of each element, where a concatenation and a choice would make two."""
    length, *shape = arrays[0].shape
    whole = np.empty((length // turn, len(arrays), turn, *shape), arrays[0].dtype)
    for index, array in enumerate(arrays):
        whole[:, index] = array.reshape(length // turn, turn, *shape)
    return whole.reshape(length * len(arrays), *shape)
