"""How long a function may take on one element: what ``Options(timeout_s=)`` says for the maps that say nothing themselves."""

from __future__ import annotations

import dataclasses

from headrace.plan.elementwise import Map, RandomMap
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite

__all__ = ["with_timeouts"]


def with_timeouts(plan: Node, timeout_s: float | None) -> Node:
    """Returns the plan in which every map has a timeout; the very same plan where there is none to be given."""
    if timeout_s is None:
        return plan

    def timed(node: Node) -> Node:
        if isinstance(node, (Map, RandomMap)) and node.timeout_s is None:
            return dataclasses.replace(node, timeout_s=timeout_s)
        return node

    return rewrite(plan, timed)
