"""A run in one process, and the memory that it shares."""

from __future__ import annotations

import dataclasses
import os
from collections import deque
from typing import NamedTuple

from headrace.frozen import mutable
from headrace.processes.connection import Connection
from headrace.processes.host import Host
from headrace.processes.leases import Leases

__all__ = ["Session", "SharedWith"]


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

    def forget(self, number: int) -> None:
        """Notes that nobody asks for a position in an item any more; a garbage collection may say so."""
        self.gone.append(number)
