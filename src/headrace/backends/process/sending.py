"""Functions on their way to processes that call them: pickled with the one that prepares these, which may set their global variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

from headrace.plan.buffering import WithOptions, options_of
from headrace.plan.calling import wants_process
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.plan.sources import Range
from headrace.processes.segment import refuse_this_system
from headrace.processes.shipping import to_ship

__all__ = ["alone", "prepare", "shipped_functions"]

_NO_INPUT: Final = Range(start=0, stop=0, step=1)


def alone(node: Any) -> Any:
    """Returns an operation without what it reads, which is not sent."""
    return dataclasses.replace(node, input=_NO_INPUT)


def shipped_functions(init: Callable[[], object] | None, nodes: Sequence[Node], *values: Any) -> bytes:
    """Pickles values that are made of operations, together with the function that prepares a process.

    Raises:
        InvalidArgumentError: something in them cannot be pickled; the operation and the variable are named.
    """
    prepared = WithOptions(input=_NO_INPUT, options=Options(worker_init=init))
    return to_ship((init, *values), [*nodes, prepared])


def prepare(plan: Node) -> None:
    """Sees to it that all functions of a plan can be sent that processes are to call, before anything is read.

    Raises:
        InvalidArgumentError: one cannot; the variable is named.
        MissingExtraError: there are no such processes on this system.
    """
    refuse_this_system()
    options = options_of(plan)
    init = options.worker_init

    def seen() -> tuple[object, ...]:
        nodes = [alone(node) for node in nodes_of(plan) if wants_process(node, options)]
        shipped_functions(init, nodes, nodes)
        return (init,)  # as long as it is there, no other has its id

    plan.recall(("sendable", id(init), options.executor), seen)
