"""A plan with a change that the model proposed: what was written, with another word in one place."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from headrace.analysis.changes import Change, Way
from headrace.arguments import AUTOTUNE
from headrace.errors import InternalError, InvalidArgumentError
from headrace.plan.buffering import Cache, Prefetch, WithOptions, options_of
from headrace.plan.node import Node
from headrace.plan.options import Options
from headrace.plan.rewriting import rewrite

__all__ = ["applied", "words_for"]

# What does nothing in a plan whose operations run in the thread of their consumer.
_WITH_THREADS: Final = (Way.CALLS, Way.PROCESSES, Way.PREFETCH, Way.HOLD)


def words_for(change: Change, written: Node) -> str:
    """Returns what is to be written."""
    words = _words(change)
    return words if not _needs_threads(change, written) else f'{words} and Options(executor="thread")'


def _words(change: Change) -> str:
    match change.way:
        case Way.CALLS:
            return f"num_parallel_calls={change.number}"
        case Way.PROCESSES:
            return f'num_parallel_calls={change.number}, executor="process"'
        case Way.HOLD:
            return f".prefetch({change.number})"
        case Way.BUDGET:
            return f"Options(ram_budget={-(-(change.number or 0) >> 20)} << 20)"
        case Way.THREADS:
            return 'Options(executor="thread")'
        case Way.PREFETCH:
            return ".prefetch(hr.AUTOTUNE)"
        case Way.CACHE:
            return ".cache()"
        case Way.SUBPROCESS:
            return 'Options(executor="subprocess")'


def applied(written: Node, change: Change, running: Node | None) -> Node | None:
    """Returns the plan with the change; None where it is of no operation that was written, or would be refused, as a cache among streams.

    Args:
        written: the plan as its user wrote it.
        change: what to change.
        running: the node of the plan as it ran that is changed; None where it is all of it.
    """
    try:
        plan = _of_all(written, change) or _of_one(written, change, running)
    except InvalidArgumentError:
        return None
    if plan is written:
        return None
    return WithOptions(input=plan, options=Options(executor="thread")) if _needs_threads(change, written) else plan


def _needs_threads(change: Change, written: Node) -> bool:
    """Returns whether the plan has no threads, and the change brings something with them alone."""
    return options_of(written).executor == "inline" and change.way in _WITH_THREADS


def _of_all(written: Node, change: Change) -> Node | None:
    """Returns the plan with what stands at its end; None where the change is of one operation."""
    match change.way:
        case Way.PREFETCH:
            return Prefetch(input=written)
        case Way.HOLD:
            return Prefetch(input=written, buffer_size=change.number or AUTOTUNE)
        case Way.BUDGET:
            return WithOptions(input=written, options=Options(ram_budget=change.number))
        case Way.THREADS:
            return WithOptions(input=written, options=Options(executor="thread"))
        case Way.SUBPROCESS:
            return WithOptions(input=Prefetch(input=written), options=Options(executor="subprocess"))
        case _:
            return None


def _of_one(written: Node, change: Change, running: Node | None) -> Node:
    if running is None:
        raise InternalError(f"{change.way} changes one operation")
    last = running.operations[-1]
    return rewrite(written, lambda node: _changed(node, change) if last in node.operations else node)


def _changed(node: Node, change: Change) -> Node:
    if change.way is Way.CACHE:
        return Cache(input=node)
    words: dict[Way, dict[str, Any]] = {
        Way.CALLS: {"num_parallel_calls": change.number},
        Way.PROCESSES: {"num_parallel_calls": change.number, "executor": "process"},
    }
    return dataclasses.replace(node, **words[change.way])
