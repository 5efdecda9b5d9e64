"""A plan as text, for people and for tests."""

from __future__ import annotations

from headrace.arguments import AUTOTUNE
from headrace.plan.node import Node

__all__ = ["explain_plan"]

_TUNABLE = ("num_parallel_calls", "buffer_size")  # where -1 is AUTOTUNE, and no number


def explain_plan(plan: Node) -> str:
    """One line a node, the last operation first, what it reads indented below it."""
    return "\n".join(_lines(plan, depth=0))


def _lines(node: Node, *, depth: int) -> list[str]:
    shown = ", ".join(
        f"{name}={'AUTOTUNE' if value == AUTOTUNE and name in _TUNABLE else _abridged(value)}"
        for name, value in node.parameters().items()
        if value is not None and name not in ("function", "predicate")
    )
    line = f"{'  ' * depth}{node.label}{f' [{shown}]' if shown else ''}"
    return [line, *(text for child in node.inputs for text in _lines(child, depth=depth + 1))]


def _abridged(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} of them" if len(value) > 2 else ", ".join(map(str, value))
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
