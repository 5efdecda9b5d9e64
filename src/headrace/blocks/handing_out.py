"""Payloads that are read more than once: each reader gets elements that it cannot change for the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Payload, Rows, Zipped
from headrace.elements.ownership import has_fixed_contents, read_only_array, read_only_rows

__all__ = ["handed_out", "protected", "read_only_columns"]


def protected(payload: Payload) -> Payload:
    """Returns the payload as it is kept, its arrays read-only for all who have them. What was not read yet is so when it is."""
    match payload:
        case Zipped():
            return Zipped(payload.treedef, [protected(part) for part in payload.parts])
        case Columns() if payload.matrix is None and not all(map(has_fixed_contents, payload.arrays)):
            return Rows(read_only_rows(payload.rows()))  # what it holds, each reader needs for itself
        case _:
            return handed_out(payload)


def handed_out(payload: Payload) -> Payload:
    """Returns what one reader gets of a protected payload: containers of its own, too."""
    match payload:
        case Rows():
            return Rows(read_only_rows(payload.elements, payload.kinds))
        case Zipped():
            return Zipped(payload.treedef, [handed_out(part) for part in payload.parts])
        case Columns():
            return read_only_columns(payload)
        case _:
            return payload


def read_only_columns(columns: Columns) -> Columns:
    """Returns the columns with their arrays seen read-only."""
    if columns.matrix is not None:
        return Columns(columns.treedef, None, read_only_array(columns.matrix))
    return Columns(columns.treedef, _read_only(columns.arrays))


def _read_only(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views
