"""What the stages of one run did, so far and lately."""

from __future__ import annotations

import functools
import itertools
import time
from typing import TYPE_CHECKING, Final

from headrace.observe.meter import START, Reading
from headrace.observe.window import Window
from headrace.physical.budget import Budget
from headrace.semantics.meters import Meters

if TYPE_CHECKING:
    from headrace.observe.lock_use import RunLockUse
    from headrace.observe.stats import StageStats

__all__ = ["RunFigures"]


def _readings(meters: Meters) -> tuple[Reading, ...]:
    return tuple(meter.reading(remembered=True) for meter in meters.all())


class RunFigures:
    """Reads the meters of a run.

    Args:
        meters: of its stages.
        budget: what these hold.
        lock_use: what was seen of Python's lock; None where nothing is to be seen.

    Attributes:
        window: what the meters said lately.
    """

    def __init__(self, meters: Meters, budget: Budget, lock_use: RunLockUse | None) -> None:
        self._meters = meters
        self._budget = budget
        self._lock_use = lock_use
        self.window: Final[Window[tuple[Reading, ...]]] = Window(functools.partial(_readings, meters), ())
        self._ended_s: float | None = None

    def begin(self, now_s: float | None = None) -> None:
        """Begins, now or at that time, with meters that have counted nothing yet."""
        self.window.begin(time.perf_counter() if now_s is None else now_s)

    def begin_window(self) -> None:
        """Lets rates, shares and times of an element be those from now on; in the thread that pulls."""
        self.window.begin_here(time.perf_counter())

    def end(self, now_s: float | None = None) -> None:
        """Lets time go on no more from now, or from that time; may be called again."""
        self._ended_s = self._ended_s or now_s or time.perf_counter()

    def stages(self) -> tuple[StageStats, ...]:
        """Returns what each stage did so far, sources first."""
        from headrace.observe.stats import stage_stats  # when somebody asks

        now_s = time.perf_counter() if self._ended_s is None else self._ended_s
        begin_s, noted = self.window.since(now_s)
        meters = self._meters.all()
        # Meters of plans that functions make come while the run goes on.
        of_each = itertools.zip_longest(*noted, [meter.reading() for meter in meters], fillvalue=START)
        held = self._budget.held_for()
        stages = (
            stage_stats(meter, readings, window_s=now_s - begin_s, held_bytes=held.get(id(meter), 0))
            for meter, readings in zip(meters, of_each, strict=True)
        )
        return tuple(stages) if self._lock_use is None else self._lock_use.told(stages)
