"""The frames of other threads, which go on meanwhile: read where no garbage collection comes between.

CPython reads them with a lock of its own held (up to 3.11.7 and 3.12.1, where a collection at that moment, which ends a
thread's local data, waits for that lock for ever), and 3.11 follows them as they lie in a thread's memory, and has crashed where
that was given back meanwhile.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, TypeVar

__all__ = ["frames_of_threads", "frames_outwards"]

T = TypeVar("T")

_F_BACKS: Final = itertools.repeat("f_back")


class _Pause:
    """That of garbage collections, one at a time: of two that overlap, the second would take it for the program's own wish."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_on = False

    def during(self, call: Callable[[], T]) -> T:
        """Returns what is called, in which nothing is collected."""
        with self._lock:
            if self._is_on or not gc.isenabled():
                return call()
            try:
                self._is_on = True
                gc.disable()
                return call()
            finally:
                gc.enable()
                self._is_on = False

    def end_of_others(self) -> None:
        """Ends, in a process that was forked, what another thread had begun, which is not there."""
        self._lock = threading.RLock()
        if self._is_on:
            self._is_on = False
            gc.enable()


_PAUSE: Final = _Pause()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PAUSE.end_of_others)


def frames_of_threads() -> dict[int, FrameType]:
    """Returns the innermost frame of each thread, by its ident.

    The caller's own is among them: whoever asks clears the dict, or keeps all frames and what they hold.

    Example:
        >>> frames = frames_of_threads()
        >>> threading.get_ident() in frames
        True
        >>> frames.clear()
    """
    return _PAUSE.during(sys._current_frames)  # noqa: SLF001 - documented, whatever its name


def frames_outwards(frame: FrameType | None) -> list[FrameType]:
    """Returns a frame and those that led to it, read in one call of C's; of None, none.

    Example:
        >>> frames_outwards(sys._getframe())[-1].f_back is None
        True
    """
    frames: deque[Any] = deque()
    try:
        _PAUSE.during(lambda: frames.extend(itertools.accumulate(_F_BACKS, getattr, initial=frame)))
    except AttributeError:  # of None, behind the outermost one
        frames.pop()
    return [*frames]
