"""A source that gives elements by number, and the operations behind it that choose among the numbers.

``take``, ``skip``, ``shard`` and ``shuffle`` behind such a source are about its numbers: what they leave out is never
fetched, and an element that cannot be fetched has its number like any other. So ``take(5)`` is the numbers 0 to 4, whatever
becomes of them. This is the meaning and no optimization: every backend runs the plan that ``numbers_first`` gives.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.elementwise import Map
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite
from headrace.plan.sequencing import Repeat, Shard, Shuffle, Skip, Take

__all__ = ["Source", "numbers_first"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source(Map):
    """The elements of an object that gives them by number; its input is the numbers."""

    op: ClassVar[str] = "source"


def numbers_first(plan: Node) -> Node:
    """The plan in which operations that choose are done to the numbers of a source, and not to what it fetches."""
    return rewrite(plan, _sunk)


def _sunk(node: Node) -> Node:
    """An operation that chooses, and every repeat between it and a source, before that source fetches."""
    if not isinstance(node, (Take, Skip, Shard, Shuffle)):
        return node
    moved: list[Node] = [node]
    kept: list[Node] = []  # what changes no element stays behind the source
    below = node.input
    while isinstance(below, (Repeat, Prefetch, WithOptions)):
        (moved if isinstance(below, Repeat) else kept).append(below)
        below = below.input
    # Failures that are left out are counted, and bounded, in every turn of a repeat anew.
    if not isinstance(below, Source) or (below.skips and len(moved) > 1):
        return node
    return _stacked(kept, below.with_inputs((_stacked(moved, below.input),)))


def _stacked(operations: list[Node], plan: Node) -> Node:
    """The operations, the last of which is the first that is done, over a plan."""
    for operation in reversed(operations):
        plan = operation.with_inputs((plan,))
    return plan
