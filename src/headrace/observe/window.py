"""What counters said about ten seconds ago, so that rates and percentiles are those of lately, and not since the start.

Who runs the pipeline notes what its counters say, about once a second and between two blocks; who looks takes the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Generic, TypeVar

__all__ = ["EVERY_S", "WINDOW_S", "Window"]

T = TypeVar("T")

# Long enough that a rate is calm, and short enough that it is of now.
WINDOW_S: Final = 10.0
# So often is noted what counters say: a window is at most so much longer than it should be.
EVERY_S: Final = 1.0


class Window(Generic[T]):
    """The latest readings of counters.

    One thread at a time notes them, and any may ask.

    Args:
        read: reads the counters, to be remembered.
        start: what they said at the start.
    """

    def __init__(self, read: Callable[[], T], start: T) -> None:
        self._read = read
        self._start = start
        self._readings: tuple[tuple[float, T], ...] = ()  # another tuple for each change: it is read in all threads
        self.due_s = math.inf  # when the next is to be noted

    def begin(self, now_s: float) -> None:
        """Begins, with counters that say what they said at the start."""
        self._readings = ((now_s, self._start),)
        self.due_s = now_s + EVERY_S

    def begin_here(self, now_s: float) -> None:
        """Begins anew with what the counters say now."""
        self._readings = ((now_s, self._read()),)
        self.due_s = now_s + EVERY_S

    def note(self, now_s: float) -> None:
        """Notes what the counters say; to be called when that is due."""
        readings = self._readings
        while len(readings) > 1 and readings[1][0] <= now_s - WINDOW_S:
            readings = readings[1:]
        self._readings = (*readings, (now_s, self._read()))
        self.due_s = now_s + EVERY_S

    def since(self, now_s: float) -> tuple[float, list[T]]:
        """Returns when the window begins, and what was noted from there on; the first is what the counters said then."""
        readings = self._readings or ((now_s, self._start),)
        first = max((index for index, (at_s, _) in enumerate(readings) if at_s <= now_s - WINDOW_S), default=0)
        return readings[first][0], [reading for _, reading in readings[first:]]
