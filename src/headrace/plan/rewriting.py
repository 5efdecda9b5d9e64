"""How a rule walks a plan."""

from __future__ import annotations

from collections.abc import Callable

from headrace.plan.node import Node

__all__ = ["rewrite"]


def rewrite(plan: Node, rule: Callable[[Node], Node]) -> Node:
    """Returns the plan with the rule applied to every node, sources first; the same object where nothing changed."""
    inputs = tuple(rewrite(child, rule) for child in plan.inputs)
    return rule(plan.with_inputs(inputs) if inputs else plan)
