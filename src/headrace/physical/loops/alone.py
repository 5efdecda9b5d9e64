"""One map or filter over a block by itself: for small datasets that functions make, of which each has few elements."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.cursor import OffsetCursor
from headrace.blocks.origin import named
from headrace.blocks.payload import Rows
from headrace.elements.structure import Element
from headrace.observe.frames import Locals, holds, since
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.one_pass import Link, Part, Pass, Tally
from headrace.physical.loops.taken_rows import Taken, are_fixed
from headrace.physical.loops.text import GENERIC, KEPT, Head, Loop, loop_of
from headrace.plan.elementwise import Filter, Map

__all__ = ["Broken", "filtered_alone", "gone_on", "mapped_alone"]


@functools.cache
def map_loop(*, has_tuples: bool | None) -> Loop:
    """Returns the loop of one map of which nothing is known."""
    return loop_of(Head(has_tuples), ("map",), (GENERIC,))


def _at_element(at: Locals, _: object) -> tuple[str, str]:
    index = min(len(at["made"]), len(at["block"]) - 1)
    return at["node"].label, named(at["block"].origin.describe(index), at["rows"][index])


@holds(_at_element)
@since("start_s")
def mapped_alone(node: Map, block: Block, patience: Patience) -> tuple[list[BlockOrFailure], int]:
    """Returns what a map makes of a block, and of how many of its elements, at the least cost where none of them fails."""
    start_s = time.perf_counter()
    made: list[Element] = []
    rows = block.payload.rows()
    loop = map_loop(has_tuples=block.payload.has_tuples)
    now_s, until_s, chunk = patience
    chunks = -(-len(rows) // chunk)
    error = loop.run(iter(rows), None, -1, chunk, chunks, now_s, until_s, made, None, (node.function,), ())[2]
    if error is None:
        done = len(made)
        origin = block.origin if done == len(rows) else block.origin.subset(range(done))
        return [Block(Rows(made), block.cursor, origin)], done
    part = Part((Link.of(node),), 0)
    return gone_on(part, block, Broken(made, [], (0, error)), Tally.of(1), start_s, patience)


class Broken(NamedTuple):
    """What a loop made of the first elements of a block, before it failed on one or its time came.

    Attributes:
        made: it; where nothing but filters is called, nothing.
        fates: of each element that is done, where there are filters.
        failed: the link on which it failed on the next one, and how; None where it did not.
    """

    made: list[Element]
    fates: list[int]
    failed: tuple[int, Exception] | None


def gone_on(
    part: Part, block: Block, broken: Broken, tally: Tally, start_s: float, patience: Patience
) -> tuple[list[BlockOrFailure], int]:
    """Returns what maps and filters make of a block, and of how many elements, after their loop broke off in it."""
    through = Pass(part, block, (), tally)
    through.take_over(*broken)
    if broken.failed is not None:
        through.run(Taken.of(block.payload, part.kinds), start_s, patience)
    return through.pieces, through.done


@functools.cache
def _filter_loop(*, has_tuples: bool | None) -> Loop:
    """Returns the loop of one filter over elements that nobody can change."""
    return loop_of(Head(has_tuples, is_fixed=True), ("filter",), (GENERIC,))


@holds(lambda at, _: (at["node"].label, at["block"].origin.describe(min(len(at["fates"]), len(at["rows"]) - 1))))
@since("start_s")
def _fixed_alone(
    node: Filter, block: Block, rows: Sequence[Element], patience: Patience
) -> tuple[list[BlockOrFailure], int]:
    """Returns the same of elements that nobody can change, at the least cost where the predicate fails on none of them."""
    start_s = time.perf_counter()
    fates: list[int] = []
    loop = _filter_loop(has_tuples=block.payload.has_tuples)
    now_s, until_s, chunk = patience
    chunks = -(-len(rows) // chunk)
    error = loop.run(iter(rows), None, -1, chunk, chunks, now_s, until_s, [], fates, (node.predicate,), ())[2]
    if error is not None:
        broken = Broken([], fates, (0, error))
        return gone_on(Part((Link.of(node),), 0), block, broken, Tally.of(1), start_s, patience)
    kept = [index for index, fate in enumerate(fates) if fate == KEPT]
    done = len(fates)
    if not kept:
        return [], done
    offsets = np.array([*kept, done])  # after the last one kept lies what was judged: it need not be judged again
    origin = block.origin.subset(offsets[:-1])
    return [Block(Rows([rows[index] for index in kept]), OffsetCursor(block.cursor, offsets), origin)], done


def filtered_alone(node: Filter, block: Block, patience: Patience) -> tuple[list[BlockOrFailure], int]:
    """Returns what a filter leaves of a block, and of how many of its elements."""
    rows = block.payload.rows()
    if are_fixed(rows):
        return _fixed_alone(node, block, rows, patience)
    part = Part((Link.of(node),), 0)
    through = Pass(part, block, (), Tally.of(1))
    through.run(Taken.of(block.payload, part.kinds), time.perf_counter(), patience)
    return through.pieces, through.done
