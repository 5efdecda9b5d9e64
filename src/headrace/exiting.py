"""The interpreter's exit, as far as threads that are not ours stand inside headrace.

Before Python 3.14, a daemon thread that asks for the GIL while the interpreter ends is ended where it stands, by unwinding its
stack. Where a C++ library is on that stack (optree, pyarrow), this ends the process with an abort. So at exit:

- From ``begin`` on no thread of the user's begins anything new here: it is held.
- ``close_libraries``, when headrace's own threads have ended, closes the way from here into such a library for every other thread.
- ``let_out`` waits for those that are in a library that headrace has called.

The engine does so when its runs were stopped, and all is done again where headrace was imported, which atexit calls later: a function of the
user's that atexit calls between the two may have opened runs. After that the library itself has ended (optree forgets what a tuple is),
and nothing can begin any more. A thread is held for a time and not for ever: it may have a lock that another function of the exit waits for.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, TypeVar

import optree

from headrace.errors import FailedPreconditionError
from headrace.thread_frames import frames_of_threads

__all__ = [
    "LOOPER",
    "QUEUE_RUNNER",
    "at_exit",
    "begin",
    "close_libraries",
    "ends_at_exit",
    "hold",
    "let_out",
    "only_waits",
    "stop_others",
    "stops_at_exit",
    "waits_in_vain",
]

F = TypeVar("F", bound=Callable[..., Any])

# How the names of threads begin that call what a user gave them again and again, and are told to stop at exit.
LOOPER: Final = "headrace-looper-"
QUEUE_RUNNER: Final = "headrace-QueueRunnerThread-"

# Longer than the engine waits for functions that still run, and short beside a person's patience.
_HELD_FOR_S: Final = 10.0
# How long a library may be at work before the process ends all the same, and how long a thread goes on between two looks.
_PATIENCE_S: Final = 5.0
_LOOK_AGAIN_S: Final = 0.001
_OURS: Final = os.path.join(os.path.dirname(__file__), "")  # noqa: PTH118, PTH120 - no I/O, and no pathlib for it
_LIBRARY: Final = os.path.join(os.path.dirname(optree.__file__), "")  # noqa: PTH118, PTH120 - as above

# The thread that ends the interpreter, once it does; and whether it may begin nothing any more, either.
_ending: int | None = None
_is_over = False
# Threads of headrace's own that went on when libraries were closed.
_held: Final[set[threading.Thread]] = set()
# What ends runs.
_ends: Final[list[Callable[[], None]]] = []

# What ends more than runs; it may be told more than once.
_stops: Final[list[Callable[[], None]]] = []
# Where a thread of ours waits, and is in no library.
_waits: Final[set[CodeType]] = set()


class _Gate:
    """The library, for the thread that ends the interpreter, and those of the runs that it opens now; every other is held before it enters."""

    def __getattr__(self, name: str) -> Any:
        thread = threading.current_thread()
        if thread.ident == _ending:
            _refuse_at_the_end()
        elif thread in _held or not _is_ours(thread):
            _stand_still()
        return getattr(optree, name)


def begin() -> None:
    """Begins the exit; the thread that ends the interpreter calls it before it waits for others."""
    global _ending  # noqa: PLW0603 - there is one exit
    _ending = threading.get_ident()


def ends_at_exit(end: Callable[[], None]) -> Callable[[], None]:
    """Has a function called at exit, and again before libraries are closed, as more may have been opened; returns it."""
    _ends.append(end)
    return atexit.register(end)


def stops_at_exit(stop: Callable[[], None]) -> Callable[[], None]:
    """Has a function called at exit, when the engine has stopped its runs; returns it."""
    _stops.append(stop)
    return stop


def stop_others() -> None:
    """Calls them."""
    for stop in _stops:
        stop()


def only_waits(function: F) -> F:
    """Marks a function that only waits for other threads, and calls no library; returns it."""
    _waits.add(function.__code__)
    return function


def waits_in_vain(thread: threading.Thread) -> bool:
    """Returns whether it fills a queue and waits at another one, which nobody fills any more."""
    frame = frames_of_threads().get(thread.ident or 0)
    return thread.name.startswith((LOOPER, QUEUE_RUNNER)) and frame is not None and frame.f_code in _waits


def close_libraries() -> None:
    """Closes libraries to threads; is called when those that may still finish have done so."""
    _held.update(filter(_is_ours, threading.enumerate()))
    gate = _Gate()
    for name, module in list(sys.modules.items()):
        if name.startswith("headrace.") and vars(module).get("optree") is optree and name != __name__:
            vars(module)["optree"] = gate


def hold() -> None:
    """Holds a thread of the user's that would begin something new while another ends the interpreter.

    Raises:
        FailedPreconditionError: it is the one that does, and it is too late.
    """
    if _ending is None:
        return
    if _ending == threading.get_ident():
        _refuse_at_the_end()
    elif not _is_ours(threading.current_thread()):  # whose end is waited for
        _stand_still()


def _is_ours(thread: threading.Thread) -> bool:
    return thread.name.startswith("headrace-")


def _refuse_at_the_end() -> None:
    if _is_over:
        raise FailedPreconditionError(
            "the interpreter ends, and what headrace is made of has ended: a function that atexit calls can use it where it was "
            "registered after headrace was imported"
        )


def _stand_still() -> None:
    threading.Event().wait(_HELD_FOR_S)


def let_out(end_s: float) -> None:
    """Waits until no other thread is in a library that headrace has called, but no longer than to this time."""
    while not _is_everybody_out() and time.monotonic() < end_s:
        time.sleep(_LOOK_AGAIN_S)


def at_exit() -> None:
    """Does all that when the interpreter ends; for the first use of a library."""
    atexit.register(_end)


def _end() -> None:
    global _is_over  # noqa: PLW0603 - there is one exit
    begin()
    stop_others()
    for end in _ends:
        end()
    close_libraries()
    let_out(time.monotonic() + _PATIENCE_S)
    _is_over = True


def _is_everybody_out() -> bool:
    frames = frames_of_threads()
    return not any(_is_inside(frame) for ident, frame in frames.items() if ident != _ending)


def _is_inside(frame: FrameType) -> bool:
    """Returns whether the innermost Python function is ours, and so may have called a library; or has been called by optree."""
    if frame.f_code.co_filename.startswith(_OURS) and frame.f_code not in _waits:
        return True
    outer: FrameType | None = frame
    while outer is not None and outer.f_code is not _stand_still.__code__:
        if outer.f_code.co_filename.startswith(_LIBRARY):
            return True
        outer = outer.f_back
    return False
