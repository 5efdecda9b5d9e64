"""A plan as text, for people and for tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from headrace.arguments import AUTOTUNE
from headrace.observe.tables import printable
from headrace.plan.buffering import WithOptions
from headrace.plan.facts import fact
from headrace.plan.node import Node

__all__ = ["abridged_plan", "explain_plan", "name_of", "operations_in", "plan_lines"]

_MOST_INDENTED = 60
_TUNABLE = ("num_parallel_calls", "buffer_size")  # where -1 is AUTOTUNE, and no number


def explain_plan(plan: Node) -> str:
    """Returns one line a node, the last operation first, what it reads indented below it."""
    return "\n".join(line for line, _ in plan_lines(plan))


def plan_lines(plan: Node) -> Iterator[tuple[str, Node]]:
    """Yields these lines, each with its node."""
    return ((_line(node, depth), node) for depth, node in _from_the_end(plan))


def abridged_plan(plan: Node, lines: int) -> list[str]:
    """Returns the lines of ``explain_plan``, or ``lines`` of them: those of both ends, and between them how many are left out.

    It looks at no more of a plan than it shows, and is not stopped by one that is very deep.

    Args:
        plan: what is shown.
        lines: how many lines to give at most, 3 or more.
    """
    shown = list(itertools.islice(_from_the_end(plan), lines + 1))
    if len(shown) <= lines:
        return [_line(node, depth) for depth, node in shown]
    tail = (lines - 1) // 2
    head = shown[: lines - 1 - tail]
    # What was left out would push it out of sight.
    sources = list(itertools.islice(_from_the_sources(plan), tail))[::-1]
    gap = head[-1][0] + 1
    shift = gap + 1 - min(depth for depth, _ in sources)
    count = operations_in(plan) - len(head) - tail
    return [
        *(_line(node, depth) for depth, node in head),
        f"{'  ' * gap}… {count:,} more, see explain()",
        *(_line(node, depth + shift) for depth, node in sources),
    ]


def name_of(plan: Node) -> str:
    """Returns what a plan is called in few words: its first source and its last operation, without settings."""
    last = first = _without_settings(plan)
    while first.inputs:
        first = _without_settings(first.inputs[0])
    return last.label if first is last else f"{first.label} → {last.label}"


def _without_settings(node: Node) -> Node:
    while isinstance(node, WithOptions):
        node = node.input
    return node


@fact
def operations_in(_: Node, inputs: list[int]) -> int:
    """Returns how many lines ``explain_plan`` has; a part that a plan reads twice counts twice."""
    return 1 + sum(inputs)


def _from_the_end(plan: Node) -> Iterator[tuple[int, Node]]:
    """Yields each node and its depth, a node before those that it reads."""
    stack = [(0, plan)]
    while stack:
        depth, node = stack.pop()
        yield depth, node
        stack += [(depth + 1, child) for child in reversed(node.inputs)]


def _from_the_sources(plan: Node) -> Iterator[tuple[int, Node]]:
    """Yields the same from the last one back."""
    stack = [(0, plan, False)]
    while stack:
        depth, node, is_read = stack.pop()
        if is_read:
            yield depth, node
        else:
            stack.append((depth, node, True))
            stack += [(depth + 1, child, False) for child in node.inputs]


def _indented(depth: int) -> str:
    """Returns spaces; beyond what a screen shows a number in their place, or they would be many times the text."""
    return "  " * depth if depth <= _MOST_INDENTED else f"{'  ' * _MOST_INDENTED}({depth}) "


def _line(node: Node, depth: int) -> str:
    shown = ", ".join(
        f"{name}={'AUTOTUNE' if value == AUTOTUNE and name in _TUNABLE else _abridged(value)}"
        for name, value in node.parameters().items()
        if value is not None and name not in ("function", "predicate")
    )
    return _indented(depth) + printable(f"{node.label}{f' [{shown}]' if shown else ''}")


def _abridged(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} of them" if len(value) > 2 else ", ".join(map(str, value))
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
