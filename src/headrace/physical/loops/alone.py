"""One map or filter over a block by itself: for small datasets that functions make, of which each has few elements."""

from __future__ import annotations

import functools
import math
import time

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.payload import Rows
from headrace.observe.frames import holds, since
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.one_pass import Link, Part, Pass, Taken, Tally
from headrace.physical.loops.text import GENERIC, Head, Loop, loop_of
from headrace.plan.elementwise import Filter, Map
from headrace.structure import Element

__all__ = ["filtered_alone", "mapped_alone"]


@functools.cache
def _map_loop(*, has_tuples: bool | None) -> Loop:
    return loop_of(Head(has_tuples), ("map",), (GENERIC,))


@holds(lambda at, _: (at["node"].label, at["block"].origin.describe(min(len(at["made"]), len(at["block"]) - 1))))
@since("start_s")
def mapped_alone(node: Map, block: Block) -> list[BlockOrFailure]:
    """Returns what a map makes of a block, at the least cost where none of its elements fails."""
    start_s = time.perf_counter()
    made: list[Element] = []
    rows = block.payload.rows()
    loop = _map_loop(has_tuples=block.payload.has_tuples)
    error = loop.run(
        iter(rows), None, -1, len(rows), 1, time.perf_counter, math.inf, made.append, None, (node.function,), ()
    )[3]
    if error is None:
        return [Block(Rows(made), block.cursor, block.origin)]
    through, taken = _pass(node, block)
    through.take_over(made, error)
    through.run(taken, start_s, Patience.endless(len(rows)))
    return through.pieces


def filtered_alone(node: Filter, block: Block) -> list[BlockOrFailure]:
    """Returns what a filter leaves of a block."""
    through, taken = _pass(node, block)
    through.run(taken, time.perf_counter(), Patience.endless(len(block)))
    return through.pieces


def _pass(node: Map | Filter, block: Block) -> tuple[Pass, Taken]:
    part = Part((Link.of(node),), 0)
    return Pass(part, block, (), Tally.of(1)), Taken.of(block.payload, part)
