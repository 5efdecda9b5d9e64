"""A plan with a change that the model proposed: what was written, with another word in one place."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace.analysis.changes import Change, Way
from headrace.errors import InternalError
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.plan.rewriting import rewrite

__all__ = ["applied", "may_apply", "words_for"]


def words_for(change: Change) -> str:
    """Returns what is to be written."""
    match change.way:
        case Way.CALLS:
            return f"num_parallel_calls={change.calls}"
        case Way.PROCESSES:
            return f'num_parallel_calls={change.calls}, executor="process"'
        case Way.PREFETCH:
            return ".prefetch(hr.AUTOTUNE)"
        case Way.CACHE:
            return ".cache()"
        case Way.SUBPROCESS:
            return 'Options(executor="subprocess")'


def applied(written: Node, change: Change, running: Node | None) -> Node:
    """Returns the plan with the change.

    Args:
        written: the plan as its user wrote it.
        change: what to change.
        running: the node of the plan as it ran that is changed; None where it is all of it.
    """
    if change.way is Way.PREFETCH:
        return Prefetch(input=written)
    if change.way is Way.SUBPROCESS:
        return WithOptions(input=Prefetch(input=written), options=Options(executor="subprocess"))
    if running is None:
        raise InternalError(f"{change.way} changes one operation")
    last = running.operations[-1]
    return rewrite(written, lambda node: _changed(node, change) if last in node.operations else node)


def may_apply(written: Node, running: Node) -> bool:
    """Returns whether an operation of the plan as it ran is one that was written."""
    return any(running.operations[-1] in node.operations for node in nodes_of(written))


def _changed(node: Node, change: Change) -> Node:
    if change.way is Way.CACHE:
        return Cache(input=node)
    words: dict[Way, dict[str, Any]] = {
        Way.CALLS: {"num_parallel_calls": change.calls},
        Way.PROCESSES: {"num_parallel_calls": change.calls, "executor": "process"},
    }
    return dataclasses.replace(node, **words[change.way])
