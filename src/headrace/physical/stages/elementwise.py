"""The stages of operations that look at one element at a time: map and filter, which call a user's function, and enumerate.

Neighbours that call functions in their driver are one loop (``physical.loops``); all others stand in ``elementwise_parallel``, and
are imported when a plan has one.
"""

from __future__ import annotations

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import CountedCursor, Cursor, State, input_state
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Indexed, Payload, Zipped
from headrace.elements.structure import flatten
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.loops.chain import is_chainable
from headrace.physical.loops.collecting import collected, looped, may_be_here
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain, RandomMap
from headrace.plan.node import Node
from headrace.plan.vectorized import Vectorized
from headrace.semantics.elementwise import drawing_map, undelivered
from headrace.semantics.sources import RangeSource

__all__ = ["EnumerateStage"]


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

    def _is_spent(self) -> bool:
        return self._has_spent_source

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
    if not isinstance(node.predicate, Vectorized):
        return _chained(node, state, context)
    from headrace.physical.stages.elementwise_parallel import filtered_whole  # what loops do not need

    return filtered_whole(node, state, context)


@lower.register
def _enumerate(node: Enumerate, state: State | None, context: StageContext) -> Stage:
    return EnumerateStage(node, lower(node.input, input_state(state), context), context.meter(node), state)


@lower.register
def _map(node: Map, state: State | None, context: StageContext) -> Stage:
    """Makes the stages of a map; it has a state of its own only after unordered delivery, or where it skips failures."""
    if not node.skips:
        return _map_stage(node, (node,), node.input, state, context)
    from headrace.physical.stages.skipping import BoundedSkipFailuresStage  # what few plans need

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
    if all(map(is_chainable, maps)) and not context.looks_elsewhere(node):
        if context.gate(node) is None:
            return _chained(node, state, context)
        last = context.downstream_maps + len(maps) - 1
        if may_be_here(node, context) and not undelivered(state, range(context.downstream_maps, last + 1))[0]:
            return _chained(node, state, context)
    from headrace.physical.stages.elementwise_parallel import mapped_apart  # what loops do not need

    return mapped_apart(node, maps, source, state, context)


def _chained(node: Map | MapChain | RandomMap | Filter, state: State | None, context: StageContext) -> Stage:
    """Makes the stages of an operation, one with all that come before it and can be done in the same loop."""
    place, links = collected(node, state, context)
    upstream = lower(place.node, place.state, place.context)
    if place.delivered:
        from headrace.physical.workers.undelivered_stage import UndeliveredStage  # what few states need

        upstream = UndeliveredStage(upstream, links[0].meter, place.delivered, place.map_index)
    if not any(link.tuned for link in links):
        return looped(links, upstream, context)
    from headrace.physical.stages.elementwise_parallel import looped_in_parts  # what plans without workers do not need

    return looped_in_parts(links, upstream, context)
