"""A clock that jumps: work seems to take long now and then, as on a machine that does much else.

What stages measure decides how they go on: where a block ends, what waits for what, who reads. So a plan that is run by such a clock goes the
ways that a busy machine takes it, and each time the same where one thread looks.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from headrace.clock import MonotonicClock

__all__ = ["Jumps", "LateClock", "QuickClock", "jumping", "jumps"]

# More than is done at once of datasets that functions make; more than a block takes; and more than a loop has patience for.
_JUMPS_S: Final = (1e-3, 5e-3, 5e-2)
# After so many looks they begin anew.
_LOOKS: Final = 256


@dataclass(frozen=True, slots=True)
class Jumps:
    """Which looks at the clock come late, and how much.

    Attributes:
        seed: of what decides.
        share: of the looks that come late.
    """

    seed: int | str
    share: float

    def after(self, now_s: Callable[[], float]) -> Callable[[], float]:
        """Returns a clock that jumps, over one that does not; neither goes back."""
        rng = random.Random(self.seed)
        late_s = list(
            itertools.accumulate(rng.choice(_JUMPS_S) if rng.random() < self.share else 0.0 for _ in range(_LOOKS))
        )
        looks = itertools.count()

        def jumped_s() -> float:
            rounds, look = divmod(next(looks), _LOOKS)
            return now_s() + rounds * late_s[-1] + late_s[look]

        return jumped_s


class LateClock(MonotonicClock):
    """The clock as stages see it, which may be one that jumps."""

    @staticmethod
    def now_s() -> float:
        """Returns the time now, in seconds."""
        return time.perf_counter()


class QuickClock(MonotonicClock):
    """A clock on which a moment is long, also in another process: what is done now and then is done at almost every block."""

    @staticmethod
    def now_s() -> float:
        """Returns the time now, in seconds of its own."""
        return 1e3 * time.perf_counter()


def jumps() -> st.SearchStrategy[Jumps]:
    """Few jumps, or one at every other look."""
    return st.builds(Jumps, st.integers(0, 15), st.sampled_from([0.02, 0.2, 0.5]))


@contextlib.contextmanager
def jumping(by: Jumps | None) -> Iterator[None]:
    """Has the time jump for everybody meanwhile."""
    if by is None:
        yield
        return
    real = time.perf_counter
    time.perf_counter = by.after(real)
    try:
        yield
    finally:
        time.perf_counter = real
