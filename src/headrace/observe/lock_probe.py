"""Who holds Python's lock, seen by one thread that asks for it now and then.

How it is seen. The thread sleeps, and the kernel counts how often it had to wait since: once for its sleep, and once more where
somebody held the lock when it woke up. That is so at a random moment, so the part of the moments is the part of the time. Then it keeps
the lock for a tenth of a millisecond, asleep. Whose processor time goes on meanwhile works without the lock; among the others
is the one that had it, and who waits for it too. Among these a moment counts by the processor time that each took since the last one.

What it costs: a third of a millisecond a look, forty looks a second at first and ten later. Linux alone tells all that.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final, Protocol

from headrace.clock import MONOTONIC, Clock
from headrace.frozen import frozen
from headrace.observe.frames import held_in
from headrace.observe.lock_use import LockUse, RunLockUse
from headrace.observe.watch import WATCH
from headrace.thread_frames import frames_of_threads

__all__ = ["PROBE", "LockProbe", "can_probe"]

_FIRST_S: Final = 0.1
_OFTEN_S: Final = 0.025
_SELDOM_S: Final = 0.1
# A run on trial may be disturbed more, by a thirtieth.
_CLOSELY_S: Final = 0.01
# How many moments of a run are enough for a first word.
_ENOUGH: Final = 60
# A smaller part of a moment is no sign that a thread works.
_LITTLE: Final = 0.1
# What Linux makes of a thread's number to name its clock of processor time.
_CLOCK_OF_THREAD: Final = 6


def can_probe() -> bool:
    """Returns whether there is one lock for all threads, and a system that tells about threads what is asked here."""
    has_lock: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.platform == "linux" and has_lock()


@frozen
class _Thread:
    """What was seen of a thread in one moment.

    Attributes:
        use: of the operation in which it is; None where it is in none.
        last_use: of the last one in which it was seen.
        number: the kernel's.
        spent_s: its processor time since the last moment.
        goes_on: whether it worked without the lock.
    """

    use: LockUse | None
    last_use: LockUse | None
    number: int
    spent_s: float
    goes_on: bool


class TellsOfThreads(Protocol):
    """A system, as far as threads are looked at."""

    def waits(self) -> int:
        """Returns how often this thread has waited."""
        ...

    def spent_s(self, number: int) -> float:
        """Returns the processor time of a thread; 0 where it has ended."""
        ...

    def keep_lock(self) -> None:
        """Sleeps for a moment with the lock."""
        ...

    def place(self, number: int) -> bytes:
        """Returns where in the kernel a thread waits; nothing where it runs, could run, or the kernel does not say."""
        ...


class LockProbe:
    """Looks at the threads of all runs that are open.

    Args:
        clock: what is slept on.
        kernel: makes what tells of threads.
    """

    def __init__(self, *, clock: Clock = MONOTONIC, kernel: Callable[[], TellsOfThreads] | None = None) -> None:
        self._clock = clock
        self._made_kernel = kernel or _Linux
        self._runs: dict[int, RunLockUse] = {}
        self._due_s = self._interval_s = 0.0
        self._looker: int | None = None
        self._waits = 0
        self._spent: dict[int, float] = {}
        self._last: dict[int, LockUse] = {}  # of each thread, where it was seen last
        self._kernel: TellsOfThreads | None = None
        self._closely = 0  # how many want to know more
        self._goes_on = False  # between two runs

    @contextlib.contextmanager
    def closely(self) -> Iterator[None]:
        """Looks more often in between, and goes on from one run to the next: the first look at a run after none tells nothing."""
        self._closely += 1
        try:
            yield
        finally:
            self._closely -= 1
            self._leave()

    def begin(self, use: RunLockUse) -> None:
        """Looks at a run from now on, once the watch looks at this."""
        if not self._runs and not self._goes_on:
            self._looker, self._due_s = None, self._clock.now_s() + (_CLOSELY_S if self._closely else _FIRST_S)
        self._goes_on = self._closely > 0
        self._runs[id(use)] = use

    def end(self, use: RunLockUse) -> None:
        """Looks at it no more; may be called again."""
        self._runs.pop(id(use), None)
        self._leave()

    def _leave(self) -> None:
        if not self._runs and not self._closely:
            self._goes_on = False
            WATCH.remove(self)

    @property
    def is_looking(self) -> bool:
        """Whether a run is looked at."""
        return bool(self._runs)

    def due_s(self) -> float:
        """Returns when to look next."""
        return self._due_s

    def look(self) -> None:
        """Looks, if it is time."""
        now_s = self._clock.now_s()
        if now_s < self._due_s:
            return
        looker = threading.get_ident()
        if self._kernel is None:
            self._kernel = self._made_kernel()
        if looker == self._looker:
            was_held = self._kernel.waits() - self._waits > 1
            # Moments that passed while it waited for the lock were such, too.
            self._see(was_held, 1 + int((now_s - self._due_s) / self._interval_s))
        else:
            self._spent = {number: self._kernel.spent_s(number) for number in _numbers().values()}
        self._looker = looker
        few = any(use.moments < _ENOUGH for use in self._runs.values())
        self._interval_s = _CLOSELY_S if self._closely else _OFTEN_S if few else _SELDOM_S
        now_s = self._clock.now_s()
        self._due_s = now_s + self._interval_s * (0.5 + now_s * 1e6 % 1)  # at no pace that somebody else might have
        self._waits = self._kernel.waits()

    def _see(self, was_held: bool, weight: int) -> None:
        seen = self._threads()
        held = _holders(seen) if was_held else {}
        blocked = self._blocked(seen, was_held)
        operations: dict[int, LockUse] = {}
        for one in seen:
            # Between its tasks a thread waits for the lock as well, and takes it for the next one.
            use = one.last_use if held.get(one.number, 0.0) > _LITTLE else one.use
            if use is None:
                continue
            operations[id(use)] = use
            part = held.get(one.number, 0.0)
            use.held += weight * part
            if one.number in blocked:
                use.blocked += weight * (1.0 - part)
            elif one.goes_on or not was_held:
                use.released += weight * (1.0 - part)
        for use in operations.values():
            use.moments += weight

    def _blocked(self, seen: list[_Thread], was_held: bool) -> set[int]:
        """Returns which threads wait for something else than a core, or than the lock where somebody has it."""
        kernel = self._kernel
        assert kernel is not None
        places = {one.number: kernel.place(one.number) for one in seen if one.use and not one.goes_on}
        return {number for number, place in places.items() if place and not (was_held and b"futex" in place)}

    def _threads(self) -> list[_Thread]:
        assert self._kernel is not None
        uses, numbers, kernel = self._uses(), _numbers(), self._kernel
        began_s, before = time.perf_counter(), {number: kernel.spent_s(number) for number in numbers.values()}
        kernel.keep_lock()
        after = {number: kernel.spent_s(number) for number in numbers.values()}
        least_s = (time.perf_counter() - began_s) / 2
        last, self._spent = self._spent, after
        self._last = {ident: use for ident, use in {**self._last, **uses}.items() if ident in numbers}
        return [
            _Thread(
                uses.get(ident),
                self._last.get(ident),
                number,
                before[number] - last.get(number, before[number]),
                after[number] - before[number] > least_s,
            )
            for ident, number in numbers.items()
        ]

    def _uses(self) -> dict[int, LockUse]:
        """Returns in which operation each thread is that works for a run."""
        found: dict[int, LockUse] = {}
        frames = frames_of_threads()
        try:
            for use in list(self._runs.values()):
                for ident in use.threads():
                    operation = _operation_in(frames[ident], use) if ident in frames else None
                    if operation is not None:
                        found[ident] = use.of(operation)
                use.moments += 1
        finally:
            frames.clear()  # this very frame is among them, and would keep all others with what they hold
        return found

    def forget(self) -> None:
        """Looks at nothing: the process is a copy of another, without its threads."""
        self._runs, self._looker = {}, None


def _operation_in(frame: FrameType, use: RunLockUse) -> str | None:
    held = held_in(frame, use.run)
    return None if held is None else held.stage


def _holders(seen: list[_Thread]) -> dict[int, float]:
    """Returns which threads may have had the lock, each with its part of a moment."""
    suspects = [one for one in seen if not one.goes_on and one.spent_s > 0] or [one for one in seen if one.goes_on]
    spent_s = sum(one.spent_s for one in suspects)
    return {one.number: one.spent_s / spent_s for one in suspects} if spent_s > 0 else {}


def _numbers() -> dict[int, int]:
    """Returns the kernel's number of each thread but this one."""
    mine = threading.get_ident()
    return {
        one.ident: one.native_id
        for one in threading.enumerate()
        if one.ident is not None and one.native_id is not None and one.ident != mine
    }


