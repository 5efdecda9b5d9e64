"""A shuffle after a map goes before it: the buffer then holds what the map reads, not what it makes.

The permutation depends on numbers of elements alone, and a map changes none; a failing element takes part in a
shuffle like any other (a map that leaves failures out stays where it is). So the elements and their order stay, while the buffer holds file names instead of file
contents, and a restored shuffle reads again without calling the function.

A map upstream of a shuffle always delivers in order, because a restored shuffle must read the same elements again; so one
that goes after the shuffle still does.
"""

from __future__ import annotations

import dataclasses

from headrace.plan.elementwise import Map
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite
from headrace.plan.shuffling import Shuffle

__all__ = ["shuffle_before_map"]


def shuffle_before_map(plan: Node) -> Node:
    """Moves every shuffle before the maps that it directly reads."""
    return rewrite(plan, _swap)


def _swap(node: Node) -> Node:
    match node:
        case Shuffle(input=Map() as upstream) if not upstream.skips:
            deterministic = None if upstream.num_parallel_calls is None else True
            shuffled = _swap(dataclasses.replace(node, input=upstream.input))
            return dataclasses.replace(upstream, input=shuffled, deterministic=deterministic)
        case _:
            return node
