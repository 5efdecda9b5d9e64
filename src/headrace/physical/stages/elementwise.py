"""The stages of operations that look at one element at a time: map and filter, which call a user's function, and enumerate.

Neighbours that call functions in their driver are one loop (``physical.loops``). What applies maps to a block is pure: the
block in, the pieces out, in order. So the parallel map does in a worker exactly what the serial one does in its driver.
"""

from __future__ import annotations

import functools

import numpy as np

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.cursor import CountedCursor, Cursor, State, input_state
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Indexed, Payload, Zipped
from headrace.elements.structure import flatten
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.alone import filtered_alone, mapped_alone
from headrace.physical.loops.chain import is_chainable
from headrace.physical.loops.collecting import may_be_here
from headrace.physical.loops.whole import filter_whole, map_whole
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.elementwise_parallel import ParallelMaps, applied, chained
from headrace.physical.stages.elementwise_vectorized import PiecewiseStage
from headrace.physical.stages.skipping import BoundedSkipFailuresStage
from headrace.physical.workers.undelivered_stage import UndeliveredStage
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain, RandomMap
from headrace.plan.node import Node
from headrace.plan.vectorized import Vectorized
from headrace.semantics.elementwise import drawing_map, undelivered
from headrace.semantics.sources import RangeSource

__all__ = ["EnumerateStage", "filter_block", "map_block"]


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


class EnumerateStage(Stage):
    """Each element with its index."""

    def __init__(self, node: Enumerate, input_stage: Stage, meter: Meter, state: State | None) -> None:
        self._index: int = state["index"] if state else 0
        super().__init__(meter, (input_stage,), CountedCursor("index", self._index, input_stage.cursor))
        self._numbers = RangeSource(node.start, None, 1, np.dtype(np.int64))
        self._treedef = flatten((0, 0))[1]
        self.by_index = input_stage.by_index
        self.numbered = input_stage.numbered

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        payload, origin = self.inputs[0].at(numbers)
        return Zipped(self._treedef, (Indexed(self._numbers, numbers), payload)), origin

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        return CountedCursor("index", number, self.inputs[0].cursor_at(number))

    def _pull(self, limit: int) -> Item:
        item = self._read(self.inputs[0], limit)
        if item is None:
            return None
        cursor = CountedCursor("index", self._index, item.cursor)
        first = self._index
        if isinstance(item, Failure):
            self._index += 1
            return Failure(item.error, cursor, CountedCursor("index", self._index, item.after))
        self._index += len(item)
        numbers = Indexed(self._numbers, range(first, self._index))
        return Block(Zipped(self._treedef, (numbers, item.payload)), cursor, item.origin)


@lower.register
def _filter(node: Filter, state: State | None, context: StageContext) -> Stage:
    if isinstance(node.predicate, Vectorized):
        upstream = lower(node.input, state, context)
        return PiecewiseStage(functools.partial(filter_whole, node), upstream, context.meter(node))
    return chained(node, state, context)


@lower.register
def _enumerate(node: Enumerate, state: State | None, context: StageContext) -> Stage:
    return EnumerateStage(node, lower(node.input, input_state(state), context), context.meter(node), state)


@lower.register
def _map(node: Map, state: State | None, context: StageContext) -> Stage:
    """Makes the stages of a map; it has a state of its own only after unordered delivery, or where it skips failures."""
    if not node.skips:
        return _map_stage(node, (node,), node.input, state, context)
    made = _map_stage(node, (node,), node.input, input_state(state), context)
    return BoundedSkipFailuresStage(
        made,
        context.meter(node),
        state,
        context.failures,
        is_skipped=lambda failure: failure.by is node,
        most=context.max_failures,
    )


@lower.register
def _map_chain(node: MapChain, state: State | None, context: StageContext) -> Stage:
    return _map_stage(node, node.maps, node.input, state, context)


@lower.register
def _random_map(node: RandomMap, state: State | None, context: StageContext) -> Stage:
    numbered = Enumerate(input=node.input)
    return _map_stage(node, (drawing_map(node, numbered, context),), numbered, state, context)


def _map_stage(
    node: Map | MapChain | RandomMap, maps: tuple[Map, ...], source: Node, state: State | None, context: StageContext
) -> Stage:
    gate = context.gate(node)
    map_index = context.downstream_maps + len(maps) - 1
    delivered, saved = undelivered(state, range(context.downstream_maps, map_index + 1))
    is_elsewhere = context.looks_elsewhere(node)
    is_apart = is_elsewhere or not all(map(is_chainable, maps))
    if not is_apart and (gate is None or (may_be_here(node, context) and not delivered)):
        return chained(node, state, context)
    meter = context.meter(node)
    ordered = gate is None or is_ordered(node.deterministic, context)
    inside = context.upstream_of_maps(len(maps))
    # What is missing is known by its index, so what comes in must come in the same order again.
    upstream = lower(source, saved, inside if ordered else inside.replaying())
    if delivered:
        upstream = UndeliveredStage(upstream, meter, delivered, map_index)
    if is_elsewhere:
        assert context.elsewhere is not None  # it looks there
        return PiecewiseStage(context.elsewhere.calling(maps, meter, context.policy.loops), upstream, meter)
    if gate is None:
        return PiecewiseStage(applied(maps, meter, context), upstream, meter)
    parallel = ParallelMaps.of(node, maps, meter, context, map_index if not ordered else None)
    return parallel.stage(upstream)
