"""What holds a run up: which operation holds which element, for how long, and in which line.

A ``Vigil`` is kept over one run. It knows when its consumer began to wait, and looks at the threads only when it is asked,
or when the wait was long: then it says so once in the log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final

from headrace.clock import MONOTONIC, Clock
from headrace.frozen import frozen
from headrace.log import LOG
from headrace.observe.frames import held_in
from headrace.thread_frames import frames_of_threads

__all__ = ["Stall", "Vigil"]


# Of many workers that hang, this many are shown; mostly they hang in the same line.
_MOST_SHOWN: Final = 4


@frozen
class Stall:
    """What one thread of a run holds at this moment.

    Attributes:
        stage: the operation, its function and its place.
        origin: the element, such as ``"element 1203 (img/0093.jpg)"``; None where the operation is not at one element.
        held_s: for how many seconds; counted from when its block was begun, which is about a millisecond of work.
        thread: the thread's name.
        stack: the Python stack from the user's function on, as in a traceback.
    """

    stage: str
    origin: str | None
    held_s: float
    thread: str
    stack: str

    def __str__(self) -> str:
        held = (
            f"has held {self.origin} for {_seconds(self.held_s)}" if self.origin else f"since {_seconds(self.held_s)}"
        )
        return f"{self.stage} {held}, in {self.thread}:\n{self.stack.rstrip()}"


class Vigil:
    """Watches over one run.

    Args:
        run: the run, as its method that is marked with ``begins`` knows it.
        threads: the threads that work for it now.
        patience_s: after how many seconds without an element a warning is due; None for never.
        elsewhere: what processes that work for it hold now.
        clock: what is waited on.
    """

    def __init__(
        self,
        run: object,
        threads: Callable[[], Sequence[int]],
        patience_s: float | None,
        *,
        elsewhere: Callable[[], Sequence[Stall]] = tuple,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._run = run
        self._threads = threads
        self._elsewhere = elsewhere
        self.patience_s: Final = patience_s
        self._clock = clock
        self.waiting_since_s: float | None = None  # of the consumer; written by it
        self._warned_of_s: float | None = None

    def now_s(self) -> float:
        """Returns the time on its clock."""
        return self._clock.now_s()

    @property
    def waited_s(self) -> float:
        """For how long the consumer waits now; 0 where it does not."""
        since_s = self.waiting_since_s
        return 0.0 if since_s is None else max(0.0, self._clock.now_s() - since_s)

    def due_s(self) -> float:
        """Returns when to look next: a wait that begins just now is due at the end of its patience, and not before."""
        assert self.patience_s is not None  # or nobody would ask
        since_s = self.waiting_since_s
        waits = since_s is not None and since_s != self._warned_of_s
        return (since_s if waits and since_s is not None else self._clock.now_s()) + self.patience_s

    def look(self) -> None:
        """Warns of a wait that was too long, once."""
        since_s = self.waiting_since_s
        if since_s is None or self.patience_s is None or since_s == self._warned_of_s:
            return
        waited_s = self._clock.now_s() - since_s
        if waited_s < self.patience_s:
            return
        stalls = self.stalls()
        if self.waiting_since_s == since_s:  # nothing came meanwhile
            self._warned_of_s = since_s
            LOG.warning("nothing came for %s: %s", _seconds(waited_s), _in_words(stalls))

    def stalls(self) -> tuple[Stall, ...]:
        """Returns what the run's threads and processes hold now, the longest first."""
        there = self._elsewhere()
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        frames = frames_of_threads()
        now_s = self._clock.now_s()
        try:
            seen = [
                self._stall(frames[ident], names.get(ident, f"thread {ident}"), now_s)
                for ident in dict.fromkeys(self._threads())
                if ident in frames
            ]
        finally:
            frames.clear()  # this very frame is among them, and would keep all others with what they hold
        return tuple(sorted(filter(None, [*seen, *there]), key=lambda stall: -stall.held_s))

    def _stall(self, frame: FrameType, thread: str, now_s: float) -> Stall | None:
        held = held_in(frame, self._run)
        if held is None:
            return None
        since_s = now_s if held.since_s is None else held.since_s
        try:
            return Stall(held.stage, held.origin, max(0.0, now_s - since_s), thread, _stack_of(held.frames))
        finally:
            del held, frame  # as above


def _stack_of(frames: Sequence[FrameType]) -> str:
    import traceback

    summary = traceback.StackSummary.extract((frame, frame.f_lineno) for frame in frames)
    return "".join(summary.format())


def _in_words(stalls: Sequence[Stall]) -> str:
    if not stalls:
        return "no function holds an element; what the pipeline waits for, iterator.stats() may tell"
    shown = "\n".join(str(stall) for stall in stalls[:_MOST_SHOWN])
    more = len(stalls) - _MOST_SHOWN
    return f"{shown}\nand {more} more: iterator.stalls() has them all" if more > 0 else shown


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
