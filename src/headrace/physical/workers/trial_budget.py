"""What experiments may cost: a part of the work that was done, so that they never take much of it, however short it is.

To try another way costs time where that way is slower, and nobody knows before. So the work comes first: a program of cheap
elements that ends soon sees no experiment, and a long one loses a few parts in a hundred to them, whatever they find.
"""

from __future__ import annotations

from typing import Final

__all__ = ["TrialBudget"]

# What experiments may take of the time. An experiment in a way that is twice as slow loses half of what it takes.
_SHARE: Final = 0.05
# Threads begin for it, and end after it; and a stage gives all that it holds before another one goes on.
_CHANGE_S: Final = 1e-3


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

    def affords(self, seconds: float) -> bool:
        """Returns whether there was enough work for one more experiment of so long."""
        return self._tried_s + seconds + _CHANGE_S <= _SHARE * self.worked_s
