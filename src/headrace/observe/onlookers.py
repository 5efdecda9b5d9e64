"""From when on the runs of this process can be looked at from outside: once they last.

Who opens a door for onlookers, with a thread and a socket, is told by this: when a run has been open for a second, when one begins
in a process whose first one began before that, and when no run is open any more. So a program that ends soon has no such thread,
one whose runs are closed has none left, and whoever runs pays for a comparison a second. A process whose runs are short has the door
opened for as many of them as takes a four-hundredth of its time at most.

A run may be closed by a garbage collection in the middle of anything, and must wait for nobody then: what is open is a
set, changed by single atomic operations, and who opens the door looks at it once more behind that.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from typing import Final, Protocol

from headrace import exiting
from headrace.clock import MONOTONIC, Clock
from headrace.log import LOG
from headrace.observe.watch import WATCH, Watch

__all__ = ["ONLOOKERS", "Door", "Onlookers"]

# What ends sooner nobody can look at.
_PATIENCE_S: Final = 1.0
# A four-hundredth of the time is what opening and closing may take: all that is always on has two hundredths.
_SELDOM: Final = 400.0


class Door(Protocol):
    """What lets onlookers in."""

    def open(self) -> None:
        """Lets them in."""
        ...

    def close(self) -> None:
        """Lets nobody in any more; may be called before it was opened, and again."""
        ...

    def leave_to_parent(self) -> None:
        """Closes what a copy of this process, made by fork, has of it, without a word to anybody."""
        ...


class Onlookers:
    """Opens the door when it is time.

    Args:
        clock: what tells the time.
        watch: which has a thread where a run may hang.
    """

    def __init__(self, *, clock: Clock = MONOTONIC, watch: Watch = WATCH) -> None:
        self._clock = clock
        self._watch = watch
        self._made_door: Callable[[], Door | None] | None = None
        self._door: Door | None = None
        self._runs: set[int] = set()
        self._due_s: float | None = None
        self._opening = threading.Lock()

    def come_by(self, made_door: Callable[[], Door | None] | None) -> None:
        """Says what makes a door, if it does; None leaves it shut, as in a process that another one answers for."""
        self._made_door = made_door

    def begins(self, run: object) -> None:
        """Says that a run is open."""
        if self._made_door is None:
            return
        now_s = self._clock.now_s()
        if self._due_s is None:
            self._due_s = now_s + _PATIENCE_S
        self._runs.add(id(run))
        self.lasts(now_s)

    def lasts(self, now_s: float) -> None:
        """Says that a run is still open; about once a second."""
        if self._door is None and self._due_s is not None and now_s >= self._due_s:
            self._open(now_s)

    def ends(self, run: object) -> None:
        """Says that a run is open no more; may be called again."""
        self._runs.discard(id(run))
        if not self._runs:
            self._close()

    @property
    def is_waiting(self) -> bool:
        """Whether there is a moment at which the door is due."""
        return self.due_s() < math.inf

    def due_s(self) -> float:
        """Returns when to look, for the watch."""
        return math.inf if self._door is not None or self._made_door is None or self._due_s is None else self._due_s

    def look(self) -> None:
        """Opens the door if it is time, though nobody gets an element."""
        self.lasts(self._clock.now_s())

    def _open(self, now_s: float) -> None:
        if self._made_door is None or not self._opening.acquire(blocking=False):
            return
        try:
            if self._door is not None:
                return
            door = self._door = self._made_door()  # first: whatever comes from here on, it can be closed
            if door is None:
                self._made_door = None
            else:
                door.open()
        except Exception as refused:  # noqa: BLE001 - no run fails because nobody can look at it
            LOG.info("nobody can look at the pipelines of this process: %s", refused)
            self._made_door = None
        finally:
            self._opening.release()
        self._due_s = now_s + _SELDOM * (self._clock.now_s() - now_s)
        if not self._runs:  # the last one was closed meanwhile
            self._close()

    def _close(self) -> None:
        door, self._door = self._door, None
        if self._due_s is not None:
            self._watch.remove(self)
        if door is not None:
            now_s = self._clock.now_s()
            door.close()
            self._due_s = (self._due_s or now_s) + _SELDOM * (self._clock.now_s() - now_s)

    def end(self) -> None:
        """Lets nobody in any more."""
        self._made_door = None
        self._close()

    def forget(self) -> None:
        """Lets nobody in before a run of its own: the process is a copy of another, whose door it is."""
        door, self._door = self._door, None
        self._runs, self._opening = set(), threading.Lock()
        if door is not None:
            door.leave_to_parent()


ONLOOKERS: Final = Onlookers()
exiting.stops_at_exit(ONLOOKERS.end)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONLOOKERS.forget)
