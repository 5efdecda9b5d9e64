"""How take, skip, repeat and concatenate make all elements of a small plan at once."""

from __future__ import annotations

import numpy as np

from headrace.blocks.block import Block, joined_block
from headrace.blocks.cursor import CountedCursor, Cursor, State
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Payload, Rows
from headrace.elements.ownership import FIXED, read_only_rows
from headrace.frozen import frozen
from headrace.physical.at_once import INDICES, Making, makes_at_once, only_block
from headrace.physical.given import as_stage
from headrace.physical.made import Pieces
from headrace.physical.stages.sequencing import SkippedCursor, SkipStage, TakeStage, TurnCursor
from headrace.plan.node import Node
from headrace.plan.sequencing import Concatenate, Repeat, Skip, Take
from headrace.plan.sources import FromGenerator, FromTensors
from headrace.plan.windowing import WindowContents

__all__ = ["RepeatedCursor", "gives_what_is_held"]


@makes_at_once(Take)
def _take(node: Take, making: Making, room: int) -> Pieces | None:
    if type(node.input) is FromGenerator and node.count > 0:
        pieces = making.first_of(node.input, node.count, room)
    else:
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
    turns: Indices = np.tile(INDICES[: 0 if block is None else len(block)], node.count)
    payload = None if block is None else _again(block.payload, turns, node.input)
    if block is None or payload is None:
        return None
    making.passed_again(before, node.count)
    return [Block(payload, RepeatedCursor(block.cursor, len(block), 0), block.origin.subset(turns))]


def _again(payload: Payload, turns: Indices, plan: Node) -> Payload | None:
    """Returns the elements of all turns, given those of one; None where each turn has to make its own."""
    given = payload.subset(turns)
    if type(given) is not Rows or FIXED.issuperset(given.kinds):
        return given
    return Rows(read_only_rows(given.elements, given.kinds)) if gives_what_is_held(plan) else None


def gives_what_is_held(plan: Node) -> bool:
    """Returns whether a plan gives views of the same elements in each turn, which nobody can write to."""
    while isinstance(plan, (Take, Skip)):
        plan = plan.input
    return isinstance(plan, (FromTensors, WindowContents))


@makes_at_once(Concatenate)
def _concatenate(node: Concatenate, making: Making, room: int) -> Pieces | None:
    blocks: list[Block] = []
    for part, dataset in enumerate(node.datasets):
        pieces = making.unread(dataset, room)  # a later one may be one that only its stages can give
        if pieces is None:
            return None
        block = only_block(pieces)
        if block is not None:
            room -= len(block)
            blocks.append(Block(block.payload, TurnCursor("part", part, True, block.cursor), block.origin))
        elif pieces:
            return None
    return [joined_block(blocks)] if blocks else []
