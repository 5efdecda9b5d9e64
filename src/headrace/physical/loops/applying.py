"""What applies maps in a row to a block: in a run, or in a process that only calls functions, which needs no more of the engine than this."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

from headrace.blocks.block import Block, BlockOrFailure
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.chain import Chain, is_chainable
from headrace.physical.loops.whole import map_whole
from headrace.plan.elementwise import Map

__all__ = ["Make", "applied_alone", "applied_by"]

Make = Callable[[Block], list[BlockOrFailure]]


def applied_alone(maps: Sequence[Map], loops: LoopPolicy, timed: Callable[[Map], Make]) -> Make:
    """Returns what applies maps in a row to a block, outside of any run.

    Args:
        maps: they.
        loops: how they go through a block.
        timed: makes what calls a map that has a timeout.
    """
    return applied_by(maps, lambda run: Chain(run, loops).make, timed)


def applied_by(
    maps: Sequence[Map], chained_up: Callable[[tuple[Map, ...]], Make], timed: Callable[[Map], Make]
) -> Make:
    """Returns the same, where ``chained_up`` makes what calls maps element by element."""
    parts: list[Make] = []
    for is_called_by_element, run in itertools.groupby(maps, is_chainable):
        if is_called_by_element:
            parts.append(chained_up(tuple(run)))
        else:
            parts += [functools.partial(map_whole, node) if node.timeout_s is None else timed(node) for node in run]
    return parts[0] if len(parts) == 1 else functools.partial(_in_turn, parts)


def _in_turn(parts: Sequence[Make], block: Block) -> list[BlockOrFailure]:
    pieces: list[BlockOrFailure] = [block]
    for part in parts:
        pieces = [made for piece in pieces for made in (part(piece) if isinstance(piece, Block) else [piece])]
    return pieces
