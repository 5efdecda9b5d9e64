"""What the consumer of a pipeline did, step by step: it waited, its element was copied, and it computed.

A step is an element of the pipeline from the outside: mostly a batch. It waits in ``next``; where a feed copies it to a device, that is
its copy, which may run beside the step before; and it computes from when it has its element until it asks for the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headrace.durations import NOTHING, Durations, DurationsReading, Times, times_between
from headrace.frozen import frozen
from headrace.observe.folded import Folded, drained
from headrace.observe.recorder import Recorder
from headrace.observe.tables import plain
from headrace.observe.window import EVERY_S, Window

__all__ = ["StepMeter", "StepStats"]

# Steps whose times are kept one by one: enough for a plot, and small.
_KEPT: Final = 4096


@frozen
class StepStats:
    """What the consumer's steps of the window did, each time in seconds.

    Attributes:
        steps_per_s: how many steps there were in a second.
        waited: what a step waited for its element.
        copied: what its copy to the device took; counts nothing where nothing is copied.
        computed: what a step took from when it had its element until it asked for the next. Of several elements that came at once
            it is the mean.
        window_s: how long the window is.
    """

    steps_per_s: float = 0.0
    waited: Times = Times()
    copied: Times = Times()
    computed: Times = Times()
    window_s: float = 0.0

    @property
    def wait_share(self) -> float:
        """The part of its time that the consumer waited, from 0 to 1."""
        whole_s = self.waited.total_s + self.computed.total_s
        return self.waited.total_s / whole_s if whole_s > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures as dicts, lists, numbers and texts, which JSON can hold."""
        figures: dict[str, Any] = plain(self)
        return figures


# What was counted up to a moment of the waits, the copies and the computing.
_Reading: TypeAlias = tuple[DurationsReading, DurationsReading, DurationsReading]
_NOTHING_YET: Final[_Reading] = (NOTHING, NOTHING, NOTHING)


class _Sums:
    """All steps so far, and the times of the last ones, oldest first."""

    __slots__ = ("computed", "computes", "copied", "copies", "waited", "waits")

    def __init__(self) -> None:
        self.waited, self.copied, self.computed = Durations(), Durations(), Durations()
        self.waits, self.copies, self.computes = (deque[float](maxlen=_KEPT) for _ in range(3))


# What the steps of a block waited, how many they are, and what all steps of the block before computed; below 0 where none was before.
_Record = tuple[float, int, float]


class StepMeter(Folded[_Record]):
    """Counts steps, once for all that have come at once. The consumer's thread counts; any other may look.

    Args:
        now_s: tells the time.
        copies_s: returns how long the copies to a device took that have ended since the last call; one thread at a time calls it.
    """

    def __init__(self, now_s: Callable[[], float], copies_s: Callable[[], list[float]] = list) -> None:
        super().__init__()
        self._ended_copies_s = copies_s
        self._now_s = now_s
        # Made when somebody looks, or after a second: who takes a handful of elements needs neither.
        self._made_sums: _Sums | None = None
        self._made_window: Window[_Reading] | None = None
        self._begin_s = now_s()
        self._due_s = self._begin_s + EVERY_S
        self._had_s = -1.0  # since when the consumer has what it computes on; below 0 where it has nothing
        self._had = 0  # how many elements that is, as far as was folded

    def has(self, now_s: float, waited_s: float, elements: int) -> None:
        """Says that the consumer has so many elements, for which it waited so long; before that it computed."""
        had_s = self._had_s
        if Recorder.active is not None:
            self._trace(Recorder.active, now_s - waited_s)
            Recorder.active.did("wait", now_s - waited_s, now_s, elements)
            Recorder.active.gives((id(self), int(now_s * 1e9)), now_s)
        self.add((waited_s, elements, now_s - waited_s - had_s if had_s >= 0 else -1.0))
        self._had_s = now_s
        if now_s >= self._due_s:
            self._window.note(now_s)
            self._due_s = self._window.due_s

    def ends(self, asked_s: float) -> None:
        """Says that the consumer asked for more at that time, and there was nothing more."""
        if self._had_s >= 0:
            if Recorder.active is not None:
                self._trace(Recorder.active, asked_s)
            self.add((0.0, 0, asked_s - self._had_s))
            self._had_s = -1.0

    def _trace(self, recorder: Recorder, asked_s: float) -> None:
        """Notes the step that was over when the consumer asked for more."""
        if self._had_s >= 0:
            recorder.did("step", self._had_s, asked_s)
            recorder.takes((id(self), int(self._had_s * 1e9)), self._had_s)

    @property
    def _sums(self) -> _Sums:
        return self._made_sums or _Sums()

    @property
    def _window(self) -> Window[_Reading]:
        window = self._made_window
        # Of two threads that make one at once, one may lose what it notes: a window begins where this one does.
        if window is None:
            window = Window(self._reading, _NOTHING_YET)
            window.begin(self._begin_s)
            self._made_window = window
        return window

    def _fold_fresh(self) -> None:
        sums = self._made_sums = self._sums
        copies_s = self._ended_copies_s()
        sums.copied.add_means([(seconds, 1) for seconds in copies_s])
        sums.copies.extend(copies_s)
        records = drained(self._fresh)
        had = [self._had, *(elements for _, elements, _ in records)]
        computed = [(seconds, count) for (_, _, seconds), count in zip(records, had, strict=False) if seconds >= 0]
        waited = [(seconds, 1) for seconds, elements, _ in records if elements]
        self._had = had[-1]
        sums.computed.add_means(computed)
        sums.waited.add_means(waited)
        if (others := sum(had[1:]) - len(waited)) > 0:  # which were there with the first
            sums.waited.add_means([(0.0, others)])
        sums.computes.extend([seconds / count for seconds, count in computed])
        sums.waits.extend([seconds for seconds, _ in waited])

    @property
    def waits_s(self) -> tuple[float, ...]:
        """What the last steps waited, oldest first; the first element of several that came at once."""
        self._fold()
        return tuple(self._sums.waits.copy())

    @property
    def copies_s(self) -> tuple[float, ...]:
        """What the last copies took, oldest first."""
        self._fold()
        return tuple(self._sums.copies.copy())

    @property
    def computes_s(self) -> tuple[float, ...]:
        """What the last steps computed, oldest first."""
        self._fold()
        return tuple(self._sums.computes.copy())

    def stats(self, now_s: float) -> StepStats:
        """Returns what the steps of the window did."""
        begin_s, (before, *_) = self._window.since(now_s)
        now = self._reading()
        waited, copied, computed = map(times_between, before, now)
        window_s = max(0.0, now_s - begin_s)
        return StepStats(waited.count / window_s if window_s > 0 else 0.0, waited, copied, computed, window_s)

    def _reading(self) -> _Reading:
        self._fold()
        sums = self._sums
        return sums.waited.reading(), sums.copied.reading(), sums.computed.reading()
