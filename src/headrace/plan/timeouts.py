"""How long a function may take on one element: what ``Options(timeout_s=)`` says for the maps that say nothing themselves; and a process to begin."""

from __future__ import annotations

import dataclasses
from typing import Final

from headrace.plan.elementwise import Map, RandomMap
from headrace.plan.node import Node, nodes_of
from headrace.plan.rewriting import rewrite

__all__ = ["preparing_s", "with_timeouts"]

# What takes its time once, as to import a framework or to load a model, may take longer than one element.
_LEAST_S: Final = 60.0


def with_timeouts(plan: Node, timeout_s: float | None) -> Node:
    """Returns the plan in which every map has a timeout; the very same plan where there is none to be given."""
    if timeout_s is None:
        return plan

    def timed(node: Node) -> Node:
        if isinstance(node, (Map, RandomMap)) and node.timeout_s is None:
            return dataclasses.replace(node, timeout_s=timeout_s)
        return node

    return rewrite(plan, timed)


def preparing_s(plan: Node, timeout_s: float | None) -> float | None:
    """Returns how long a process may take to start, to import what functions need, and to be prepared, each; None where nothing has a timeout."""
    maps = [node for node in nodes_of(plan) if isinstance(node, (Map, RandomMap))]
    found = [limit_s for limit_s in (timeout_s, *(node.timeout_s for node in maps)) if limit_s is not None]
    return max(_LEAST_S, *found) if found else None
