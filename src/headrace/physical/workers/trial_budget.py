"""What experiments may cost: a part of the work that was done, so that they never take much of it, however short it is.

To try another way costs time where that way is slower, and nobody knows before. So the work comes first: a program of cheap
elements that ends soon sees no experiment, and a long one loses a few parts in a hundred to them, whatever they find. Where it is
likely before that nothing is found, it loses as much less.
"""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["TrialBudget", "odds_of"]

# What experiments may take of the time. An experiment in a way that is twice as slow loses half of what it takes.
_SHARE: Final = 0.05
# Threads begin for it, and end after it; and a stage gives all that it holds before another one goes on.
_CHANGE_S: Final = 1e-3
# Who lets Python's lock go waits so long until others let him have it back, at least.
_LOCK_S: Final = 2e-5
_HAS_LOCK: Final[bool] = getattr(sys, "_is_gil_enabled", lambda: True)()


def odds_of(call_s: float) -> float:
    """Returns how likely it is, beside what takes long, that threads beside each other gain something by what takes so long a call.

    The shorter it is, the less: one of a microsecond could let the lock go only to wait much longer for it.
    """
    return min(1.0, call_s / _LOCK_S) if _HAS_LOCK else 1.0


class TrialBudget:
    """Counts the work and the experiments of one operation, over all its runs."""

    __slots__ = ("_tried_s", "worked_s")

    def __init__(self) -> None:
        self.worked_s = self._tried_s = 0.0

    def worked(self, seconds: float) -> None:
        """Counts work that was no experiment."""
        self.worked_s += seconds

    def trying(self, seconds: float) -> None:
        """Counts so much of an experiment that may never be over."""
        self._tried_s += seconds

    def tried(self, seconds: float) -> None:
        """Counts an experiment that took so long, and the change to it and back."""
        self._tried_s += seconds + _CHANGE_S

    def affords(self, seconds: float, odds: float = 1.0) -> bool:
        """Returns whether there was enough work for one more experiment of so long; the worse its odds are, the more is enough."""
        return self._tried_s + seconds + _CHANGE_S <= _SHARE * odds * self.worked_s
