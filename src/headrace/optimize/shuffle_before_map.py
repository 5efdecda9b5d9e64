"""A shuffle behind a map goes before it: the buffer then holds what the map reads, not what it makes.

The permutation depends on numbers of elements alone, and a map changes none; a failing element takes part in a
shuffle like any other. So the elements and their order stay, while the buffer holds file names instead of file
contents, and a restored shuffle reads again without calling the function.
"""

from __future__ import annotations

import dataclasses

from headrace.optimize.rewriting import rewrite
from headrace.plan.elementwise import Map
from headrace.plan.node import Node
from headrace.plan.sequencing import Shuffle

__all__ = ["shuffle_before_map"]


def shuffle_before_map(plan: Node) -> Node:
    """Moves every shuffle above the maps that it directly reads."""
    return rewrite(plan, _swap)


def _swap(node: Node) -> Node:
    match node:
        case Shuffle(input=Map() as above):
            return dataclasses.replace(above, input=_swap(dataclasses.replace(node, input=above.input)))
        case _:
            return node
