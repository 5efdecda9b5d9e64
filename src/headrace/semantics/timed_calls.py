"""Calls that may not take longer than so many seconds, made by threads that are left behind where a function does not return.

What always holds:
- Who calls waits, and goes on at the deadline. What a thread that was left behind gives later is dropped, and it calls nothing more.
- Each element is timed by itself, from when its function is called: neither a wait before that counts, nor what else is done with it.
- Whether an element was done in time is decided once: its thread and who waits for it both want its mark, and one of them gets it.
- How many threads may be left behind is bounded, in the whole process. They are daemons, which the interpreter's exit does not wait for.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from headrace.clock import MONOTONIC, Clock
from headrace.coordination.closing import Closing
from headrace.errors import (
    CancelledError,
    DeadlineExceededError,
    OutOfRangeError,
    ResourceExhaustedError,
    no_more_threads,
)
from headrace.observe.frames import hands_over
from headrace.observe.frames_held import let_go_of_frames_of_failed
from headrace.observe.stalls import Vigil
from headrace.queues.channel import Channel

__all__ = ["LEFT_BEHIND", "Callers", "Overtime", "Progress", "not_in_time", "with_stack"]

T = TypeVar("T")

# What the name of a thread begins with from when nobody waits for it any more.
LEFT_BEHIND: Final = "headrace-left-behind"
# Each keeps its element and its stack; so many hang for a reason that the next one has, too.
_MOST_LEFT: Final = 64
# How long the end of a run waits for an element that is in time.
_GRACE_S: Final = 120.0
# How long a thread that is at no element may take to end.
_LEAST_S: Final = 5.0

_left: Final[list[threading.Thread]] = []


class Overtime(Exception):  # noqa: N818 - news, of which its hearer makes the error
    """An element was not done in time.

    Attributes:
        index: of the element in the work; None where all were called on at once.
        stack: where its function was.
        link: the index of its map, of several in a row.
    """

    def __init__(self, index: int | None, stack: str, link: int = 0) -> None:
        super().__init__(index, stack, link)
        self.index = index
        self.stack = stack
        self.link = link


class _LeftBehind(BaseException):
    """Nobody waits for this thread any more. It is none of the errors of a function, which would be an element's."""


class _At(NamedTuple):
    """What a thread is at.

    Attributes:
        place: the index of the element.
        since_s: when its function was called.
        mark: has one entry, which decides by who takes it.
    """

    place: int | None
    since_s: float
    mark: list[None]


class Progress:
    """What a thread that calls functions is at: written by it, read by who waits for it."""

    __slots__ = ("_now_s", "at", "is_stopped")

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self.at: _At | None = None
        self.is_stopped = False

    def begin(self, index: int | None) -> None:
        """Notes that a function is called on an element from now on; None for all elements."""
        if self.is_stopped:
            raise _LeftBehind
        self.at = _At(index, self._now_s(), [None])

    def end(self) -> None:
        """Notes that it has returned, or failed."""
        assert self.at is not None  # it was begun
        try:
            self.at.mark.pop()
        except IndexError:
            raise _LeftBehind from None
        self.at = None


def not_in_time(limit_s: float, stack: str) -> DeadlineExceededError:
    """Makes the error of a function that did not return in time."""
    error = DeadlineExceededError(
        f"the function did not return within {limit_s:g} s; a larger timeout_s gives it longer"
    )
    return with_stack(error, stack)


def with_stack(error: DeadlineExceededError, stack: str) -> DeadlineExceededError:
    """Returns the error, which says where a function was then."""
    error.stack = stack
    if stack:
        error.add_note(f"where it was then (most recent call last):\n{stack.rstrip()}")
    return error


_Work = Callable[[Progress], Any]
# What it returned, or what it raised.
_Outcome = tuple[Any, BaseException | None]


