"""One thread that looks after all open runs of the process, for as long as there is one.

A function that hangs in the consumer's own thread lets nothing else run there, so another thread must look. It sleeps
until the first wait could be too long: with half a minute's patience it wakes up about twice a minute.

A run may be closed by a garbage collection in the middle of anything, also of ``add``, and must wait for nobody then. So who
is watched stands in a dict, changed by single atomic operations, and the change of threads that follows from it is marked as
due: a thread that finds the lock free carries it out, and one that holds it looks at the mark after it let go. Under the lock
nothing is made that a garbage collection could come with.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Final, Protocol

from headrace.clock import MONOTONIC, Clock
from headrace.coordination.latch import Latch
from headrace.log import warn_once

__all__ = ["WATCH", "Watch", "Watched"]

# Whoever ends the last run waits for the thread so long: it may just be writing a warning down.
_JOIN_S: Final = 1.0


class Watched(Protocol):
    """A run, as far as it is looked after."""

    def due_s(self) -> float:
        """Returns when to look at it next."""
        ...

    def look(self) -> None:
        """Looks whether it waits for too long."""
        ...


class Watch:
    """Looks at runs when it is time.

    Args:
        clock: what is slept on.
    """

    def __init__(self, *, clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        self._watched: dict[int, Watched] = {}
        self._looker: _Looker | None = None
        self._ending: list[_Looker] = []  # until they have ended: Ctrl-C may come between
        self._lock = threading.Lock()
        self._is_due = False

    def add(self, *runs: Watched) -> None:
        """Looks at these, too."""
        self._watched.update((id(run), run) for run in runs)
        looker = self._looker
        if looker is None or min(run.due_s() for run in runs) < looker.due_s:
            self._settle(looker)

    def remove(self, run: Watched) -> None:
        """Looks at it no more; with the last one, the thread ends. May be called again."""
        self._watched.pop(id(run), None)
        if not self._watched and (self._looker is not None or self._ending):
            self._settle(None)

    def end(self) -> None:
        """Looks at nothing any more."""
        self._watched.clear()
        self._settle(None)

    def forget(self) -> None:
        """Looks at nothing: the process is a copy of another, without its threads."""
        self._watched, self._looker, self._lock = {}, None, threading.Lock()
        self._ending = []

    def _settle(self, late: _Looker | None) -> None:
        """Makes a thread look if there is something to look at: another one than the one that would look too late."""
        self._is_due = True
        while self._is_due and not self._lock.locked():
            fresh = _Looker(self._watched, self._clock) if self._watched else None
            with self._lock:
                self._is_due = False
                before = self._looker
                if not self._watched or before is None or before is late:
                    self._ending += [before] if before is not None else []
                    self._looker = fresh if self._watched else None
                    if self._watched and fresh is None:  # it was added just now
                        self._is_due = True
            if fresh is not None and self._looker is fresh:
                self._start(fresh)
            for looker in list(self._ending):
                looker.end()
                self._ending = [other for other in self._ending if other is not looker]

    def _start(self, looker: _Looker) -> None:
        """Starts a thread; runs go on without one where the system has no more, and the next that is added tries again."""
        try:
            looker.start()
        except RuntimeError as error:
            with self._lock:
                if self._looker is looker:
                    self._looker = None
            warn_once(f"the system starts no more threads ({error}): nothing tells of functions that hang")


class _Looker(threading.Thread):
    """The thread."""

    def __init__(self, watched: dict[int, Watched], clock: Clock) -> None:
        super().__init__(name="headrace-watch", daemon=True)
        self._watched = watched
        self._clock = clock
        self._over = Latch("the watch's end", clock=clock)
        self.due_s = math.inf

    def run(self) -> None:
        while not self._over.is_set:
            self.due_s = math.inf  # a run that is added from here on may be missed, and sees to another look
            self.due_s = self._looked()
            left_s = self.due_s - self._clock.now_s()
            self._over.wait(None if math.isinf(left_s) else max(0.0, left_s))

    def _looked(self) -> float:
        """Looks at all, and says when to look again."""
        runs = list(self._watched.values())
        for run in runs:
            run.look()
        return min((run.due_s() for run in runs), default=math.inf)

    def end(self) -> None:
        """Ends it, and waits for that a little."""
        self._over.set()
        if self.is_alive() and threading.current_thread() is not self:
            self.join(_JOIN_S)


WATCH: Final = Watch()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCH.forget)
