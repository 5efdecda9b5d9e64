"""The machine's pace: a core whose host serves others, or that grew warm, runs slower, and no load tells it.

House rules. A lap is always the same work, and so short that it does not disturb; it is run between what is measured. It is a small loop and
a large program, Python's own compiler: where caches are shared, large programs can lose all of their pace while small loops lose
none. They do not lose alike, so a slow time is not made good by a ratio: it is said, and what was measured in it is measured again where
that is possible.
"""

from __future__ import annotations

import fractions
import inspect
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Final

_TIMES: Final = 5
_STEPS: Final = 10_000
_PROGRAM: Final = inspect.getsource(fractions)  # a long one
# Laps of a quiet machine differ by a few parts in a hundred.
SLOW: Final = 1.15


def lap_s() -> float:
    """How long the fixed work takes now, in seconds: the middle of five."""
    return median(_work_s() for _ in range(_TIMES))


def _work_s() -> float:
    started_s, total = time.perf_counter(), 0
    for number in range(_STEPS):
        total += number * number & 3
    compile(_PROGRAM, "<lap>", "exec")
    return time.perf_counter() - started_s


@dataclass(slots=True)
class Pace:
    """The laps of one run."""

    laps_s: list[float] = field(default_factory=list)  # how long each took, in order

    def lap(self) -> float:
        """Run a lap, and keep and return how long it took, in seconds."""
        self.laps_s.append(lap_s())
        return self.laps_s[-1]

    @property
    def slow_share(self) -> float:
        """The part of the laps that were slow beside the fastest."""
        return sum(self.is_slow(lap) for lap in self.laps_s) / max(len(self.laps_s), 1)

    def is_slow(self, lap: float) -> bool:
        """Whether a lap was slow beside the fastest."""
        return lap > SLOW * min(self.laps_s, default=lap)
