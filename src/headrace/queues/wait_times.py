"""How long producers and consumers waited, kept in constant space.

Most hand-offs do not wait at all, so only real waits are recorded and the others are counted; percentiles are those of
``durations``. Recording appends to a deque, which is atomic, so the thread that has just been woken needs no lock for it; who
holds the lock of the channel folds the deque into the buckets.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

from headrace.durations import Durations
from headrace.frozen import frozen

__all__ = ["FOLD_AT", "WaitRecorder", "WaitTimes"]

FOLD_AT: Final = 256  # waits not yet in buckets: so that a channel that nobody looks at stays small


@frozen
class WaitTimes:
    """What calls of one side of a channel waited, in seconds; calls that did not wait count as 0.

    Attributes:
        calls: finished calls, those that did not have to wait among them.
        waited: calls that had to wait.
        total_s: the sum of all waits.
        p50_s: half of the calls waited no longer than this (within ten per cent).
        p95_s: as many as 95 % of the calls.
        p99_s: as many as 99 % of the calls.
        max_s: the longest wait, exactly.
    """

    calls: int = 0
    waited: int = 0
    total_s: float = 0.0
    p50_s: float = 0.0
    p95_s: float = 0.0
    p99_s: float = 0.0
    max_s: float = 0.0


class WaitRecorder:
    """Collects waits. Anybody may append one, in seconds, to ``fresh``; the methods want the channel's lock."""

    __slots__ = ("_waits", "fresh")

    def __init__(self) -> None:
        self.fresh: deque[float] = deque()
        self._waits = Durations()

    def summary(self, calls: int) -> WaitTimes:
        """Returns the percentiles over ``calls`` calls, of which those not recorded waited 0 seconds."""
        self.fold()
        waits = self._waits.reading()
        calls = max(calls, waits.counted)
        # Those that did not wait come first.
        ranks = [math.ceil(share * calls) - (calls - waits.counted) for share in (0.50, 0.95, 0.99)]
        at_ranks = waits.at_ranks([rank for rank in ranks if rank > 0])
        p50_s, p95_s, p99_s = [0.0] * (len(ranks) - len(at_ranks)) + at_ranks
        return WaitTimes(calls, waits.counted, waits.total_s, p50_s, p95_s, p99_s, waits.longest_s)

    def fold(self) -> None:
        """Puts what was recorded since into the buckets."""
        while self.fresh:
            self._waits.add(self.fresh.popleft())
