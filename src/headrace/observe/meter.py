"""Counters of stages.

What always holds: a stage counts once a block, never once an element, so watching costs next to nothing. Live meters stay
inside; readers get frozen figures (``observe.stats``).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Final

from headrace.durations import NOTHING, Durations, DurationsReading
from headrace.frozen import frozen
from headrace.observe.folded import AT_ONCE, Folded, drained

__all__ = ["START", "Gauge", "Meter", "Reading"]


@frozen
class Reading:
    """What a meter has counted up to a moment. What each figure means stands in ``StageStats``."""

    elements: int = 0
    busy_s: float = 0.0
    wait_s: float = 0.0
    input_wait_s: float = 0.0
    room_wait_s: float = 0.0
    service: DurationsReading = NOTHING
    cpu_s: float = 0.0  # of the work that was looked at
    cpu_of_s: float = 0.0  # how long that work took
    buffered: int = 0
    buffered_bytes: int = 0
    # The least and the most since the reading before that was to be remembered.
    buffered_low: int = 0
    buffered_high: int = 0


START: Final = Reading()


# Elements delivered, elements that the work was for; seconds of work, of waiting for workers or a buffer, for the inputs, for room.
_Record = tuple[int, int, float, float, float, float]
_Sums = tuple[int, float, float, float, float]  # of all these, but the second


class Meter(Folded[_Record]):
    """The counters of one plan node in one run, for all the stages that it becomes, whatever threads they are in.

    Attributes:
        name: the operation, its function and its place.
        calls: how many of its calls may run at once.
        outer: of the operation whose function makes the plan in which it stands; None of the plan itself.
        element_nbytes: about how many bytes the latest elements had that were looked at; 0 where none was.
        cpu_due_s: when to look next how much of its work is the processor's, which costs more than a look at the clock.
    """

    __slots__ = (
        "_buffered",
        "_counted",
        "_cpu",
        "_drawn",
        "_fresh_buffered",
        "_fresh_cpu",
        "_lock",
        "_service",
        "_sources",
        "calls",
        "cpu_due_s",
        "element_nbytes",
        "failed",
        "name",
        "outer",
        "restarts",
        "short_s",
        "unkept",
    )

    def __init__(self, name: str, outer: Meter | None = None) -> None:
        super().__init__()
        self.name = name
        self.outer = outer
        self.calls = 1
        self.cpu_due_s = 0.0
        self.failed = 0
        self.restarts = 0
        self.unkept = 0
        self.element_nbytes = 0.0
        self.short_s = 0.0
        self._fresh_cpu: deque[tuple[float, float]] = deque()
        self._fresh_buffered: deque[tuple[int, int]] = deque()
        self._counted: _Sums = (0, 0.0, 0.0, 0.0, 0.0)
        self._cpu = (0.0, 0.0)
        self._buffered = (0, 0, 0, 0)  # elements, bytes, and the least and the most elements since they were told
        self._service = Durations()
        self._sources: list[str] = []  # of an operation that mixes datasets
        self._drawn: list[int] = []
        self._lock = threading.Lock()

    # ---- counting

    def count(
        self,
        *,
        elements: int = 0,
        served: int = 0,
        busy_s: float = 0.0,
        wait_s: float = 0.0,
        input_wait_s: float = 0.0,
        room_wait_s: float = 0.0,
    ) -> None:
        """Counts what was done at once: a block, a task, or a wait; what ``add`` counts in one record.

        Args:
            elements: how many were delivered.
            served: how many the work was for.
            busy_s: seconds of work.
            wait_s: seconds that who asks for elements waited for workers or a buffer.
            input_wait_s: seconds that the inputs took.
            room_wait_s: seconds that who makes elements waited until some were taken.
        """
        self.add((elements, served, busy_s, wait_s, input_wait_s, room_wait_s))

    def count_cpu(self, cpu_s: float, of_s: float) -> None:
        """Counts how long the processor took for a piece of the work, and how long that took in all."""
        self._fresh_cpu.append((cpu_s, of_s))

    def count_buffered(self, elements: int, nbytes: int) -> None:
        """Counts elements that are held from now on, or with negative numbers no more."""
        self._fresh_buffered.append((elements, nbytes))
        if len(self._fresh_buffered) >= AT_ONCE:
            self._fold_if_free()

    def count_skipped(self, count: int) -> None:
        """Counts elements that were skipped because they had failed."""
        with self._lock:
            self.failed += count

    def count_restart(self) -> None:
        """Counts a process that died and was replaced."""
        with self._lock:
            self.restarts += 1

    def count_unkept(self) -> None:
        """Counts an epoch of which a cache keeps nothing, though it was to."""
        with self._lock:
            self.unkept += 1

    def count_short(self, seconds: float) -> None:
        """Counts seconds in which it read nothing more, because it held as many bytes as it may."""
        with self._lock:
            self.short_s += seconds

    def draws_from(self, sources: list[str]) -> None:
        """Notes the datasets that are mixed; more of the same add to what was counted."""
        with self._lock:
            self._sources = sources
            self._drawn += [0] * (len(sources) - len(self._drawn))

    def drew(self, counts: list[int]) -> None:
        """Counts elements of each of the datasets."""
        with self._lock:
            self._drawn = [before + count for before, count in zip(self._drawn, counts, strict=True)]

    # ---- reading

    @property
    def at_once(self) -> int:
        """How many threads may work on it at once."""
        return self.calls if self.outer is None else self.calls * self.outer.at_once

    @property
    def drawn(self) -> tuple[tuple[str, int], ...]:
        """How many elements came from each of the datasets that are mixed, in their order."""
        return tuple(zip(self._sources, self._drawn, strict=False))

    def reading(self, *, remembered: bool = False) -> Reading:
        """Returns what was counted so far.

        Args:
            remembered: whether the least and the most that is buffered are counted anew from here on.
        """
        self._fold()
        buffered = self._buffered
        if remembered:
            self._buffered = (*buffered[:2], buffered[0], buffered[0])
        return Reading(*self._counted, self._service.reading(), *self._cpu, *buffered)

    def _fold_fresh(self) -> None:
        if self._fresh:
            self._fold_counts(drained(self._fresh))
        if self._fresh_cpu:
            cpu_s, cpu_of_s = map(sum, zip(*drained(self._fresh_cpu), strict=True))
            self._cpu = self._cpu[0] + cpu_s, self._cpu[1] + cpu_of_s
        if self._fresh_buffered:
            self._fold_buffered()

    def _fold_counts(self, records: list[_Record]) -> None:
        elements, served, busy_s, *waits_s = zip(*records, strict=True)
        sums: Any = tuple(map(sum, zip(self._counted, map(sum, (elements, busy_s, *waits_s)), strict=True)))
        self._counted = sums
        self._service.add_means(zip(busy_s, served, strict=True))

    def _fold_buffered(self) -> None:
        elements, nbytes, low, high = self._buffered
        while self._fresh_buffered:
            more, more_bytes = self._fresh_buffered.popleft()
            elements += more
            nbytes += more_bytes
            low, high = min(low, elements), max(high, elements)
        self._buffered = elements, nbytes, low, high


class Gauge:
    """How much one stage holds ready, of all that its meter tells."""

    __slots__ = ("_elements", "_meter", "_nbytes")

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._elements = self._nbytes = 0

    def set(self, elements: int, nbytes: int) -> None:
        """Says how much it holds now; one thread at a time."""
        if elements != self._elements or nbytes != self._nbytes:
            self._meter.count_buffered(elements - self._elements, nbytes - self._nbytes)
            self._elements, self._nbytes = elements, nbytes
