"""How deep a plan is, and the one place that makes room for it on Python's stack.

Everything that goes through a plan by calling itself (stages and streams that read, cursors that are written down, specs)
is Python alone, whose calls use memory and no stack of C. What bounds it then is the recursion limit, a number; so that a
plan is bounded by memory, the limit is raised to what the deepest plan needs. It is one for the whole process, and is never
made lower than it was.
"""

from __future__ import annotations

import sys
from typing import Final

from headrace.plan.facts import fact
from headrace.plan.node import Node

__all__ = ["depth_of", "limit_beside_plans", "make_room"]

# Calls for one node of a plan: reading takes three or four, and a look at the elements puts a node behind each.
_CALLS_A_NODE: Final = 12
# Plans up to this depth fit into the limit that Python begins with, beside what calls and is called.
_NEEDS_NO_ROOM: Final = 100
# So many operations are counted anew for each plan that they make, which is quicker than to remember their number:
# functions make such plans of elements by the thousand.
_COUNTED_ANEW: Final = 16


@fact
def depth_of(_: Node, inputs: list[int]) -> int:
    """Returns how many operations the longest way from a source to the end of the plan has."""
    return 1 + max(inputs, default=0)


class _Limit:
    """What was given to the plans, beside the limit that others set."""

    given = 0  # calls
    set_to = 0  # the limit that includes them


def make_room(plan: Node) -> None:
    """Raises Python's recursion limit by what a deep plan needs, beside what was allowed without it."""
    # Most plans that functions make have an operation or two over their sources: to see that must cost next to nothing.
    if plan.is_source:
        return
    for node in plan.inputs:
        for source in () if node.is_source else node.inputs:
            if not source.is_source:
                _make_room_counted(plan)
                return


def _make_room_counted(plan: Node) -> None:
    waiting = [*plan.inputs]
    looked_at = 0
    while waiting and looked_at < _COUNTED_ANEW:
        looked_at += 1
        waiting += waiting.pop().inputs
    if not waiting:
        return
    depth = depth_of(plan)
    if depth <= _NEEDS_NO_ROOM:
        return
    others = limit_beside_plans()
    calls = depth * _CALLS_A_NODE
    if sys.getrecursionlimit() < others + calls:
        sys.setrecursionlimit(others + calls)
        _Limit.given, _Limit.set_to = calls, others + calls


def limit_beside_plans() -> int:
    """Returns the recursion limit that the program has set, or began with: without the room that plans were given."""
    present = sys.getrecursionlimit()
    return present - _Limit.given if present == _Limit.set_to else present
