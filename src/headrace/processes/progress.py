"""What a process that calls functions is at, for the one who waits for it: in memory that both share, and in its stacks where it hangs.

A process that keeps Python's lock can answer nothing. So its stacks are written by a signal's handler in C, after which the signal
ends it: what it has written is whole when its end is heard.
"""

from __future__ import annotations

import contextlib
import enum
import faulthandler
import os
import signal
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from headrace.processes.descriptors import refused_by_system
from headrace.processes.segment import Segment

__all__ = ["SIGNAL", "At", "Phase", "Progress", "Stacks", "leave_stacks", "leaving_stacks"]

_NBYTES: Final = 4096
_MOST_BYTES: Final = 1 << 18
# What ends a process with its stacks; it is there wherever there are processes of headrace's own.
SIGNAL: Final = getattr(signal, "SIGUSR2", signal.SIGTERM)
_OURS: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")  # noqa: PTH118, PTH120 - no I/O
# The files whose functions call those of the user's: on an element, to prepare the process, and to import what functions need.
_CALLERS: Final = tuple(
    os.path.join(*parts)  # noqa: PTH118 - no I/O
    for parts in (("loops", "timed.py"), ("processes", "worker_info.py"), ("processes", "shipping.py"))
)


class Phase(enum.IntEnum):
    """What a process does before it calls functions on elements."""

    STARTING = 0  # as in fresh memory, to which nobody wrote
    LEARNING = 1  # functions are made, for which modules are imported
    PREPARING = 2  # by ``Options(worker_init=)``
    WORKING = 3


class At(NamedTuple):
    """An element that a function is called on.

    Attributes:
        since_s: when it was called, on the machine's monotonic clock.
        link: the index of its map.
        place: of the element in the block; negative where all were called on at once.
    """

    since_s: float
    link: int
    place: int


class Progress:
    """The memory in which a process notes what it is at.

    Args:
        segment: the memory.
    """

    def __init__(self, segment: Segment) -> None:
        self._note = segment.bytes.view(np.float64)[:4]
        self.link = 0  # the map that is at work, and the index of its first element in the whole block
        self.first = 0

    @classmethod
    def made(cls) -> tuple[Progress, int]:
        """Returns new memory, and the descriptor of it for the process."""
        segment, descriptor = Segment.made(_NBYTES)
        return cls(segment), descriptor

    @classmethod
    def received(cls, descriptor: int) -> Progress:
        """Returns the memory of which this process was sent a descriptor."""
        return cls(Segment.received(descriptor))

    def enter(self, phase: Phase) -> None:
        """Notes what it does from now on."""
        self._note[3] = phase

    @contextlib.contextmanager
    def within(self, phase: Phase) -> Iterator[None]:
        """Notes what it does meanwhile."""
        self.enter(phase)
        try:
            yield
        finally:
            self.enter(Phase.WORKING)

    @property
    def phase(self) -> Phase:
        """What it does."""
        return Phase(int(self._note[3]))

    def begin(self, index: int | None) -> None:
        """Notes that a function is called on an element from now on; None for all elements."""
        self._note[1] = self.link
        self._note[2] = -1 if index is None else self.first + index
        self._note[0] = time.monotonic()  # last: it says that the others hold

    def end(self) -> None:
        """Notes that it has returned."""
        self._note[0] = 0.0

    @property
    def at(self) -> At | None:
        """What the process is at; None where it is at no element."""
        while True:
            since_s, link, index, _ = self._note.tolist()
            if self._note[0] == since_s:  # it did not go on meanwhile
                return At(since_s, int(link), int(index)) if since_s else None


class Stacks:
    """Reads the stacks that a process writes when it is ended.

    Raises:
        ResourceExhaustedError: this process may have no more descriptors.
    """

    def __init__(self) -> None:
        try:
            self._reading, self.writing = os.pipe()
        except OSError as error:
            self._reading = self.writing = -1
            raise refused_by_system("pipe", error) from error
        os.set_blocking(self._reading, False)
        os.set_blocking(self.writing, False)  # nobody waits for a reader within a signal's handler

    def close_writing(self) -> None:
        """Closes this process's copy of the end that the other one writes to."""
        if self.writing >= 0:
            writing, self.writing = self.writing, -1
            os.close(writing)

    def of_function(self) -> str:
        """Returns the stack of the function that was called, as in a traceback, from the user's own function on."""
        if self._reading < 0:
            return ""
        written = b""
        with contextlib.suppress(BlockingIOError):
            while len(written) < _MOST_BYTES and (part := os.read(self._reading, _MOST_BYTES)):
                written += part
        for thread in written.decode(errors="replace").split("\n\n"):
            if any(caller in thread for caller in _CALLERS):
                lines = [line for line in thread.splitlines() if line.startswith("  File ")]
                own = next(index for index, line in enumerate(lines) if _OURS in line)
                return "".join(f"{line}\n" for line in (lines[:own] or lines)[::-1])
        return ""

    def close(self) -> None:
        """Closes it; may be called again."""
        self.close_writing()
        if self._reading >= 0:
            reading, self._reading = self._reading, -1
            os.close(reading)

    def __del__(self) -> None:
        self.close()


def leave_stacks(descriptor: int) -> None:
    """Has this process write the stacks of all its threads where it is ended by ``SIGNAL``, as long as the descriptor is open."""
    # Chain: and then end, as it would have.
    faulthandler.register(SIGNAL, file=descriptor, all_threads=True, chain=True)


@contextlib.contextmanager
def leaving_stacks(descriptor: int) -> Iterator[None]:
    """Has it do so meanwhile, and closes the descriptor then."""
    leave_stacks(descriptor)
    try:
        yield
    finally:
        faulthandler.unregister(SIGNAL)
        os.close(descriptor)
