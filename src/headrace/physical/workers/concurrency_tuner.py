"""How many calls of a map run at once, where that is left to headrace: one for each worker, or one.

Threads that need Python's lock most of the time only hand it to and fro, and a hand-over costs more than to read a small
file. No figure of one task tells that from waiting for a disk, where more threads are better: so both ways are measured,
what an element takes alone and what it takes beside others, and now and then again.

What was learned is kept as long as the function is: the next epoch begins with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Final

__all__ = ["ConcurrencyTuner"]

# A task that took so long says what an element takes; a shorter one is mostly the way there.
_MEASURABLE_S: Final = 1e-3
# What takes so long an element loses nothing by a hand-over, and would lose a whole one by being tried alone.
_SLOW_S: Final = 2e-2
# Tasks until the other way is tried again. Each time that nothing has changed it is left alone four times as long.
_FIRST_INTERVAL: Final = 64
_LAST_INTERVAL: Final = 4096
# How much faster than one thread two must be: they also take twice the processor.
_WORTH: Final = 1.1

_LEARNED: Final[weakref.WeakKeyDictionary[Any, int]] = weakref.WeakKeyDictionary()


class ConcurrencyTuner:
    """Decides how many tasks may run at once; ``now`` is the answer.

    Args:
        most: the number of workers.
        function: what is called.
    """

    def __init__(self, most: int, function: Callable[..., Any]) -> None:
        self._most = most
        self._function = function
        self._seconds = {1: 0.0, most: 0.0}  # an element's, alone and beside others
        self._interval = _FIRST_INTERVAL
        self._settled = _learned(function)  # the better way; None before both were tried
        self.now = self._settled or most
        self._left = _FIRST_INTERVAL if self._settled else most  # tasks until something is decided

    @property
    def is_trying(self) -> bool:
        """Whether what runs now is an experiment, which should be short."""
        return self.now != self._settled

    def observe(self, elements: int, seconds: float, beside: int) -> None:
        """Learns from a task: how many elements it made, in which time, and how many tasks could run at once."""
        if self._most == 1 or beside != self.now:
            return  # it was given when the other way was gone
        if self._settled is None and seconds < _MEASURABLE_S:
            return
        before = self._seconds[beside]
        self._seconds[beside] = seconds / elements if not before else (before + seconds / elements) / 2
        self._left -= 1
        if self._left <= 0:
            self._decide()

    def _decide(self) -> None:
        other = self._most if self.now == 1 else 1
        if self.is_trying and self._seconds[other]:
            self._settle(self._most if self._seconds[self._most] * _WORTH < self._most * self._seconds[1] else 1)
        elif self._seconds[self.now] > _SLOW_S:
            self._settle(self._most)
        else:
            self._seconds[other] = 0.0
            self.now, self._left = other, other  # a task for each worker tells

    def _settle(self, better: int) -> None:
        self._interval = min(4 * self._interval, _LAST_INTERVAL) if better == self._settled else _FIRST_INTERVAL
        self.now = self._settled = better
        self._left = self._interval
        _learn(self._function, better)


def _learned(function: Callable[..., Any]) -> int | None:
    try:
        return _LEARNED.get(function)
    except TypeError:  # nothing can refer to it weakly
        return None


def _learn(function: Callable[..., Any], calls: int) -> None:
    try:
        _LEARNED[function] = calls
    except TypeError:
        return
