"""How map and filter call their functions on all elements of a small plan at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.physical.at_once import Making, makes_at_once
from headrace.physical.given import TakesLong
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.alone import filtered_alone, mapped_alone
from headrace.physical.loops.whole import filter_whole, map_whole
from headrace.physical.made import Pieces
from headrace.plan.elementwise import Filter, Map
from headrace.plan.vectorized import Vectorized

__all__ = ["filter_block", "map_block"]

N = TypeVar("N", Map, Filter)


@makes_at_once(Map)
def _map(node: Map, making: Making, room: int) -> Pieces | None:
    if node.on_error != "raise" or node.timeout_s is not None:
        return None
    pieces = making.to_call_on(node.input, room)
    return None if pieces is None else _called_on(node, pieces, map_block, making)


@makes_at_once(Filter)
def _filter(node: Filter, making: Making, room: int) -> Pieces | None:
    pieces = making.to_call_on(node.input, room)
    return None if pieces is None else _called_on(node, pieces, filter_block, making)


def map_block(node: Map, block: Block, patience: Patience) -> tuple[list[BlockOrFailure], int]:
    """Maps a block: returns blocks, and a failure for each element on which the function failed; and of how many elements."""
    if isinstance(node.function, Vectorized):
        return map_whole(node, block), len(block)
    return mapped_alone(node, block, patience)


def filter_block(node: Filter, block: Block, patience: Patience) -> tuple[list[BlockOrFailure], int]:
    """Filters a block: returns blocks, and a failure for each element on which the predicate failed; and of how many elements."""
    if isinstance(node.predicate, Vectorized):
        return filter_whole(node, block), len(block)
    return filtered_alone(node, block, patience)


def _called_on(
    node: N, pieces: Pieces, call: Callable[[N, Block, Patience], tuple[Pieces, int]], making: Making
) -> Pieces:
    """Returns what becomes of pieces when a function is called on their elements."""
    if len(pieces) == 1 and type(pieces[0]) is Block:
        made, done = call(node, pieces[0], making.patience)
        if done == len(pieces[0].payload):
            return made
        raise TakesLong(node, made, [pieces[0].slice(done, len(pieces[0]))])
    made = []
    left: Pieces = pieces[::-1]  # the next one is last
    while left:
        piece = left.pop()
        if isinstance(piece, Failure):
            made.append(piece)
            continue
        some, done = call(node, piece, making.patience)
        made += some
        if done < len(piece):
            raise TakesLong(node, made, [piece.slice(done, len(piece)), *left[::-1]])
    return made
