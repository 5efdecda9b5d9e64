"""Vectorized maps and filters on a block: one call for it, and where that fails one for each element."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.cursor import OffsetCursor
from headrace.blocks.handing_out import protected
from headrace.blocks.origin import GroupedOrigin
from headrace.blocks.payload import Rows
from headrace.observe.frames import Locals, holds
from headrace.physical.loops.failing import failure_of, instead_of
from headrace.plan.elementwise import Filter, Map
from headrace.plan.vectorized import Vectorized
from headrace.semantics.calls import call_whole, is_true

__all__ = ["filter_whole", "map_whole"]


def _at_block(at: Locals, _: object) -> tuple[str, str]:
    block = at["block"]
    return at["node"].label, GroupedOrigin(block.origin, ((0, len(block)),)).describe(0)


@holds(_at_block)
def map_whole(node: Map, block: Block) -> list[BlockOrFailure]:
    """Maps a block with one call; if that fails, with a call for each element, to find those on which it fails."""
    assert isinstance(node.function, Vectorized)  # the caller has looked
    try:
        return [Block(call_whole(node.function, block.payload), block.cursor, block.origin)]
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        if len(block) == 1:
            failure = failure_of(error, node, block, 0)
            instead = instead_of(node, failure, block, 0) if callable(node.on_error) else failure
            return [instead if not isinstance(instead, Rows) else Block(instead, block.cursor, block.origin)]
    return list(itertools.chain.from_iterable(map_whole(node, part) for part in _singly(block)))


@holds(_at_block)
def filter_whole(node: Filter, block: Block) -> list[BlockOrFailure]:
    """Filters a block in the same way."""
    assert isinstance(node.predicate, Vectorized)  # the caller has looked
    try:
        answers = call_whole(node.predicate, protected(block.payload)).rows()
        kept = np.flatnonzero(np.fromiter(map(is_true, answers), dtype=bool, count=len(block)))
    except Exception as error:  # noqa: BLE001 - as above
        if len(block) == 1:
            return [failure_of(error, node, block, 0)]
        return list(itertools.chain.from_iterable(filter_whole(node, part) for part in _singly(block)))
    if not len(kept):
        return []
    # After the last one kept lies what was judged: it need not be judged again.
    cursor = OffsetCursor(block.cursor, [*kept.tolist(), len(block)])
    return [Block(block.payload.subset(kept), cursor, block.origin.subset(kept))]


def _singly(block: Block) -> list[Block]:
    return [block.slice(index, index + 1) for index in range(len(block))]