class _Caller:
    """A thread that calls functions for one who waits."""

    def __init__(self, number: int, clock: Clock) -> None:
        self._clock = clock
        self.progress = Progress(clock.now_s)
        self._works: Channel[tuple[_Work, contextvars.Context]] = Channel(capacity=1, name="calls", clock=clock)
        self._answers: Channel[_Outcome] = Channel(capacity=1, name="what calls gave", clock=clock)
        self.limit_s = 0.0
        # It has no reference to this object, so that one that is dropped ends it.
        self.thread: Final = threading.Thread(
            target=_serve,
            args=(self._works, self._answers, self.progress),
            name=f"headrace-caller-{number}",
            daemon=True,
        )
        try:
            self.thread.start()
        except RuntimeError as error:
            raise no_more_threads("calls a function that has a timeout", error) from error

    @hands_over(lambda at: at["self"].thread.ident)
    def call(self, work: Callable[[Progress], T], limit_s: float) -> T:
        """Returns what the work returns, each of whose elements may take so long.

        Raises:
            Overtime: one took longer: the thread is left behind.
            CancelledError: it was stopped.
            BaseException: whatever the work raises.
        """
        self.limit_s = limit_s
        self._works.put_nowait((work, contextvars.copy_context()))
        while True:
            at = self.progress.at
            left_s = limit_s if at is None else max(0.0, at.since_s + limit_s - self._clock.now_s())
            try:
                made, error = self._answers.get(timeout_s=left_s)
            except DeadlineExceededError:
                self._look(at)
                continue
            except OutOfRangeError:
                raise CancelledError("the run was closed") from None
            if error is None:
                return made  # type: ignore[no-any-return]  # of the work that was put in
            try:
                raise error
            finally:
                del error

    def _look(self, at: _At | None) -> None:
        """Finds out whether an element's time is over.

        Raises:
            Overtime: it is.
        """
        if at is None or self.progress.at is not at or self._clock.now_s() < at.since_s + self.limit_s:
            return
        held = Vigil(None, self._ident, None).stalls()  # before it is decided: a moment later it might be elsewhere
        if at.mark:
            try:
                at.mark.pop()
            except IndexError:  # it is done
                return
            raise Overtime(at.place, held[0].stack if held else "")

    def _ident(self) -> tuple[int, ...]:
        return () if self.thread.ident is None else (self.thread.ident,)

    def left_s(self) -> float:
        """Returns how much time its element has still."""
        at = self.progress.at
        return 0.0 if at is None else max(0.0, at.since_s + self.limit_s - self._clock.now_s())

    def stop(self) -> None:
        """Ends the thread after the element that it is at, and every wait for it; from any thread."""
        self.progress.is_stopped = True
        self._works.close(cancel_pending_enqueues=True)
        self._answers.close(cancel_pending_enqueues=True)

    def __del__(self) -> None:
        self.stop()


def _serve(works: Channel[tuple[_Work, contextvars.Context]], answers: Channel[_Outcome], progress: Progress) -> None:
    """Does what comes, until nothing more will."""
    while True:
        try:
            work, context = works.get()
        except OutOfRangeError:
            return
        try:
            outcome: _Outcome = (context.run(work, progress), None)
        except _LeftBehind:
            return
        except BaseException as error:  # noqa: BLE001 - who waits is to have it, whatever it is
            outcome = (None, error)
        del work, context
        let_go_of_frames_of_failed()
        try:
            answers.put_nowait(outcome)
        except CancelledError:
            return
        del outcome  # who waits may look whether anybody else has it


class Callers(Closing):
    """The threads of one run that call functions for those that wait; each is one's at a time.

    Args:
        clock: what elements are timed on.
    """

    def __init__(self, clock: Clock = MONOTONIC) -> None:
        self._clock = clock
        self._free: deque[_Caller] = deque()
        self._all: list[_Caller] = []
        self._made = 0
        self._is_stopped = False

    def call(self, work: Callable[[Progress], T], limit_s: float) -> T:
        """Has a thread do the work, and returns what that returns; raises as a caller does.

        Raises:
            ResourceExhaustedError: too many threads were left behind and have not come back.
        """
        caller = self._taken()
        try:
            made = caller.call(work, limit_s)
        except Overtime:
            self._leave(caller)
            raise
        except Exception:
            self._free.append(caller)
            raise
        except BaseException:  # Ctrl-C: it may still be at its element
            caller.stop()
            raise
        self._free.append(caller)
        return made

    def _taken(self) -> _Caller:
        self._refuse_after_stop()
        _left[:] = [thread for thread in _left if thread.is_alive()]
        if len(_left) >= _MOST_LEFT:
            raise ResourceExhaustedError(
                f"{len(_left)} calls that did not return within their timeout_s are still running, the latest in "
                f"{_left[-1].name}: what they wait for has to end by itself, as by a timeout of the library that they call"
            )
        try:
            return self._free.pop()
        except IndexError:
            self._made += 1
            caller = _Caller(self._made - 1, self._clock)
            self._all.append(caller)
            try:
                self._refuse_after_stop()  # meanwhile, by a thread that did not see it
            except CancelledError:
                caller.stop()
                raise
            return caller

    def _refuse_after_stop(self) -> None:
        if self._is_stopped:
            raise CancelledError("the run was closed")

    def _leave(self, caller: _Caller) -> None:
        caller.stop()
        caller.thread.name = f"{LEFT_BEHIND}-{caller.thread.name.rpartition('-')[2]}"
        _left.append(caller.thread)
        with contextlib.suppress(ValueError):  # another thread closes the run at this moment
            self._all.remove(caller)

    def stop(self) -> None:
        """Ends every wait for a call; from any thread."""
        self._is_stopped = True
        for caller in list(self._all):
            caller.stop()

    def close(self) -> None:
        """Ends the threads; one whose element takes longer than it may is left behind."""
        self.stop()
        for caller in list(self._all):
            if caller.thread is threading.current_thread():  # a garbage collection within a function closes the run
                continue
            caller.thread.join(min(_GRACE_S, max(caller.left_s(), _LEAST_S)))
            if caller.thread.is_alive():
                self._leave(caller)
