"""A shuffle behind a map goes before it: the buffer then holds what the map reads, not what it makes.

The permutation depends on numbers of elements alone, and a map changes none; a failing element takes part in a
shuffle like any other (a map that leaves failures out stays where it is). So the elements and their order stay, while the buffer holds file names instead of file
contents, and a restored shuffle reads again without calling the function.

A map above a shuffle always delivers in order, because a restored shuffle must read the same elements again; so one
that goes behind the shuffle still does.
"""

from __future__ import annotations

import dataclasses

from headrace.plan.elementwise import Map
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite
from headrace.plan.shuffling import Shuffle

__all__ = ["shuffle_before_map"]


def shuffle_before_map(plan: Node) -> Node:
    """Moves every shuffle above the maps that it directly reads."""
    return rewrite(plan, _swap)


def _swap(node: Node) -> Node:
    match node:
        case Shuffle(input=Map() as above) if not above.skips:
            deterministic = None if above.num_parallel_calls is None else True
            shuffled = _swap(dataclasses.replace(node, input=above.input))
            return dataclasses.replace(above, input=shuffled, deterministic=deterministic)
        case _:
            return node
