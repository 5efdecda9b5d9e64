"""The stages of operations that look at one element at a time."""

from __future__ import annotations

import functools

from headrace.arguments import AUTOTUNE
from headrace.blocks.cursor import State, input_state
from headrace.physical.context import StageContext
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Stage
from headrace.physical.stages.elementwise import PiecewiseStage, apply_maps, filter_block, map_block
from headrace.physical.stages.sequencing import EnumerateStage
from headrace.physical.stages.skipping import BoundedForgivingStage
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.concurrency_tuner import TunedCalls
from headrace.physical.workers.parallel_stage import ParallelMapStage, UndeliveredStage
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain, RandomMap
from headrace.plan.node import Node
from headrace.semantics.elementwise import drawing_map, undelivered

__all__: list[str] = []


@lower.register
def _filter(node: Filter, state: State | None, context: StageContext) -> Stage:
    above = lower(node.input, state, context)
    return PiecewiseStage(functools.partial(filter_block, node), above, context.meter(node))


@lower.register
def _enumerate(node: Enumerate, state: State | None, context: StageContext) -> Stage:
    return EnumerateStage(node, lower(node.input, input_state(state), context), context.meter(node), state)


@lower.register(Map)
@lower.register(MapChain)
def _map(node: Map | MapChain, state: State | None, context: StageContext) -> Stage:
    """The stages of a map; it has a state of its own only after unordered delivery, or where it leaves failures out."""
    if isinstance(node, MapChain):
        return _map_stage(node, node.maps, node.input, state, context)
    if not node.skips:
        return _map_stage(node, (node,), node.input, state, context)
    made = _map_stage(node, (node,), node.input, input_state(state), context)
    return BoundedForgivingStage(
        made,
        context.meter(node),
        state,
        is_forgiven=lambda failure: failure.by is node,
        most=context.max_failures,
    )


@lower.register
def _random_map(node: RandomMap, state: State | None, context: StageContext) -> Stage:
    numbered = Enumerate(input=node.input)
    return _map_stage(node, (drawing_map(node, numbered, context),), numbered, state, context)


def _map_stage(
    node: Map | MapChain | RandomMap, maps: tuple[Map, ...], source: Node, state: State | None, context: StageContext
) -> Stage:
    meter = context.meter(node)
    gate = context.gate(node)
    ordered = gate is None or is_ordered(node.deterministic, context)
    number = context.maps_behind + len(maps) - 1
    delivered, saved = undelivered(state, range(context.maps_behind, number + 1))
    inside = context.above_maps(len(maps))
    # What is missing is known by its number, so what comes in must come in the same order again.
    above = lower(source, saved, inside if ordered else inside.replaying())
    if delivered:
        above = UndeliveredStage(above, meter, delivered, number)
    if gate is None:
        for link in maps:
            above = PiecewiseStage(functools.partial(map_block, link), above, meter)
        return above
    return ParallelMapStage(
        functools.partial(apply_maps, maps),
        above,
        meter,
        gate=gate,
        ordered=ordered,
        number=number,
        budget=context.budget,
        memory=BatchMemory(node.stacked, context.budget.share_bytes) if ordered and node.stacked else None,
        tuned=TunedCalls(gate.calls, maps[0].function) if node.num_parallel_calls == AUTOTUNE else None,
    )
