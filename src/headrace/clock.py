"""Time as a parameter: what measures or waits is given a clock, so that no test sleeps.

``MONOTONIC`` is the real one. A test passes a ``Clock`` of its own and moves it by hand.
"""

from __future__ import annotations

import time
from typing import Final, Protocol

__all__ = ["MONOTONIC", "Clock", "MonotonicClock"]


class Clock(Protocol):
    """Tells the time in seconds since some fixed moment; it never goes back."""

    def now_s(self) -> float:
        """Returns the time now, in seconds."""
        ...


class MonotonicClock:
    """The system's clock that never goes back."""

    now_s = staticmethod(time.perf_counter)

    def __repr__(self) -> str:
        return "MonotonicClock()"


MONOTONIC: Final[Clock] = MonotonicClock()
