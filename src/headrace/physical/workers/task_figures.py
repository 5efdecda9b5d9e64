"""What tasks of an operation took, together: of those that run at once as well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

__all__ = [
    "Task",
    "covered_s",
    "ended_rounds",
    "left_s",
    "made",
    "quickest_s",
    "share_of",
    "slowest_s",
    "together_s",
    "whole_rounds",
]

# From when to when, how many elements, with a processor for how long, and of that to place them.
Task: TypeAlias = tuple[float, float, int, float, float]


def together_s(tasks: Iterable[Task]) -> float:
    """Returns how long tasks took, all of them together."""
    return sum(end_s - start_s for start_s, end_s, *_ in tasks)


def left_s(tasks: Iterable[Task]) -> float:
    """Returns how long their reader was at what is left to it, which may be nearly all."""
    return sum(max(0.0, -placing_s) for *_, placing_s in tasks)


def made(tasks: Iterable[Task]) -> int:
    """Returns how many elements tasks made."""
    return sum(elements for _, _, elements, *_ in tasks)


def quickest_s(tasks: Iterable[Task]) -> float:
    """Returns what an element takes, by itself, in the task in which it takes the shortest time."""
    return min(((end_s - start_s) / elements for start_s, end_s, elements, *_ in tasks), default=0.0)


def slowest_s(tasks: Iterable[Task]) -> float:
    """Returns what an element takes, by itself, in the task in which it takes longest."""
    return max(((end_s - start_s) / elements for start_s, end_s, elements, *_ in tasks), default=0.0)


def share_of(tasks: Sequence[Task]) -> float:
    """Returns what part of the time is spent on tasks that run one after the other."""
    whole_s = tasks[-1][1] - tasks[0][1]
    return together_s([*tasks][1:]) / whole_s if whole_s > 0 else 1.0


def whole_rounds(tasks: list[Task]) -> list[Task]:
    """Returns tasks that ran at once without those that ended with the first, and those that began with the latest.

    Of these some are not known: they were forgotten, or are on their way. Few tasks are an experiment, and all of it.
    """
    if not tasks:
        return tasks
    moment_s = together_s(tasks) / len(tasks) / 2
    first_s, last_s = min(task[1] for task in tasks), max(task[0] for task in tasks)
    whole = [task for task in tasks if task[1] > first_s + moment_s and task[0] < last_s - moment_s]
    return whole if 2 * len(whole) >= len(tasks) else tasks


def ended_rounds(tasks: list[Task], way: int) -> list[Task]:
    """Returns tasks of which so many ran at once, without those that began with the latest, if others of these are on their way."""
    moment_s = together_s(tasks) / len(tasks) / 2
    last_s = max(task[0] for task in tasks) - moment_s
    before = [task for task in tasks if task[0] < last_s]
    return before if before and len(tasks) - len(before) < way else tasks


def covered_s(tasks: Iterable[Task]) -> float:
    """Returns how long any of the tasks ran: time in which several do counts once.

    A task that needs Python's lock takes no longer beside others, once it has begun: it begins when they have ended.
    """
    covered_s, until_s = 0.0, -math.inf
    for start_s, end_s, *_ in sorted(tasks):
        covered_s += max(0.0, end_s - max(start_s, until_s))
        until_s = max(until_s, end_s)
    return covered_s
