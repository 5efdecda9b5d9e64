"""The stages of operations that look at one element at a time: map and filter, which call a user's function, and enumerate.

Neighbours that call functions in their driver are one loop (``physical.loops``). What applies maps to a block is pure: the
block in, the pieces out, in order. So the parallel map does in a worker exactly what the serial one does in its driver.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from headrace.arguments import AUTOTUNE
from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.cursor import CountedCursor, Cursor, State, input_state
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Indexed, Payload, Zipped
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.alone import filtered_alone, mapped_alone
from headrace.physical.loops.collecting import chained, shared_chain
from headrace.physical.loops.loop_stage import LoopStage
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.elementwise_vectorized import PiecewiseStage, filter_whole, map_whole
from headrace.physical.stages.skipping import BoundedSkipFailuresStage
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.own_turn import OwnTurn
from headrace.physical.workers.parallel_stage import ParallelStage, UndeliveredStage
from headrace.physical.workers.tuned_stage import TunedStage
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain, RandomMap
from headrace.plan.node import Node
from headrace.plan.vectorized import Vectorized
from headrace.semantics.elementwise import drawing_map, undelivered
from headrace.semantics.sources import RangeSource
from headrace.structure import flatten

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


def _applied(maps: Sequence[Map], meter: Meter, context: StageContext) -> Callable[[Block], list[BlockOrFailure]]:
    """Returns what applies maps in a row to a block, as the serial ones do in their driver."""
    parts: list[Callable[[Block], list[BlockOrFailure]]] = []
    for is_vectorized, run in itertools.groupby(maps, lambda node: isinstance(node.function, Vectorized)):
        if is_vectorized:
            parts += [functools.partial(map_whole, node) for node in run]
        else:
            parts.append(shared_chain(meter, tuple(run), context).make)
    return parts[0] if len(parts) == 1 else functools.partial(_in_turn, parts)


def _in_turn(parts: Sequence[Callable[[Block], list[BlockOrFailure]]], block: Block) -> list[BlockOrFailure]:
    pieces: list[BlockOrFailure] = [block]
    for part in parts:
        pieces = [made for piece in pieces for made in (part(piece) if isinstance(piece, Block) else [piece])]
    return pieces


def _map_stage(
    node: Map | MapChain | RandomMap, maps: tuple[Map, ...], source: Node, state: State | None, context: StageContext
) -> Stage:
    gate = context.gate(node)
    vectorized = any(isinstance(one.function, Vectorized) for one in maps)
    if gate is None and not vectorized:
        return chained(node, state, context)
    meter = context.meter(node)
    ordered = gate is None or is_ordered(node.deterministic, context)
    map_index = context.downstream_maps + len(maps) - 1
    delivered, saved = undelivered(state, range(context.downstream_maps, map_index + 1))
    inside = context.upstream_of_maps(len(maps))
    # What is missing is known by its index, so what comes in must come in the same order again.
    upstream = lower(source, saved, inside if ordered else inside.replaying())
    if delivered:
        upstream = UndeliveredStage(upstream, meter, delivered, map_index)
    if gate is None:
        return PiecewiseStage(_applied(maps, meter, context), upstream, meter)
    parallel = _ParallelMaps(node, maps, gate, meter, context, map_index if not ordered else None)
    if node.num_parallel_calls != AUTOTUNE:
        return parallel.in_workers(upstream)
    tuner = context.policy.concurrency(gate.calls, (maps[0].function, *node.operations))
    return TunedStage(
        upstream,
        meter,
        here=parallel.here,
        beside=functools.partial(parallel.in_workers, tuner=tuner),
        tuner=tuner,
        paces=context.task_paces(meter),
    )


@frozen
class _ParallelMaps:
    """Maps in a row that may run in workers, and what makes their stages; without ``map_index`` they keep the order."""

    node: Map | MapChain | RandomMap
    maps: tuple[Map, ...]
    gate: Gate
    meter: Meter
    context: StageContext
    map_index: int | None

    def in_workers(self, source: Stage, given: int = 0, tuner: ConcurrencyTuner | None = None) -> ParallelStage:
        """Makes the stage that has workers call them, after so many elements."""
        context, size = self.context, self.node.stacked if self.map_index is None else None
        return ParallelStage(
            _applied(self.maps, self.meter, context),
            source,
            self.meter,
            gate=self.gate,
            ordered=self.map_index is None,
            map_index=self.map_index or 0,
            budget=context.budget,
            paces=context.task_paces(self.meter),
            ready_order=context.policy.ready_order,
            memory=BatchMemory(size, context.budget.share_bytes, given % size) if size else None,
            tuner=tuner,
        )

    def here(self, source: Stage) -> Stage:
        """Makes the stage that calls them in the thread that reads it, as if no workers had been asked for."""
        turn = OwnTurn(self.gate, self.meter.name)
        if any(isinstance(one.function, Vectorized) for one in self.maps):
            return PiecewiseStage(_applied(self.maps, self.meter, self.context), source, self.meter, turn)
        return LoopStage(shared_chain(self.meter, self.maps, self.context), [self.meter], (), source, turn)
