"""What chooses elements, or puts them in another order, goes before the maps that it reads: shuffle, take, skip, shard.

They look at numbers of elements alone, and a map changes none; a failing element counts like any other (a map that leaves
failures out stays where it is). So the elements and their order stay, while the function is called only for what is
chosen, a shuffle's buffer holds file names instead of file contents, and over a source that is read by number nothing moves
but numbers.

A map above a shuffle always delivers in order, because a restored shuffle must read the same elements again; so one
that goes behind it still does. A map that was told to deliver in any order keeps its take, skip and shard behind it: they
choose among what comes first.
"""

from __future__ import annotations

import dataclasses

from headrace.optimize.rewriting import rewrite
from headrace.plan.elementwise import Map
from headrace.plan.node import Node
from headrace.plan.sequencing import Shard, Shuffle, Skip, Take

__all__ = ["choose_before_map"]


def choose_before_map(plan: Node) -> Node:
    """Moves every shuffle, take, skip and shard above the maps that it directly reads."""
    return rewrite(plan, _swap)


def _swap(node: Node) -> Node:
    match node:
        case Shuffle(input=Map() as above) if not above.skips:
            return _swapped(node, above)
        case Take(input=Map() as above) | Skip(input=Map() as above) | Shard(input=Map() as above) if (
            not above.skips and above.deterministic is not False
        ):
            return _swapped(node, above)
        case _:
            return node


def _swapped(node: Shuffle | Take | Skip | Shard, above: Map) -> Node:
    deterministic = None if above.num_parallel_calls is None else True
    chosen = _swap(dataclasses.replace(node, input=above.input))
    return dataclasses.replace(above, input=chosen, deterministic=deterministic)
