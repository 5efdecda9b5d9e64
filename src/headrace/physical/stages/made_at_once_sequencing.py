"""How take, skip and repeat make all elements of a small plan at once."""

from __future__ import annotations

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import CountedCursor, Cursor, State
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Rows
from headrace.elements.ownership import FIXED
from headrace.frozen import frozen
from headrace.physical.at_once import INDICES, Making, as_stage, makes_at_once, only_block
from headrace.physical.made import Pieces
from headrace.physical.stages.sequencing import SkippedCursor, SkipStage, TakeStage
from headrace.plan.sequencing import Repeat, Skip, Take

__all__ = ["RepeatedCursor"]


@makes_at_once(Take)
def _take(node: Take, making: Making, room: int) -> Pieces | None:
    pieces = making.unread(node.input, room)
    if not pieces or node.count < 0:
        return pieces
    block = only_block(pieces)
    if block is None:
        return as_stage([pieces], lambda inputs, meter: TakeStage(node.count, inputs[0], meter, None))
    if node.count == 0:
        return []
    taken = block.slice(0, node.count)
    return [Block(taken.payload, CountedCursor("taken", 0, block.cursor), taken.origin)]


@makes_at_once(Skip)
def _skip(node: Skip, making: Making, room: int) -> Pieces | None:
    pieces = making.unread(node.input, room)
    if not pieces or node.count < 0:
        return None if pieces is None else []
    block = only_block(pieces)
    if block is None:
        return as_stage([pieces], lambda inputs, meter: SkipStage(node.count, inputs[0], meter, None))
    if node.count >= len(block):
        return []
    left = block.slice(node.count, len(block))
    return [Block(left.payload, SkippedCursor(node.count, left.cursor), left.origin)]


@frozen
class RepeatedCursor:
    """So many elements after the first of turns of one length, which all begin at the same position."""

    turn: Cursor
    length: int
    count: int

    def advance(self, count: int) -> RepeatedCursor:
        return RepeatedCursor(self.turn, self.length, self.count + count)

    def state(self) -> State:
        turn = max(self.count - 1, 0) // self.length
        count = self.count - turn * self.length
        return {"turn": turn, "empty": not count, "input": self.turn.advance(count).state()}


@makes_at_once(Repeat)
def _repeat(node: Repeat, making: Making, room: int) -> Pieces | None:
    if node.count is None or node.count == 0:
        return None if node.count is None else []
    before = len(making.done)
    pieces = making.unread(node.input, room // node.count)  # its functions would be called in each turn
    if not pieces:
        return pieces
    block = only_block(pieces)
    if block is None or (type(block.payload) is Rows and not FIXED.issuperset(block.payload.kinds)):
        return None  # each turn has elements of its own
    making.passed_again(before, node.count)
    length = len(block)
    turns: Indices = np.tile(INDICES[:length], node.count)
    return [Block(block.payload.subset(turns), RepeatedCursor(block.cursor, length, 0), block.origin.subset(turns))]
