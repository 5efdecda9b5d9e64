"""What stands behind ``distributed_batch``, and works on the batches of one rank."""

from __future__ import annotations

import dataclasses
from typing import Final

from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.dealt import dealing_of
from headrace.plan.elementwise import Enumerate, Filter, Map, RandomMap
from headrace.plan.grouping import Batch
from headrace.plan.node import Node, nodes_of
from headrace.plan.rewriting import rewrite
from headrace.plan.sequencing import Repeat, Skip, Take
from headrace.plan.skipping import IgnoreErrors
from headrace.plan.stateful import AssertCardinality, TakeWhile

__all__ = ["holding_batches", "in_order"]

# What goes from batch to batch: its position is that of the dealing and some numbers, which all ranks have alike.
_PASSING: Final = (
    Map, RandomMap, Filter, Enumerate, Take, Skip, Repeat, TakeWhile, Batch, IgnoreErrors, AssertCardinality, Prefetch, WithOptions,
)  # fmt: skip


def holding_batches(plan: Node) -> list[Node]:
    """Lists the operations behind the dealing that hold batches of a rank, so that only this rank can go on from there."""
    return [node for node in nodes_of(plan) if _is_behind(node) and not isinstance(node, _PASSING)]


def in_order(plan: Node) -> Node:
    """Returns the plan with maps of batches that keep their order: the ranks' batches of a step belong together."""

    def ordered(node: Node) -> Node:
        if isinstance(node, (Map, RandomMap)) and node.num_parallel_calls is not None and _is_behind(node):
            return dataclasses.replace(node, deterministic=True)
        return node

    return rewrite(plan, ordered)


def _is_behind(node: Node) -> bool:
    return not node.deals and dealing_of(node) is not None
