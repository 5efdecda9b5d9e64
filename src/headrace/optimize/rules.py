"""The rules, in the order in which they run.

The law on each: the same elements in the same order, or the plan unchanged, the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from headrace.optimize.add_final_prefetch import add_final_prefetch
from headrace.optimize.fuse_parallel_maps import fuse_parallel_maps
from headrace.optimize.fuse_prefetches import fuse_prefetches
from headrace.optimize.prefetch_after_repeat import prefetch_after_repeat
from headrace.optimize.shuffle_before_map import shuffle_before_map
from headrace.optimize.stack_columns_here import stack_columns_here
from headrace.optimize.stack_in_map import stack_in_map
from headrace.plan.node import Node

__all__ = ["RULES", "optimized", "rewritings"]

RULES: Final[tuple[Callable[[Node], Node], ...]] = (
    shuffle_before_map,  # first: maps on both sides of a shuffle become neighbours
    fuse_parallel_maps,  # before the prefetch, which would stand between nothing, but looks for parallel work
    stack_in_map,  # after what fuses maps: it looks at the last one before a batch
    prefetch_after_repeat,  # before what fuses prefetches: there may be another after the repeat
    fuse_prefetches,
    add_final_prefetch,  # to the end of whatever the plan has become
    stack_columns_here,  # last: who asked for parallel work has a prefetch, which also hides what takes no worker
)


def optimized(plan: Node, rules: tuple[Callable[[Node], Node], ...] = RULES) -> Node:
    """Returns the plan after all rules, or after those given.

    A plan remembers which rules change nothing of it, as each epoch asks, and one may take a millisecond.
    """
    for rule in rules:
        if plan.remembered(rule, default=False):
            continue
        before, plan = plan, rule(plan)
        if plan is before:
            plan.remember(rule, value=True)
    return plan


def rewritings(plan: Node, rules: tuple[Callable[[Node], Node], ...] = RULES) -> Iterator[tuple[str, Node, Node]]:
    """Yields each rule that changes the plan, by its name, with the plan before and after it."""
    for rule in rules:
        before, plan = plan, rule(plan)
        if plan is not before:
            yield rule.__name__, before, plan
