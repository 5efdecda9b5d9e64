"""What a training loop waited for, step by step: live recorders inside, frozen snapshots outside."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections import deque
from typing import Final

from headrace.observe.meter import IteratorStats
from headrace.queues.wait_times import WaitRecorder, WaitTimes

__all__ = ["FeedStats", "StepTimes", "own_rank"]

# Steps whose times are kept one by one: enough for a plot, and small; percentiles are over all of them.
_KEPT_STEPS: Final = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class FeedStats:
    """What a feed did so far.

    Attributes:
        rank: the number of this process in a distributed job, 0 alone.
        steps: how many elements the loop got.
        waits_s: how long each of the last thousand steps waited, in seconds, oldest first.
        copies_s: how long each of the last copies to the device took, in seconds; empty where nothing is copied.
        wait: percentiles over all steps.
        copy: percentiles over all copies.
        elapsed_s: seconds since the feed was made.
        pipeline: what the dataset's own stages did.
    """

    rank: int
    steps: int
    waits_s: tuple[float, ...]
    copies_s: tuple[float, ...]
    wait: WaitTimes
    copy: WaitTimes
    elapsed_s: float
    pipeline: IteratorStats

    @property
    def wait_share(self) -> float:
        """The part of the elapsed time that the loop spent waiting, from 0 to 1."""
        return self.wait.total_s / self.elapsed_s if self.elapsed_s > 0 else 0.0


class StepTimes:
    """Collects the times of steps; any thread may add one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[float] = deque(maxlen=_KEPT_STEPS)
        self._recorder = WaitRecorder()
        self._count = 0

    def add(self, seconds: float) -> None:
        """Counts one step, or one copy."""
        with self._lock:
            self._count += 1
            self._recent.append(seconds)
            self._recorder.fresh.append(seconds)
            self._recorder.fold()

    @property
    def recent_s(self) -> tuple[float, ...]:
        """The last ones, oldest first."""
        with self._lock:
            return tuple(self._recent)

    def summary(self) -> WaitTimes:
        """Percentiles over all."""
        with self._lock:
            return self._recorder.summary(self._count)


def own_rank() -> int:
    """The number of this process in a distributed job, by the variable that launchers set; 0 alone."""
    text = os.environ.get("RANK", "0")
    return int(text) if text.isdigit() else 0
