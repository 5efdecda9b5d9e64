"""The calls of one operation in one run, of which somebody asked for so many: all at once, or one after the other where that is quicker.

They begin as they were asked for. What decides whether an operation has workers (``ConcurrencyTuner``) then looks what one call at a
time brings; it is made in a worker, beside whatever the thread that reads does. What takes hardly longer than to hand it over is made
by that thread, as if nobody had asked.

Calls may wait for each other, as at a barrier, and one at a time would wait for ever. So none is left alone with that: where nothing
has come for a while, all others go on as they were asked for, and one at a time is not tried again for long. What is made by the
thread that reads comes too fast for calls that wait for other threads.
"""

from __future__ import annotations

import time
from typing import Final, TypeVar

from headrace.errors import DeadlineExceededError
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.queues.channel import Channel

__all__ = ["AskedCalls"]

T = TypeVar("T")

# Far longer than a task takes that is made alone, of which the longest are some hundredths.
_PATIENCE_S: Final = 0.25


class AskedCalls(TunedCalls):
    """Has as many at once as were asked for, or one."""

    def __init__(self, tuner: ConcurrencyTuner, workers: TunedWorkers, name: str) -> None:
        self._calls = workers.first  # at once in workers, now; none where the thread that reads makes them
        self._since_s = self._ended_s = time.perf_counter()
        super().__init__(tuner, workers, name)

    @property
    def now(self) -> int:
        """How many tasks may run at once; with 1 the thread that reads makes the elements."""
        return self._most if self._calls else 1

    def made(self, elements: int, start_s: float, seconds: float, cpu_s: float, placing_s: float) -> None:
        """Learns from a task of a worker, unless it began among others than there are now."""
        if self._calls != 1:
            if start_s >= self._since_s:
                super().made(elements, start_s, seconds, cpu_s, placing_s)
            return
        self.workers.made(elements, start_s, seconds, cpu_s)
        if start_s >= self._since_s and self.workers.calls == 1:
            # To place them is counted for the thread that reads, which would do that after its task.
            self.observe(elements, start_s, start_s + seconds - placing_s, 1, cpu_s)

    def ended(self) -> None:
        """Notes that a worker has ended a task; safe from any thread."""
        self._ended_s = time.perf_counter()

    def taken(self, done: Channel[T]) -> T | None:
        """Waits for what a worker has made; None where the only call does not come back, so that all of them are to go on."""
        while self.workers.calls == 1:
            try:
                return done.get(timeout_s=_PATIENCE_S)
            except DeadlineExceededError:
                if done.is_closed:  # the run has ended so
                    raise
            waited_s = time.perf_counter() - self._ended_s
            if waited_s >= _PATIENCE_S:
                self._tuner.gives_up(waited_s)
                self._note(self._tuner.reason)
                self.workers.limit(self._most)
                return None
        return done.get()

    def _note(self, reason: str) -> None:
        """Has as many calls as were decided on, and notes why."""
        before, calls = self._calls, self._wanted()
        if calls != before:
            self._calls = calls
            self._since_s = self._ended_s = time.perf_counter()
            self.workers.limit(calls or self._most)
            self.workers.begin()
            self.workers.note(before, calls, reason, self._name)

    def _wanted(self) -> int:
        """Returns how many are to run at once in workers from now on."""
        if self._tuner.now != 1:
            return self._most
        if self._calls != self._most:  # one at a time stays where it is
            return self._calls
        return 0 if self._tuner.is_quick else 1
