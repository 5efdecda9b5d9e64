"""Until when a process may be at what it is at, for the one who waits for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from headrace.processes.progress import At, Phase, Progress

__all__ = ["Deadlines", "Late"]


class Late(NamedTuple):
    """What took too long.

    Attributes:
        phase: what the process did.
        limit_s: how long it might.
        at: the element that a function was called on; None before it works.
    """

    phase: Phase
    limit_s: float
    at: At | None


class Deadlines:
    """Those of one call.

    Args:
        progress: what the process says that it is at.
        limits_s: how long each function may take on one element; None is as long as it takes.
        preparing_s: how long the process may take for what comes before, each.
    """

    def __init__(self, progress: Progress, limits_s: Sequence[float | None], preparing_s: float) -> None:
        self._progress = progress
        self._limits_s = limits_s
        self._preparing_s = preparing_s
        # Something may begin at any time that is to be seen.
        self._shortest_s = min((one for one in limits_s if one is not None), default=preparing_s)
        self._at: At | None = None
        self._phase, self._since_s = progress.phase, time.monotonic()

    def left_s(self) -> float:
        """Returns how long to wait before ``passed`` is asked."""
        phase, self._at = self._progress.phase, self._progress.at
        now_s = time.monotonic()
        if phase is not self._phase:
            self._phase, self._since_s = phase, now_s
        if phase is not Phase.WORKING:
            return max(0.0, min(self._since_s + self._preparing_s - now_s, self._shortest_s))
        return self._shortest_s if self._at is None else max(0.0, self._until_s(self._at) - now_s)

    def passed(self) -> Late | None:
        """Returns what takes too long, of what was seen when it was asked how long to wait; None where nothing does."""
        now_s, at = time.monotonic(), self._at
        if self._phase is not Phase.WORKING:
            is_late = self._progress.phase is self._phase and now_s >= self._since_s + self._preparing_s
            return Late(self._phase, self._preparing_s, None) if is_late else None
        if at is None or now_s < self._until_s(at) or self._progress.at != at:
            return None
        return Late(self._phase, self._limit_s(at), at)

    def _limit_s(self, at: At) -> float:
        limit_s = self._limits_s[at.link]
        assert limit_s is not None  # only maps that have one say what they are at
        return limit_s

    def _until_s(self, at: At) -> float:
        return at.since_s + self._limit_s(at)
