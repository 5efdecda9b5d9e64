"""Positions of a run in another process, kept here and asked for there."""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections import deque
from typing import NamedTuple, Protocol

from headrace.blocks.cursor import Cursor, State
from headrace.processes.connection import Connection
from headrace.processes.host import Host
from headrace.processes.leases import Leases
from headrace.processes.orders import Known

__all__ = ["Mark", "RemoteCursor", "Session", "SharedWith"]


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


@dataclasses.dataclass(slots=True)
class Session:
    """A run in one process, until that dies.

    Attributes:
        host: the process.
        number: of the run there.
        connection: where its elements come.
        memory: what it shares.
        is_read: whether all that it sent has come.
        gone: the numbers of items in which nobody will ask for a position.
    """

    host: Host
    number: int
    connection: Connection
    memory: SharedWith
    is_read: bool = False
    gone: deque[int] = dataclasses.field(default_factory=deque)

    @property
    def is_ours(self) -> bool:
        """Whether this process is the one that began it, and no copy of that."""
        return self.host.owner == os.getpid()


class KnowsPositions(Protocol):
    """A run, as far as positions ask it."""

    @property
    def cursors(self) -> weakref.WeakSet[RemoteCursor]:
        """The positions in it that somebody holds."""
        ...

    def state_at(self, mark: Mark, count: int) -> State:
        """Returns a position: of the process, or made again where that has ended."""
        ...

    def asked_state(self, mark: Mark, count: int) -> State:
        """Returns a position of the process."""
        ...


class Mark:
    """An item of the run, as long as somebody may ask for a position in it."""

    __slots__ = ("known", "number", "places", "run", "session")

    def __init__(self, run: KnowsPositions, session: Session, number: int, known: Known, places: int) -> None:
        self.run = run
        self.session = session
        self.number = number
        self.known = known  # a position before it
        self.places = places  # how many elements and failures of the run stand before it

    def __del__(self) -> None:
        self.session.gone.append(self.number)  # one atomic operation, as a garbage collection may come anywhere


class RemoteCursor:
    """A position in an item."""

    __slots__ = ("__weakref__", "_count", "_mark", "_state")

    def __init__(self, mark: Mark, count: int) -> None:
        self._mark = mark
        self._count = count
        self._state: State | None = None
        mark.run.cursors.add(self)

    def advance(self, count: int) -> Cursor:
        return RemoteCursor(self._mark, self._count + count) if count else self

    def state(self) -> State:
        if self._state is None:
            self._state = self._mark.run.state_at(self._mark, self._count)
        return self._state

    def is_of(self, session: Session) -> bool:
        """Returns whether the process of a session has it."""
        return self._mark.session is session

    def settle(self) -> None:
        """Asks for it while the process has it."""
        if self._state is None:
            self._state = self._mark.run.asked_state(self._mark, self._count)
