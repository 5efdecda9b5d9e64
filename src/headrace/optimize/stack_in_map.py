"""A batch directly after a parallel map is stacked by the map's workers: each writes what it makes where it will lie."""

from __future__ import annotations

import dataclasses

from headrace.plan.elementwise import Map, MapChain, RandomMap
from headrace.plan.grouping import Batch
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite

__all__ = ["stack_in_map"]


def stack_in_map(plan: Node) -> Node:
    """Tells parallel maps the size of the batches after them."""
    return rewrite(plan, _told)


def _told(node: Node) -> Node:
    # Not the other batches: what they stack is padded first, or has no one shape.
    if type(node) is not Batch or not isinstance(node.input, (Map, MapChain, RandomMap)):
        return node
    if not _gives_one_for_one(node.input) or node.input.stacked == node.batch_size:
        return node
    return node.with_inputs((dataclasses.replace(node.input, stacked=node.batch_size),))


def _gives_one_for_one(node: Map | MapChain | RandomMap) -> bool:
    return (
        node.num_parallel_calls is not None
        and node.deterministic is not False
        and not (isinstance(node, Map) and node.skips)
    )
