"""A source that gives elements by number, and the operations after it that choose among the numbers.

``take``, ``skip``, ``shard`` and ``shuffle`` after such a source are about its numbers: what they leave out is never
fetched, and an element that cannot be fetched has its number like any other. So ``take(5)`` is the numbers 0 to 4, whatever
becomes of them. This is the meaning and no optimization: every backend runs the plan that ``numbers_first`` gives.

``take``, ``skip`` and ``shard`` go through a zip, a concatenation and an enumeration of such sources into each of them.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Final

from headrace.elements.structure import flatten
from headrace.elements.tensor_spec import Spec
from headrace.frozen import frozen
from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate, Map
from headrace.plan.facts import fact
from headrace.plan.fetching import fetch_of, length_of
from headrace.plan.node import Node, nodes_of
from headrace.plan.rewriting import rewrite
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.plan.shuffling import Shuffle
from headrace.plan.sources import FromTensors, FromTensorSlices, RandomSource, Range

__all__ = ["Source", "numbers_first"]


@frozen(kw_only=True, eq=False)
class Source(Map):
    """The elements of an object that gives them by number; its input is the numbers."""

    op: ClassVar[str] = "source"
    tuning: ClassVar[frozenset[str]] = Map.tuning | {"known_spec"}  # which follows from what it reads
    known_spec: Spec = None

    @classmethod
    def of(
        cls,
        source: Any,
        *,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        known_spec: Spec = None,
        name: str | None = None,
    ) -> Source:
        """Returns the node for an object; ``known_spec`` is what its elements are, where it is known without reading one.

        Raises:
            TypeError: it has no length, or nothing to be got by number.
        """
        return cls(
            input=Range(start=0, stop=length_of(source), step=1, name=name),
            function=fetch_of(source),
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
            known_spec=known_spec,
            name=name,
        )

    def spec(self) -> Spec:
        """Returns what is known of its elements."""
        return self.known_spec


@fact
def _has_source(node: Node, inputs: list[bool]) -> bool:
    return isinstance(node, Source) or any(inputs)


def numbers_first(plan: Node) -> Node:
    """Returns the plan in which operations that choose are done to the numbers of a source, and not to what it fetches."""
    return rewrite(plan, _sunk)


def _sunk(node: Node) -> Node:
    if not isinstance(node, (Take, Skip, Shard, Shuffle)):
        return node
    sunk = _in_source(node)
    if sunk is not None:
        return sunk
    if isinstance(node, Shuffle) or not _has_source(node.input):
        return node
    return _in_branches(node, node.input) or node


def _in_source(node: Take | Skip | Shard | Shuffle) -> Node | None:
    """Returns the operation, and every repeat between it and the source that it reads, before that source fetches."""
    moved: list[Node] = [node]
    kept: list[Node] = []  # what changes no element stays after the source
    below = node.input
    while isinstance(below, (Repeat, Prefetch, WithOptions)):
        (moved if isinstance(below, Repeat) else kept).append(below)
        below = below.input
    # Failures that are left out are counted, and bounded, in every turn of a repeat anew.
    if not isinstance(below, Source) or (below.skips and len(moved) > 1):
        return None
    return _stacked(kept, below.with_inputs((_stacked(moved, below.input),)))


def _stacked(operations: list[Node], plan: Node) -> Node:
    """Returns the operations, the last of which is the first that is done, over a plan."""
    for operation in reversed(operations):
        plan = operation.with_inputs((plan,))
    return plan


# What reads numbers or memory and can fail on none of its elements.
_INDEXED: Final = (Range, FromTensors, FromTensorSlices, RandomSource)
_MOVING: Final = (Take, Skip, Shard, Shuffle, Repeat, Enumerate, Zip, Concatenate, Prefetch, WithOptions)


def _in_branches(node: Take | Skip | Shard, plan: Node) -> Node | None:
    """Returns the plan with the operation done to all that it puts together; None where it counts what only a run could count."""
    if isinstance(plan, (Zip, Prefetch, WithOptions)):
        return _with_all(plan, [_in_branches(node, branch) for branch in plan.inputs])
    if isinstance(plan, Enumerate):
        branch = _in_branches(node, plan.input) if _keeps_numbers_small(node, plan) else None
        return None if branch is None else _enumerated(node, plan, branch)
    if isinstance(plan, Concatenate):
        return _in_turns(node, plan)
    if all(isinstance(read, (*_INDEXED, *_MOVING)) for read in nodes_of(plan)):
        return node.with_inputs((plan,))
    sunk = _in_source(node.with_inputs((plan,)))
    # What is left out of one branch would set it off against the others.
    return None if sunk is None or any(isinstance(read, Source) and read.skips for read in nodes_of(sunk)) else sunk


def _in_turns(node: Take | Skip | Shard, plan: Concatenate) -> Node | None:
    """Returns the same with a concatenation; the operation is done to each dataset as to what comes behind those before it."""
    branches, before = [], 0
    for dataset in plan.datasets:
        if before < 0:  # how many come before this one, only a run could tell
            return None
        branches.append(_in_branches(_after(node, before), dataset))
        count = dataset.cardinality()
        before = before + count if count >= 0 else count
    return _with_all(plan, branches)


def _with_all(plan: Node, branches: list[Node | None]) -> Node | None:
    found = tuple(branch for branch in branches if branch is not None)
    return plan.with_inputs(found) if len(found) == len(branches) else None


def _after(node: Take | Skip | Shard, before: int) -> Take | Skip | Shard:
    """Returns the operation on what comes after the first ``before`` elements."""
    if isinstance(node, Shard):
        return dataclasses.replace(node, index=(node.index - before) % node.num_shards)
    return node if node.count < 0 else dataclasses.replace(node, count=max(0, node.count - before))


def _keeps_numbers_small(node: Take | Skip | Shard, plan: Enumerate) -> bool:
    """Returns whether the numbers that ``_enumerated`` begins and goes on with are numbers that an enumerate may have."""
    most = max(node.index, node.num_shards) if isinstance(node, Shard) else node.count
    return plan.start + most <= plan.LAST_START


def _enumerated(node: Take | Skip | Shard, plan: Enumerate, branch: Node) -> Node:
    """Returns what is chosen with the numbers that it had before."""
    if isinstance(node, Shard):
        numbers = Range(start=plan.start + node.index, stop=None, step=node.num_shards, name=plan.name)
        return Zip(treedef=flatten((0, 0))[1], datasets=(numbers, branch), name=plan.name or plan.op)
    skipped = max(0, node.count) if isinstance(node, Skip) else 0
    return dataclasses.replace(plan, start=plan.start + skipped, input=branch)
