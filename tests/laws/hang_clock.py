"""Functions that do not return, and a clock by which these alone run out of time, however slow the machine is."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

from headrace.semantics.timed_calls import _Caller, not_in_time

__all__ = ["LIMIT_S", "HangClock", "Hangs", "held_up"]

# What such functions may take; it is never waited for.
LIMIT_S: Final = 100.0
_FAR_S: Final = 1e9
# The threads in which a function hangs.
_hanging: Final[set[int | None]] = set()


class Hangs:
    """A function that does not return from some numbers; without a folder it fails at once, as it does then.

    Args:
        numbers: those.
        folder: where it says that it hangs, and is let go.
    """

    def __init__(self, numbers: frozenset[int], folder: str | None = None) -> None:
        self._numbers = numbers
        self.folder = folder

    def at(self, number: Any) -> Any:
        if int(number) in self._numbers:
            if self.folder is None:
                raise not_in_time(LIMIT_S, "")
            _hanging.add(threading.get_ident())
            Path(self.folder, str(os.getpid())).touch()
            with Path(self.folder, "may_go").open("rb", buffering=0) as pipe:
                pipe.read(1)
            _hanging.discard(threading.get_ident())  # which another thread may get
        return number

    def drawn(self, _: Any, number: Any) -> Any:
        return self.at(number)


class HangClock:
    """The clock, but that who waits for a call sees no time pass as long as it does not hang, and more than enough when it does."""

    def now_s(self) -> float:
        """Returns the time now, in seconds."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            waiting = frame.f_locals.get("self")
            if isinstance(waiting, _Caller):
                return _FAR_S if waiting.thread.ident in _hanging else -_FAR_S
            frame = frame.f_back
        return time.perf_counter()


@contextlib.contextmanager
def held_up(numbers: frozenset[int]) -> Iterator[Hangs]:
    """A function that hangs meanwhile, in whatever process calls it; at the end all of its calls return."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(Path(folder, "may_go"))
        end = os.open(Path(folder, "may_go"), os.O_RDWR)
        try:
            yield Hangs(numbers, folder)
        finally:
            left = [thread for thread in threading.enumerate() if thread.ident in _hanging]
            os.write(end, b"1" * 4096)
            for thread in left:
                thread.join(30.0)
            os.close(end)
        assert not any(thread.is_alive() for thread in left)
