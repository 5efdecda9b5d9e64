"""The figures of an iterator: what its caller got, and how long it waited."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.observe.steps import StepMeter

if TYPE_CHECKING:
    from headrace.iterator.runs import AnyRun
    from headrace.observe.stats import IteratorStats

__all__ = ["Figures"]


class Figures:
    """What the caller of an iterator waited and computed, since the iterator was made.

    Args:
        now_s: tells the time.
    """

    __slots__ = ("_began_s", "_ended_s", "_now_s", "_step", "_wait_s")

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._began_s = now_s()
        self._ended_s: float | None = None
        self._wait_s = 0.0
        self._step = StepMeter(now_s)

    def got(self, asked_s: float, count: int) -> float:
        """Counts so many elements, asked for at that time; returns for how long the caller waited."""
        now_s = self._now_s()
        waited_s = now_s - asked_s
        self._wait_s += waited_s
        self._step.has(now_s, waited_s, count)
        return waited_s

    def got_error(self, asked_s: float) -> None:
        """Counts the wait for an error in place of an element."""
        self._wait_s += self._now_s() - asked_s

    def got_end(self, asked_s: float) -> None:
        """Counts the wait for the end."""
        self._step.ends(asked_s)
        self._wait_s += self._now_s() - asked_s

    def end(self) -> None:
        """Has the time end that the iterator takes, once."""
        self._ended_s = self._ended_s or self._now_s()

    def go_on(self) -> None:
        """Has it go on, from a state."""
        self._ended_s = None

    def stats(self, elements: int, run: AnyRun | None) -> IteratorStats:
        """Returns all figures, of so many elements that were delivered, with those of the run, if there is one."""
        from headrace.observe.stats import IteratorStats  # when somebody asks

        now_s = self._now_s() if self._ended_s is None else self._ended_s
        elapsed_s = now_s - self._began_s
        if run is None:
            return IteratorStats(
                elements=elements, wait_s=self._wait_s, elapsed_s=elapsed_s, stages=(), step=self._step.stats(now_s)
            )
        stages = run.stages()  # first: another process tells all the rest with them
        held_bytes, highest_held_bytes = run.held_bytes
        return IteratorStats(
            elements=elements,
            wait_s=self._wait_s,
            elapsed_s=elapsed_s,
            stages=stages,
            workers=run.workers,
            ram_budget_bytes=run.ram_budget_bytes,
            held_bytes=held_bytes,
            highest_held_bytes=highest_held_bytes,
            restarts=run.restarts,
            step=self._step.stats(now_s),
            failures=run.failures(),
            decisions=run.decisions(),
        )
