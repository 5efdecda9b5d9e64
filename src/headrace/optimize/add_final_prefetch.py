"""A plan with parallel work ends in a prefetch: a thread drives it while the caller works on the last element."""

from __future__ import annotations

from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.node import Node, nodes_of, parallel_calls_of

__all__ = ["add_final_prefetch", "has_parallel_work"]


def add_final_prefetch(plan: Node) -> Node:
    """Adds a prefetch after a plan that has parallel work and does not end in one."""
    last = plan
    while isinstance(last, WithOptions):
        last = last.input
    if isinstance(last, Prefetch) or not has_parallel_work(plan):
        return plan
    return Prefetch(input=plan, operation=last.operation)  # of each run the same


def has_parallel_work(plan: Node) -> bool:
    """Returns whether some stage of the plan uses workers."""
    return any(parallel_calls_of(node) is not None for node in nodes_of(plan))
