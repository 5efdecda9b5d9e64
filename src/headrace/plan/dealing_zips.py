"""What chooses or orders elements after a zip, done in each of its branches before their functions.

Each rank reads a zip of what is read by number whole, as numbers, and calls the functions in its branches on its own part alone. A
shuffle between the two would order what the functions make, so they would be called on all; done in each branch alike, it orders
numbers. An enumeration of what functions make is such a zip, of numbers and of that.
"""

from __future__ import annotations

from typing import Final

from headrace.elements.structure import flatten
from headrace.plan.combining import Zip, ZipOfPlaces
from headrace.plan.elementwise import Enumerate, Map
from headrace.plan.looking import Known
from headrace.plan.node import Node, nodes_of
from headrace.plan.randomness import entropies_of
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.plan.shuffling import Shuffle
from headrace.plan.sources import FromTensors, FromTensorSlices, RandomSource, Range
from headrace.plan.storing import Stored

__all__ = ["by_places", "moved", "numbered_places"]

# What is read by number, or knows how many elements it has, and gives one or its failure for each.
_NUMBERED: Final = (
    Range, FromTensors, FromTensorSlices, RandomSource, Stored, Known,
    Map, Enumerate, Zip, Concatenate, Take, Skip, Shard, Shuffle, Repeat,
)  # fmt: skip

_PAIR: Final = flatten((0, 0))[1]


def by_places(plan: Zip) -> Zip:
    """Returns a zip as one of places; as it is where it has no functions in its branches, or is not read by number."""
    nodes = list(nodes_of(plan))
    has_functions = any(isinstance(node, Map) for node in nodes)
    are_numbered = all(isinstance(node, _NUMBERED) and not (isinstance(node, Map) and node.skips) for node in nodes)
    if not (has_functions and are_numbered and _draw_apart(plan)):
        return plan
    count = plan.cardinality()
    branches = [
        branch if branch.cardinality() == count else moved(Take(input=branch, count=count), branch)
        for branch in plan.datasets
    ]
    return ZipOfPlaces(treedef=plan.treedef, datasets=tuple(branches), name=plan.name, operation=plan.operation)


def numbered_places(node: Enumerate, plan: Node) -> Node:
    """Returns a plan with its enumeration: as a zip of places with numbers, or as it is where that would be none."""
    numbers = Range(start=node.start, stop=None, step=1, name=node.name)
    pairs = Zip(treedef=_PAIR, datasets=(numbers, plan), name=node.name or node.op, operation=node.operation)
    places = by_places(pairs)
    return node.with_inputs((plan,)) if places is pairs else places


def _draw_apart(plan: Zip) -> bool:
    """Returns whether no random operation is in two branches, as each would be an epoch of its own there."""
    found = [entropies_of(branch) for branch in plan.datasets]
    return len(frozenset().union(*found)) == sum(map(len, found))


def moved(node: Take | Skip | Shard | Shuffle | Repeat, plan: Node) -> Node:
    """Returns a plan with this operation after it, but before the functions in a zip."""
    if isinstance(plan, Map) and not plan.skips:
        return plan.with_inputs((moved(node, plan.input),))
    if isinstance(plan, ZipOfPlaces):
        return plan.with_inputs(tuple(moved(node, branch) for branch in plan.datasets))
    return node.with_inputs((plan,))