class _Linux:
    """What Linux tells, asked without letting go of Python's lock."""

    def __init__(self) -> None:
        import ctypes
        import resource

        library: Any = ctypes.PyDLL(None)  # whose functions are called with the lock
        self._usleep = library.usleep
        self._open, self._read, self._close = library.open, library.read, library.close
        self._text = ctypes.create_string_buffer(64)
        self._usage = resource.getrusage
        self._who = resource.RUSAGE_THREAD

    def waits(self) -> int:
        """Returns how often this thread has waited."""
        return self._usage(self._who).ru_nvcsw

    def spent_s(self, number: int) -> float:
        """Returns the processor time of a thread; 0 where it has ended."""
        try:
            return time.clock_gettime((~number << 3) | _CLOCK_OF_THREAD)
        except OSError:
            return 0.0

    def keep_lock(self) -> None:
        """Sleeps for a moment with the lock."""
        self._usleep(1)

    def place(self, number: int) -> bytes:
        """Returns where in the kernel a thread waits; nothing where it runs, could run, or the kernel does not say."""
        file = self._open(b"/proc/self/task/%d/wchan" % number, os.O_RDONLY)
        if file < 0:
            return b""
        try:
            count = self._read(file, self._text, len(self._text))
        finally:
            self._close(file)
        return self._text.raw[: max(0, count)].strip(b"0")


PROBE: Final = LockProbe()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PROBE.forget)
