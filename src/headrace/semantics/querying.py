"""The rows of a query, and where it is read on."""

from __future__ import annotations

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import State
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import flatten
from headrace.io.sql.reader import RowChunk, RowPosition

__all__ = ["position_from", "rows_payload"]


def position_from(state: State | None) -> RowPosition:
    """Returns the position from which a query is read on."""
    return RowPosition() if state is None else RowPosition.from_json(state)


def rows_payload(chunk: RowChunk) -> Payload:
    """Makes a payload of a chunk's rows."""
    if chunk.elements is not None:
        return Rows(chunk.elements)
    arrays, treedef = flatten(chunk.arrays)
    return Columns(treedef, arrays)
