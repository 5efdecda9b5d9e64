"""The records of a file as elements."""

from __future__ import annotations

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import TreeDef
from headrace.errors import DataLossError
from headrace.io.reader import Chunk
from headrace.plan.files import Files

__all__ = ["became_shorter", "record_rows"]


def became_shorter(path: str, missing: int) -> DataLossError:
    """Makes the error of a file that ends before the position where reading is to go on."""
    records = f"{missing} records" if missing > 1 else "one record"
    return DataLossError(f"{path} ends {records} before the position where reading is to go on: the file has changed")


def record_rows(node: Files, treedef: TreeDef, chunk: Chunk) -> Payload:
    """Makes a payload of a chunk's records; of whole elements where the format cannot say of which structure they are."""
    if chunk.rows is not None:
        return Rows(list(chunk.rows))
    components = node.format.components(chunk)
    if chunk.structure is not None:
        return Columns(chunk.structure, components)
    if components is not None and node.spec() is None:
        return Rows(components[0].tolist())
    return Columns(treedef, components, chunk.matrix if components is None else None)
