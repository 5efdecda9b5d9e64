"""What elements an ``on_error`` replaced is noted as it is called, wherever that is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from headrace.errors import HeadraceError
from headrace.observe.failures import Failures
from headrace.plan.elementwise import Map
from headrace.plan.node import Node
from headrace.plan.rewriting import rewrite

__all__ = ["noted", "noted_map"]


class _Noted:
    """Calls an ``on_error``, and notes the error that it replaced. Another process gets the function alone."""

    __slots__ = ("_failures", "func")

    def __init__(self, func: Callable[[HeadraceError], Any], failures: Failures) -> None:
        self.func = func
        self._failures = failures

    def __call__(self, error: HeadraceError) -> Any:
        instead = self.func(error)
        self._failures.note(error, "replaced")
        return instead

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.func,)


def _itself(function: Callable[[HeadraceError], Any]) -> Callable[[HeadraceError], Any]:
    return function


def noted_map(node: Map, failures: Failures) -> Map:
    """Returns a map whose replaced elements are noted."""
    if not callable(node.on_error) or isinstance(node.on_error, _Noted):
        return node
    return dataclasses.replace(node, on_error=_Noted(node.on_error, failures))


def noted(plan: Node, failures: Failures) -> Node:
    """Returns a plan in which elements that an ``on_error`` replaces are noted; the very same one where it has none."""

    def of(node: Node) -> Node:
        return noted_map(node, failures) if isinstance(node, Map) else node

    return rewrite(plan, of)
