"""A run in one process, and the memory that it shares."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import select
from collections import deque
from typing import Final, NamedTuple

from headrace.frozen import mutable
from headrace.processes.connection import Connection
from headrace.processes.errors_sent import received_error
from headrace.processes.host import Gone, Host
from headrace.processes.leases import Leases
from headrace.processes.orders import Given, Kind, Taken
from headrace.processes.parcels import unpacked

__all__ = ["Session", "SharedWith"]

# How many places and numbers are given back in one message.
_AT_ONCE: Final = 500


class SharedWith(NamedTuple):
    """The memory that one run after the other shares with its reader, as long as all that they sent is read.

    Attributes:
        host: the process that writes.
        number: it is known by there.
        leases: what is read.
    """

    host: Host
    number: int
    leases: Leases


@mutable
class Session:
    """A run in one process, until that dies.

    Attributes:
        host: the process.
        number: of the run there.
        connection: where its elements come.
        memory: what it shares.
        is_read: whether all that it sent has come.
        untold: how many items have come of which it was not told; the last one is told when the next is asked for.
        gone: the numbers of items in which nobody will ask for a position.
    """

    host: Host
    number: int
    connection: Connection
    memory: SharedWith
    is_read: bool = False
    untold: int = 0
    gone: deque[int] = dataclasses.field(default_factory=deque)

    @property
    def is_ours(self) -> bool:
        """Whether this process is the one that began it, and no copy of that."""
        return self.host.owner == os.getpid()

    def forget(self, number: int) -> None:
        """Notes that nobody asks for a position in an item any more; a garbage collection may say so."""
        self.gone.append(number)

    def received(self) -> Given | None:
        """Returns what comes next; None when the process has ended."""
        self._tell_taken()
        received = self.connection.receive()
        if received is None:
            return None
        message, descriptors = received
        self.memory.leases.add(descriptors)
        given = Given.of_tuples(pickle.loads(message))
        self.untold += 1
        if given.is_last and given.kind is not Kind.CLOSED:  # behind that nobody hears it
            self._tell_taken()
        return given

    def hear_closed(self, patience_s: float) -> None:
        """Waits until the process has closed the run, all of whose elements have come.

        Raises:
            Gone: it has ended, or does not close the run in time.
        """
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        given = self.received() if poll.poll(patience_s * 1000) else None
        if given is None:
            raise Gone("the process did not close the run")
        if given.parcel is not None:  # of an error
            raise received_error(unpacked(given.parcel, self.memory.leases), f"process {self.host.pid}")

    def _tell_taken(self) -> None:
        """Tells the process what it may make, and what memory it has back: in one message an item, for to hear one takes it time."""
        # Not more than a socket holds: the process may be sending at this moment, and hears it only afterwards.
        places = self.memory.leases.gone(_AT_ONCE)
        numbers: list[int] = []
        while self.gone and len(numbers) < _AT_ONCE:
            numbers.append(self.gone.popleft())
        untold, self.untold = self.untold, 0
        if untold or places or numbers:
            with contextlib.suppress(OSError):  # it has ended, which is heard next
                self.connection.send(pickle.dumps(Taken(untold, places, numbers).in_tuples()))
