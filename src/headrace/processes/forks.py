"""Copies of this process that ``fork`` made: an array on shared memory that a copy has is still an array of somebody's.

Memory of its own a copy sees as it was when it was made, shared memory as it is now. So a place that was in use then is not used again before the
copy is gone: of a pipe to it this process has one end, and it the other until it ends or becomes another program.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Iterator
from typing import Final

from headrace.processes.arena import Place

__all__ = ["FORKS", "Returns"]


class Forks:
    """The copies that were made of this process since it has had places in use.

    Attributes:
        count: the number of the last one, of which most may be gone.
    """

    def __init__(self) -> None:
        self.count = 0
        self._are_told = False
        self._numbers = itertools.count(1)
        self._living: dict[int, int] = {}  # by number, this process' ends
        self._begun = threading.local()  # a fork that goes on in this thread: two threads may fork at once

    def noted(self) -> int:
        """Returns by what a place that comes into use now is told from one that a copy has."""
        self._are_told = True
        return self.count

    def is_seen(self, count: int) -> bool:
        """Returns whether a copy is there that was made since there were so many."""
        return self.count > count and any(number > count and self._lives(number) for number in list(self._living))

    def _lives(self, number: int) -> bool:
        descriptor = self._living.get(number)
        if descriptor is None:
            return False
        try:
            os.read(descriptor, 1)  # nobody ever writes: what can be read is the end
        except BlockingIOError:
            return True
        if self._living.pop(number, None) is not None:  # and no other thread has seen it, too
            os.close(descriptor)
        return False

    def before(self) -> None:
        """Makes the pipe of a fork, in the thread that forks."""
        self._begun.pipe = None
        for number in list(self._living):
            self._lives(number)
        if self._are_told:
            try:
                self._begun.pipe = os.pipe()
            except OSError:  # no descriptors are left: a copy is better than none
                return
            os.set_blocking(self._begun.pipe[0], False)

    def in_parent(self) -> None:
        """Keeps this process' end of the pipe, also after a fork that failed."""
        if self._begun.pipe is not None:
            read, write = self._begun.pipe
            number = next(self._numbers)
            self._living[number] = read
            self.count = number
            os.close(write)

    def in_copy(self) -> None:
        """Keeps the copy's end of the pipe alone, in the copy: copies of the copy have it, too."""
        for read in self._living.values():
            os.close(read)
        if self._begun.pipe is not None:
            os.close(self._begun.pipe[0])
        self._living = {}
        self._are_told = False


FORKS: Final = Forks()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=FORKS.before, after_in_parent=FORKS.in_parent, after_in_child=FORKS.in_copy)


class Returns:
    """Places that came back because no array of this process is on them any more, until no copy of it has one either."""

    def __init__(self) -> None:
        # One atomic operation puts and takes: a garbage collection may come in the middle of anything, in any thread.
        self._come: Final[deque[tuple[Place, int]]] = deque()
        self._seen: Final[deque[tuple[Place, int]]] = deque()

    def put(self, place: Place, count: int) -> None:
        """Puts a place that came into use when there were so many copies."""
        self._come.append((place, count))

    def free(self) -> Iterator[Place]:
        """Yields those that nobody has."""
        for come, number in ((self._seen, len(self._seen)), (self._come, None)):
            for place, count in _taken(come, number):
                if FORKS.is_seen(count):
                    self._seen.append((place, count))
                else:
                    yield place


def _taken(come: deque[tuple[Place, int]], number: int | None) -> Iterator[tuple[Place, int]]:
    """Takes what is there, or the first of it."""
    for _ in itertools.count() if number is None else range(number):
        try:
            yield come.popleft()
        except IndexError:
            return
