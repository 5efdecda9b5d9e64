"""The stages of maps that may run in workers, alone and among operations that do not.

While the number of calls of a map is left to headrace and it has no workers, it is a link of one loop with its neighbours.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from headrace.arguments import AUTOTUNE
from headrace.blocks.cursor import State
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.budget import Ahead
from headrace.physical.context import StageContext
from headrace.physical.loops.applying import Make, applied_by
from headrace.physical.loops.chain import is_chainable
from headrace.physical.loops.collecting import Collected, collected, shared_chain
from headrace.physical.loops.loop_stage import LoopStage, TunedLinks
from headrace.physical.loops.timed import TimedMap
from headrace.physical.lower import lower
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
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain, RandomMap

__all__ = ["ParallelMaps", "applied", "chained"]


def applied(maps: Sequence[Map], meter: Meter, context: StageContext) -> Make:
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
        if node.num_parallel_calls == AUTOTUNE:
            subjects = node.operations if there is not None else (maps[0].function, *node.operations)
            tuner = context.tuned_calls(gate, meter, subjects, elsewhere=there is not None)
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
            paces=self.context.task_paces(self.meter),
            given=given,
        )

    def in_workers(self, source: Stage, given: int = 0) -> ParallelStage:
        """Makes the stage that has workers call them, after so many elements."""
        context, size = self.context, self.node.stacked if self.map_index is None else None
        ahead = context.ahead(self.node)
        return ParallelStage(
            self.there or applied(self.maps, self.meter, context),
            source,
            self.meter,
            gate=self.gate,
            map_index=self.map_index,
            ahead=ahead,
            paces=context.task_paces(self.meter),
            ready_order=context.policy.ready_order,
            memory=None if size is None else self._memory(size, given % size, ahead),
            tuner=self.tuner,
            copies=1 if self.there is None else 2,
        )

    def _memory(self, size: int, first: int, ahead: Ahead) -> BatchMemory:
        is_stacked, shared = self.there is not None, self.context.policy.shared
        return BatchMemory(size, ahead.share_bytes, first, shared=shared, taken=ahead.add, stacked=is_stacked)

    def here(self, source: Stage) -> Stage:
        """Makes the stage that calls them in the thread that reads it, as if no workers had been asked for."""
        turn = OwnTurn(self.gate, self.meter.name)
        if not all(map(is_chainable, self.maps)):
            return PiecewiseStage(applied(self.maps, self.meter, self.context), source, self.meter, turn)
        chain = shared_chain(self.meter, self.maps, self.context)
        return LoopStage(chain, [self.meter], (), source, [turn] * len(self.maps))


def chained(node: Map | MapChain | RandomMap | Filter, state: State | None, context: StageContext) -> Stage:
    """Makes the stages of an operation, one with all that come before it and can be done in the same loop."""
    place, links = collected(node, state, context)
    upstream = lower(place.node, place.state, place.context)
    if place.delivered:
        upstream = UndeliveredStage(upstream, links[0].meter, place.delivered, place.map_index)
    parts = _Links.parts_of(links, context)
    if len(parts) == 1:
        return parts[0].stage(upstream, 0, 0)
    whole = _Links(links, 0, context, None)
    tuned = [
        TunedLinks(part.maps.tuner, range(part.first, part.end))
        for part in parts
        if part.maps is not None and part.maps.tuner is not None
    ]
    return FusedStage(
        upstream,
        links[-1].meter,
        fused=lambda source, read, _: whole.loop(source, read, _turns(parts), tuned),
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
        return self.loop(source, read) if self.maps is None else self.maps.stage(source, given)

    def loop(
        self, source: Stage, read: int, turns: Sequence[OwnTurn | None] = (), tuned: Sequence[TunedLinks] = ()
    ) -> LoopStage:
        """Makes the loop of them."""
        links = self.links
        chain = shared_chain(links[-1].meter, [link.node for link in links], self.context)
        counts = [link.count + read for link in links if isinstance(link.node, Enumerate)]
        return LoopStage(chain, [link.meter for link in links], counts, source, turns, tuned)


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
