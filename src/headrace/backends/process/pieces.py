"""What a process made of a block, as of this side: where each piece stands, where it came from, and in whose words it failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.backends.process.doing import Functions, told_here
from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.errors import HeadraceError
from headrace.physical.loops.failing import instead_of
from headrace.plan.elementwise import Map
from headrace.processes.elements_alone import Alone, received_alone
from headrace.processes.elements_sent import received_elements
from headrace.processes.errors_sent import received_error

__all__ = ["failed_alone", "pieces_received"]


def pieces_received(
    functions: Functions, block: Block, sent: Sequence[tuple[int, Any, Any]], process: str
) -> list[BlockOrFailure]:
    """Returns pieces as of this block: for each was sent how many elements it has, and them, or its map and the error."""
    pieces: list[BlockOrFailure] = []
    start = 0
    for length, elements, failed in sent:
        stop = start + length
        before, origin = block.cursor.advance(start), block.origin.subset(range(start, stop))
        if isinstance(elements, Alone):
            pieces.append(_received_alone(functions, block.slice(start, stop), elements))
        elif failed is None:
            pieces.append(Block(received_elements(elements), before, origin))
        else:
            link, told = failed
            error = received_error(told, process)
            assert isinstance(error, HeadraceError)  # of an element
            if error.origin is not None:
                error = error.with_place(stage=error.stage, origin=told_here(error.origin, block))
            pieces.append(Failure(error, before, block.cursor.advance(stop), functions.maps[link]))
        start = stop
    return pieces


def _received_alone(functions: Functions, one: Block, sent: Alone) -> BlockOrFailure:
    """Returns an element that was sent by itself; one that cannot be made again is a failure of the map that gave it."""
    node = functions.maps[-1]
    made = received_alone(sent._replace(origin=one.origin.describe(0)), node.label)
    return failed_alone(node, made, one) if isinstance(made, HeadraceError) else Block(made, one.cursor, one.origin)


def failed_alone(node: Map, error: HeadraceError, one: Block) -> BlockOrFailure:
    """Returns what takes the place of an element that was not made, in a block of its own."""
    failure = Failure(error, one.cursor, one.after, node)
    if not callable(node.on_error):
        return failure
    instead = instead_of(node, failure, one, 0)
    return instead if isinstance(instead, Failure) else Block(instead, one.cursor, one.origin)
