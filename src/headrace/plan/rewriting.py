"""How a rule walks a plan."""

from __future__ import annotations

from collections.abc import Callable

from headrace.plan.node import Node, nodes_of

__all__ = ["rewrite"]


def rewrite(plan: Node, rule: Callable[[Node], Node]) -> Node:
    """Returns the plan with the rule applied to every node, sources first; the same object where nothing changed."""
    rewritten: list[Node] = []
    for node in nodes_of(plan):
        first = len(rewritten) - len(node.inputs)
        inputs = tuple(rewritten[first:])
        rewritten[first:] = [rule(node.with_inputs(inputs) if inputs else node)]
    return rewritten[0]
