"""Which operations of a plan become links of one chain: all neighbours that call a function on each element in their driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from headrace.arguments import AUTOTUNE
from headrace.blocks.cursor import State, input_state
from headrace.frozen import frozen, mutable
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.loops.chain import Chain, is_chainable
from headrace.physical.loops.loop_stage import LoopStage, TunedLinks
from headrace.physical.lower import is_ordered
from headrace.physical.stage import Stage
from headrace.physical.workers.own_turn import OwnTurn
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain, RandomMap
from headrace.plan.node import Node
from headrace.plan.vectorized import Vectorized
from headrace.semantics.elementwise import DeliveredRuns, drawing_map, undelivered

__all__ = ["Collected", "Place", "collected", "looped", "may_be_here", "shared_chain"]

# A loop of more links would be compiled for long.
_MOST_LINKS: Final = 32


@mutable
class Place:
    """A place in a plan.

    Attributes:
        node: what is read there.
        state: from which state.
        context: in which context.
        delivered: what of it is not to come again.
        map_index: by which index a state knows the map that had given that.
    """

    node: Node
    state: State | None
    context: StageContext
    delivered: DeliveredRuns = dataclasses.field(default_factory=list)
    map_index: int = 0


@frozen
class Collected:
    """A link.

    Attributes:
        node: the operation.
        meter: what counts it.
        place: downstream of it.
        count: of an enumerate, how many elements it has counted.
        tuned: what it is a map of, where it is left to headrace how many calls of that run at once.
    """

    node: Map | Filter | Enumerate
    meter: Meter
    place: Place
    count: int = 0
    tuned: Map | MapChain | RandomMap | None = None


def collected(
    node: Map | MapChain | RandomMap | Filter, state: State | None, context: StageContext
) -> tuple[Place, list[Collected]]:
    """Returns an operation with all that come before it and can be done in the same loop, and the place upstream of them."""
    place, links = Place(node, state, context), list[Collected]()  # the last link first
    while not place.delivered and len(links) < _MOST_LINKS:
        found = _links_of(place, links)
        if found is None:
            break
        place, more = found
        links += more
    while isinstance(links[-1].node, Enumerate):  # it numbers whole blocks, which costs less
        place = links.pop().place
    return place, links[::-1]


def shared_chain(meter: Meter, nodes: Sequence[Map | Filter | Enumerate], context: StageContext) -> Chain:
    """Returns the chain of these operations, which learns together with others that they became in this run; the same for the same ones.

    Args:
        meter: of the last operation: the run has one for each, however many stages it becomes.
        nodes: the operations.
        context: where they stand.
    """
    latest, policy = (id(meter), Chain), context.policy.loops
    chain: Chain | None = context.learned.get(latest)
    if chain is None or not chain.is_of(nodes, policy):
        chain = Chain(nodes, policy)
        key = (id(meter), tuple([link.kind for link in chain.links]))
        chain.learned = context.learned.setdefault(key, chain.learned)
        context.learned[latest] = chain  # a small dataset that is repeated becomes stages once a turn
    return chain


def looped(
    links: Sequence[Collected],
    source: Stage,
    context: StageContext,
    read: int = 0,
    turns: Sequence[OwnTurn | None] = (),
    tuned: Sequence[TunedLinks] = (),
) -> LoopStage:
    """Makes the loop of links over their input, of which so many elements were read before."""
    chain = shared_chain(links[-1].meter, [link.node for link in links], context)
    counts = [link.count + read for link in links if isinstance(link.node, Enumerate)]
    return LoopStage(chain, [link.meter for link in links], counts, source, turns, tuned)


def _links_of(place: Place, downstream: list[Collected]) -> tuple[Place, list[Collected]] | None:
    """Returns the links that the operation at a place is, the last one first, and the place upstream of it; None if it is none."""
    node, state, context = place.node, place.state, place.context
    match node:
        case Filter() if not isinstance(node.predicate, Vectorized):
            # The number would not follow from the index.
            if any(isinstance(link.node, Enumerate) for link in downstream):
                return None
            return Place(node.input, state, context), [Collected(node, context.meter(node), place)]
        case Enumerate() if downstream:
            link = Collected(node, context.meter(node), place, state["index"] if state else 0)
            return Place(node.input, input_state(state), context), [link]
        case Map() if is_chainable(node) and not (node.skips and downstream):
            return _links_of_maps(place, (node,), node.input)
        case MapChain() if all(map(is_chainable, node.maps)):
            return _links_of_maps(place, node.maps, node.input)
        case RandomMap() if is_chainable(node):
            numbered = Enumerate(input=node.input)
            return _links_of_maps(place, (drawing_map(node, numbered, context),), numbered)
    return None


def _links_of_maps(place: Place, maps: tuple[Map, ...], source: Node) -> tuple[Place, list[Collected]] | None:
    node, context = place.node, place.context
    assert isinstance(node, (Map, MapChain, RandomMap))  # the caller has matched
    is_tuned = context.gate(node) is not None
    if is_tuned and not may_be_here(node, context):  # its functions are called in workers
        return None
    if context.looks_elsewhere(node):
        return None
    map_index = context.downstream_maps + len(maps) - 1
    delivered, saved = undelivered(place.state, range(context.downstream_maps, map_index + 1))
    if is_tuned and delivered:
        return None
    own = context.meter(node)
    meters = [*(Meter(one.label) for one in maps[:-1]), own]  # a chain of maps has one line in the statistics
    tuned = node if is_tuned else None
    links = [Collected(one, meter, place, tuned=tuned) for one, meter in zip(maps, meters, strict=True)]
    return Place(source, saved, context.upstream_of_maps(len(maps)), delivered, map_index), links[::-1]


def may_be_here(node: Map | MapChain | RandomMap, context: StageContext) -> bool:
    """Returns whether a parallel map may be called in the thread that reads it, in a loop with its neighbours."""
    return node.num_parallel_calls == AUTOTUNE and is_ordered(node.deterministic, context)
