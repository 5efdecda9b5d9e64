"""The stages of maps and filters that are not, or not always, links of a loop: those that may run in workers, and what is called otherwise.

What applies maps to a block is pure: the block in, the pieces out, in order. So the parallel map does in a worker exactly what the
serial one does in its driver. While the number of calls of a map is left to headrace and it has no workers, it is a link of one loop with its neighbours.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

from headrace.arguments import AUTOTUNE
from headrace.blocks.cursor import State
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.budget import Ahead
from headrace.physical.context import StageContext
from headrace.physical.learned_together import task_paces, tuned_calls
from headrace.physical.loops.applying import Make, applied_by
from headrace.physical.loops.chain import is_chainable
from headrace.physical.loops.collecting import Collected, looped, shared_chain
from headrace.physical.loops.loop_stage import LoopStage, TunedLinks
from headrace.physical.loops.timed import TimedMap
from headrace.physical.loops.whole import filter_whole
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Stage
from headrace.physical.stages.elementwise_vectorized import PiecewiseStage
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.fused_stage import FusedStage
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.own_turn import OwnTurn
from headrace.physical.workers.parallel_stage import ParallelStage
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.tuned_stage import TunedStage
from headrace.physical.workers.undelivered_stage import UndeliveredStage
from headrace.plan.elementwise import Filter, Map, MapChain, RandomMap
from headrace.plan.node import Node
from headrace.semantics.elementwise import undelivered

__all__ = ["filtered_whole", "looped_in_parts", "mapped_apart"]


def _applied(maps: Sequence[Map], meter: Meter, context: StageContext) -> Make:
    """Returns what applies maps in a row to a block, as the serial ones do in their driver."""
    return applied_by(
        maps, lambda run: shared_chain(meter, run, context).make, lambda node: TimedMap(node, context.callers).make
    )


@frozen
class ParallelMaps:
    """Maps in a row that may run in workers, and what makes their stages; without ``map_index`` they keep the order."""

    node: Map | MapChain | RandomMap
    maps: tuple[Map, ...]
    gate: Gate
    meter: Meter
    context: StageContext
    map_index: int | None
    tuner: TunedCalls | None
    there: Make | None  # has processes call them

    @classmethod
    def of(
        cls,
        node: Map | MapChain | RandomMap,
        maps: tuple[Map, ...],
        meter: Meter,
        context: StageContext,
        map_index: int | None = None,
    ) -> ParallelMaps:
        """Returns those of an operation that asked for workers."""
        gate = context.gate(node)
        assert gate is not None  # it asked
        there = None
        if (elsewhere := context.elsewhere) is not None and elsewhere.wanted_for(node):
            # Its processes start now: until they are there, a thread may do.
            is_stacked = bool(node.stacked) and map_index is None
            there = elsewhere.calling(maps, meter, context.policy.loops, stacked=is_stacked)
        tuner = None
        is_asked_for = node.num_parallel_calls != AUTOTUNE
        if not is_asked_for or (there is None and gate.calls > 1):
            tuner = tuned_calls(
                context,
                gate,
                meter,
                node.operations if there is not None else (maps[0].function, *node.operations),
                elements_a_call=1.0 if all(map(is_chainable, maps)) else math.inf,
                elsewhere=there is not None,
                is_asked_for=is_asked_for,
            )
        return cls(node, maps, gate, meter, context, map_index, tuner, there)

    def stage(self, source: Stage, given: int = 0) -> Stage:
        """Makes the stage that has workers call them, or does so itself while that is quicker, after so many elements."""
        if self.tuner is None:
            return self.in_workers(source, given)
        return TunedStage(
            source,
            self.meter,
            here=self.here,
            beside=self.in_workers,
            tuner=self.tuner,
            paces=task_paces(self.context, self.meter, self.node.operations),
            given=given,
        )

    def in_workers(self, source: Stage, given: int = 0) -> ParallelStage:
        """Makes the stage that has workers call them, after so many elements."""
        context, size = self.context, self.node.stacked if self.map_index is None else None
        ahead = context.ahead(self.node)
        return ParallelStage(
            self.there or _applied(self.maps, self.meter, context),
            source,
            self.meter,
            gate=self.gate,
            map_index=self.map_index,
            ahead=ahead,
            paces=task_paces(context, self.meter, self.node.operations),
            ready_order=context.policy.ready_order,
            memory=None if size is None else self._memory(size, given % size, ahead),
            tuner=self.tuner,
            is_elsewhere=self.there is not None,
            count=count - given if (count := self.node.input.cardinality()) >= 0 else None,
        )

    def _memory(self, size: int, first: int, ahead: Ahead) -> BatchMemory:
        is_stacked, shared = self.there is not None, self.context.policy.shared
        return BatchMemory(size, ahead.share_bytes, first, shared=shared, taken=ahead.add, stacked=is_stacked)

    def here(self, source: Stage) -> Stage:
        """Makes the stage that calls them in the thread that reads it, as if no workers had been asked for."""
        turn = OwnTurn(self.gate, self.meter.name)
        if not all(map(is_chainable, self.maps)):
            return PiecewiseStage(_applied(self.maps, self.meter, self.context), source, self.meter, turn)
        chain = shared_chain(self.meter, self.maps, self.context)
        return LoopStage(chain, [self.meter], (), source, [turn] * len(self.maps))


def filtered_whole(node: Filter, state: State | None, context: StageContext) -> Stage:
    """Makes the stage of a filter whose predicate is called on whole blocks."""
    return PiecewiseStage(functools.partial(filter_whole, node), lower(node.input, state, context), context.meter(node))


def mapped_apart(
    node: Map | MapChain | RandomMap, maps: tuple[Map, ...], source: Node, state: State | None, context: StageContext
) -> Stage:
    """Makes the stages of maps in a row that are no links of a loop: workers or processes call them, or they are called otherwise."""
    map_index = context.downstream_maps + len(maps) - 1
    delivered, saved = undelivered(state, range(context.downstream_maps, map_index + 1))
    meter, gate = context.meter(node), context.gate(node)
    ordered = gate is None or is_ordered(node.deterministic, context)
    inside = context.upstream_of_maps(len(maps))
    # What is missing is known by its index, so what comes in must come in the same order again.
    upstream = lower(source, saved, inside if ordered else inside.replaying())
    if delivered:
        upstream = UndeliveredStage(upstream, meter, delivered, map_index)
    if context.looks_elsewhere(node):
        assert context.elsewhere is not None  # it looks there
        return PiecewiseStage(context.elsewhere.calling(maps, meter, context.policy.loops), upstream, meter)
    if gate is None:
        return PiecewiseStage(_applied(maps, meter, context), upstream, meter)
    parallel = ParallelMaps.of(node, maps, meter, context, map_index if not ordered else None)
    return parallel.stage(upstream)


def looped_in_parts(links: list[Collected], upstream: Stage, context: StageContext) -> Stage:
    """Makes the stages of links of which some may have workers: one loop while these have none."""
    parts = _Links.parts_of(links, context)
    if len(parts) == 1:
        return parts[0].stage(upstream, 0, 0)
    tuned = [
        TunedLinks(part.maps.tuner, range(part.first, part.end))
        for part in parts
        if part.maps is not None and part.maps.tuner is not None
    ]
    return FusedStage(
        upstream,
        links[-1].meter,
        fused=lambda source, read, _: looped(links, source, context, read, _turns(parts), tuned),
        apart=functools.partial(_apart, parts),
        tuners=[one.tuner for one in tuned],
    )


@frozen
class _Links:
    """Neighbouring links that are one stage where others may have workers: those of one operation that may, or of some that may not.

    Attributes:
        links: them.
        first: the index of the first one among all.
        context: where the last one of all stands.
        maps: the operation that may have workers, if it is one.
    """

    links: list[Collected]
    first: int
    context: StageContext
    maps: ParallelMaps | None

    @classmethod
    def parts_of(cls, links: list[Collected], context: StageContext) -> list[_Links]:
        """Returns the parts of a chain."""
        parts: list[_Links] = []
        for _, run in itertools.groupby(links, lambda link: id(link.tuned)):
            part = [*run]
            first = parts[-1].end if parts else 0
            parts.append(cls(part, first, context, _parallel(part)))
        return parts

    @property
    def end(self) -> int:
        """The index of the first link after them."""
        return self.first + len(self.links)

    def stage(self, source: Stage, read: int, given: int) -> Stage:
        """Makes the stage of them, after so many elements were read and given."""
        if self.maps is not None:
            return self.maps.stage(source, given)
        return looped(self.links, source, self.context, read)


def _parallel(links: list[Collected]) -> ParallelMaps | None:
    node, context = links[-1].tuned, links[-1].place.context
    if node is None:
        return None
    maps = tuple([link.node for link in links if isinstance(link.node, Map)])
    return ParallelMaps.of(node, maps, links[-1].meter, context)


def _turns(parts: list[_Links]) -> list[OwnTurn | None]:
    """Returns what the calls of each link wait for; operations that share a gate have turns together."""
    turns: dict[int, OwnTurn] = {}
    of_links: list[OwnTurn | None] = []
    for part in parts:
        turn = None
        if part.maps is not None:
            gate = part.maps.gate
            turn = turns.setdefault(id(gate), OwnTurn(gate, part.maps.meter.name))
        of_links += [turn] * len(part.links)
    return of_links


def _apart(parts: list[_Links], source: Stage, read: int, given: int) -> Stage:
    """Makes a stage of each part."""
    for part in parts:
        source = part.stage(source, read, given)
    return source
