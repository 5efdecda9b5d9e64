"""Where the functions of a plan are called: in the process that runs it, or in processes of their own."""

from __future__ import annotations

import dataclasses
from typing import Final

from headrace.arguments import AUTOTUNE
from headrace.machine import current_share
from headrace.plan.elementwise import Map, MapChain, RandomMap
from headrace.plan.nesting import Interleave
from headrace.plan.node import Node, nodes_of, parallel_calls_of
from headrace.plan.options import Options
from headrace.plan.rewriting import rewrite

__all__ = ["prepared_alone", "said_where", "wants_process", "wants_processes"]

_IN_PROCESSES: Final = "in processes"
_WHERE_QUICKER: Final = "in processes, once that is measured to be quicker"
_HERE: Final = "in this process"


def wants_process(node: Node, options: Options) -> bool:
    """Returns whether the functions of an operation are to be called in processes."""
    if not isinstance(node, (Map, MapChain, RandomMap, Interleave)) or parallel_calls_of(node) is None:
        return False
    return (options.executor if node.executor is None else node.executor) == "process"


def wants_processes(plan: Node, options: Options) -> bool:
    """Returns whether any functions of a plan are to be called in processes."""
    return any(wants_process(node, options) for node in nodes_of(plan))


def prepared_alone(plan: Node, options: Options) -> Node:
    """Returns the plan in which no function is called in this process that only others are prepared for, by ``worker_init``.

    Where headrace chooses between this process and others, it has one for each core instead.
    """
    if options.worker_init is None:
        return plan

    def there(node: Node) -> Node:
        if isinstance(node, (Map, RandomMap)) and wants_process(node, options) and parallel_calls_of(node) == AUTOTUNE:
            return dataclasses.replace(node, num_parallel_calls=current_share().cores)
        return node

    return rewrite(plan, there)


def said_where(plan: Node, options: Options) -> list[str]:
    """Returns a line for each place where functions of a plan are called; none where nobody asked for processes."""
    places: dict[str, dict[str, None]] = {_IN_PROCESSES: {}, _WHERE_QUICKER: {}, _HERE: {}}
    for node in nodes_of(plan):
        if _calls_functions(node):
            places[_where(node, options)][node.label] = None
    own = places.pop(_HERE)
    lines = [f"{where}: {', '.join(labels)}" for where, labels in places.items() if labels]
    if options.executor == "subprocess":
        lines.append(f"in a process beside this one: {'everything else' if lines else 'everything'}")
    elif own and (lines or options.executor == "process"):
        lines.append(f"{_HERE}: {', '.join(own)}")
    return lines


def _where(node: Node, options: Options) -> str:
    if not wants_process(node, options):
        return _HERE
    return _WHERE_QUICKER if parallel_calls_of(node) == AUTOTUNE else _IN_PROCESSES


def _calls_functions(node: Node) -> bool:
    return isinstance(node, MapChain) or any(callable(getattr(node, name, None)) for name in ("function", "predicate"))
