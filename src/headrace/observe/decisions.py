"""What was decided while a run went on, each decision with its reason: how many workers an operation has, and how much lies ready.

It costs nothing while nothing is decided. Of a run that decides again and again the first decisions and the latest are kept.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from headrace.frozen import frozen
from headrace.observe.tables import printable, seconds

__all__ = ["BLOCKS", "THREADS", "WINDOW", "WORKERS", "Decision", "Decisions", "decision_lines"]

# What is decided: of a map, an interleave or a batch how many calls may run at once in workers, 0 where the thread that wants its
# elements makes them itself; and how many tasks may be under way.
WORKERS: Final = "workers"
WINDOW: Final = "window"
# Of a prefetch, whether it has a thread, and how many blocks may be ready.
THREADS: Final = "threads"
BLOCKS: Final = "buffer"
# How a run began tells as much as where it stands.
_FIRST: Final = 32
_LATEST: Final = 96
# Printed, so many of the latest tell where it stands.
_PRINTED: Final = 6


@frozen
class Decision:
    """One decision of AUTOTUNE.

    Attributes:
        stage: the operation, its function and its place.
        at_s: when it was made, in seconds since the run began.
        what: what it is about: ``"workers"`` (how many calls may run at once; 0 where the thread that wants the elements makes them
            itself), ``"window"`` (how many tasks may be under way or wait for their turn), ``"threads"`` (of a prefetch, which has one
            or none), or ``"buffer"`` (how many blocks a prefetch may have ready).
        before: how many there were.
        after: how many there are from then on.
        reason: why, with the figures that decided.
    """

    stage: str
    at_s: float
    what: str
    before: int
    after: int
    reason: str

    def __str__(self) -> str:
        return f"{seconds(self.at_s)} s  {self.stage}: {self.what} {self.before:,} → {self.after:,}: {self.reason}"


class Decisions:
    """Notes what is decided in one run; any thread may."""

    def __init__(self) -> None:
        self._begun_s = time.perf_counter()
        self._first: list[Decision] = []
        self._latest: deque[Decision] = deque(maxlen=_LATEST)

    def note(self, stage: str, what: str, before: int, after: int, reason: str) -> None:
        """Notes a decision, which is made now."""
        decision = Decision(stage, time.perf_counter() - self._begun_s, what, before, after, reason)
        if len(self._first) < _FIRST:
            self._first.append(decision)
        else:
            self._latest.append(decision)

    def all(self) -> tuple[Decision, ...]:
        """Returns the first that were made, and the latest."""
        return (*self._first, *self._latest)


def decision_lines(decisions: Sequence[Decision]) -> list[str]:
    """Returns the latest in words, a line each, below a line that says how many there were before; nothing where there are none."""
    if not decisions:
        return []
    before = len(decisions) - _PRINTED
    return [
        f"decided{f', after {before:,} before' * (before > 0)}:",
        *(f"  {printable(str(one))}" for one in decisions[-_PRINTED:]),
    ]
