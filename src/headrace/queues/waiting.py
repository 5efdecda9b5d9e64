"""How a thread waits for its turn: one gate for each wait, opened by the thread that serves it.

A ``Waiter`` stands in a line (a ``collections.deque``) that is guarded by the lock of the thing waited for. Whoever
serves it fills in the outcome *under that lock* and then opens the gate; the waiting thread needs no lock to go on.
So a wake-up is never stolen, and those who wait are served in the order in which they came.

Only the wait itself looks at a clock. Under the real clock it sleeps in the operating system. A clock that is moved
by hand cannot wake a sleeper, so under such a clock the wait looks up every ``_GLANCE_S`` of real time.
"""

from __future__ import annotations

import os
import threading
from _thread import allocate_lock
from typing import Final, Generic, TypeVar

from headrace import exiting
from headrace.clock import Clock, MonotonicClock

__all__ = ["Waiter", "wait_at_gate"]

T = TypeVar("T")

# Real seconds between two looks at a clock that is moved by hand: short for a test, long for a processor.
_GLANCE_S: Final = 0.001
# Windows delivers Ctrl-C only between waits, so a long wait is cut up there; elsewhere a signal interrupts it.
_LONGEST_SLEEP_S: Final = 0.1 if os.name == "nt" else threading.TIMEOUT_MAX


class Waiter(Generic[T]):
    """One thread's wait: what it wants or brings, and how it ended.

    A consumer has a number of ``wanted`` entries and is given them into ``entries``. A producer, whose ``wanted`` is
    negative, brings ``entries``, of which those before ``next_entry`` were let in. ``error`` is raised at the end.
    """

    __slots__ = (
        "allow_fewer",
        "entries",
        "error",
        "gate",
        "is_consumer",
        "is_settled",
        "next_entry",
        "since_s",
        "wanted",
    )

    def __init__(self, entries: list[T], *, since_s: float, wanted: int = -1, allow_fewer: bool = False) -> None:
        self.entries = entries
        self.since_s = since_s
        self.wanted = wanted
        self.is_consumer = wanted >= 0  # rather than a producer
        self.allow_fewer = allow_fewer
        self.next_entry = 0
        self.is_settled = False
        self.error: BaseException | None = None
        self.gate = allocate_lock()
        self.gate.acquire()

    def let_go(self, error: BaseException | None = None) -> None:
        """Ends the wait: with ``error``, or served. Only the first call counts."""
        if not self.is_settled:
            self.error = error
            # Ctrl-C falls after a call or on entering a function, so not between these two.
            self.is_settled = True
            self.gate.release()


@exiting.only_waits
def wait_at_gate(waiter: Waiter[T], timeout_s: float | None, clock: Clock) -> bool:
    """Waits until ``waiter`` is let go (True), or until its wait has lasted ``timeout_s`` on ``clock`` (False)."""
    if timeout_s is None and os.name != "nt":
        return waiter.gate.acquire()
    longest_s = _LONGEST_SLEEP_S if isinstance(clock, MonotonicClock) else _GLANCE_S
    while True:
        left_s = longest_s if timeout_s is None else waiter.since_s + timeout_s - clock.now_s()
        if left_s <= 0:
            return waiter.gate.acquire(blocking=False)
        if waiter.gate.acquire(timeout=min(left_s, longest_s)):
            return True
