"""Where the functions of a plan are called: in the process that runs it, or in processes of their own."""

from __future__ import annotations

from typing import Final

from headrace.arguments import AUTOTUNE
from headrace.plan.elementwise import Map, MapChain, RandomMap
from headrace.plan.nesting import Interleave
from headrace.plan.node import Node, nodes_of, parallel_calls_of
from headrace.plan.options import Options

__all__ = ["said_where", "wants_process"]

_IN_PROCESSES: Final = "in processes"
_WHERE_QUICKER: Final = "in processes, once that is measured to be quicker"
_HERE: Final = "in this process"


def wants_process(node: Node, options: Options) -> bool:
    """Returns whether the functions of an operation are to be called in processes."""
    if not isinstance(node, (Map, MapChain, RandomMap, Interleave)) or parallel_calls_of(node) is None:
        return False
    return (options.executor if node.executor is None else node.executor) == "process"


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
