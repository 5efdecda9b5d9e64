"""How zip and enumerate make all elements of a small plan at once."""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import CountedCursor
from headrace.blocks.payload import Payload, Zipped
from headrace.elements.structure import TreeDef, flatten
from headrace.physical.at_once import Making, makes_at_once, only_block
from headrace.physical.given import as_stage
from headrace.physical.made import Pieces
from headrace.physical.stages.combining import ZipCursor, ZipStage
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate
from headrace.semantics.sources import RangeSource

__all__ = ["side_by_side"]

_INT64: Final = np.dtype(np.int64)
_PAIR: Final = flatten((0, 0))[1]


@makes_at_once(Enumerate)
def _enumerate(node: Enumerate, making: Making, room: int) -> Pieces | None:
    pieces = making.of(node.input, room)
    if not pieces:
        return pieces
    block = only_block(pieces)
    if block is None:
        from headrace.physical.stages.elementwise import EnumerateStage  # with all that maps need

        return as_stage([pieces], lambda inputs, meter: EnumerateStage(node, inputs[0], meter, None))
    numbers = RangeSource(node.start, None, 1, _INT64).columns(range(len(block)))
    payload = side_by_side(_PAIR, [numbers, block.payload])
    return [Block(payload, CountedCursor("index", 0, block.cursor), block.origin)]


@makes_at_once(Zip)
def _zip(node: Zip, making: Making, room: int) -> Pieces | None:
    inputs: list[Pieces] = []
    for dataset in node.datasets:
        pieces = making.unread(dataset, room)
        if pieces is None:
            return None
        inputs.append(pieces)
    if not all(inputs):
        return [] if _is_plain(inputs) else None
    blocks = [only_block(pieces) for pieces in inputs]
    if not all(blocks):
        return as_stage(inputs, lambda stages, meter: ZipStage(node.treedef, stages, meter))
    count = min(map(len, blocks))  # type: ignore[arg-type]  # none is None
    cut = [block.slice(0, count) for block in blocks if block is not None]
    payload = side_by_side(node.treedef, [block.payload for block in cut])
    return [Block(payload, ZipCursor(tuple([block.cursor for block in cut])), cut[0].origin)]


def _is_plain(inputs: list[Pieces]) -> bool:
    return all(type(piece) is Block for pieces in inputs for piece in pieces)


def side_by_side(treedef: TreeDef, parts: list[Payload]) -> Payload:
    """Returns payloads as the leaves of a structure: as columns, which can be joined to others, where each is one."""
    columns = [part for part in parts if type(part) is Columns and part.treedef.is_leaf()]
    if len(columns) < len(parts):
        return Zipped(treedef, parts)
    return Columns(treedef, [part.arrays[0] for part in columns], locked=[part.locked[0] for part in columns])
