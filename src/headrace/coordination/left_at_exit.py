"""Threads that somebody began and did not stop before the interpreter ends: they are asked to end, and waited for, as a run's are.

A daemon thread keeps no program from ending, but one that is in a C++ library then would end it with an abort.
"""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol

from headrace import exiting

__all__ = ["stopped_at_exit"]


class Stoppable(Protocol):
    """What has such threads."""

    def stop_at_exit(self) -> None:
        """Has them end; waits for nothing."""
        ...


_begun: Final[weakref.WeakSet[Stoppable]] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):  # a copy of this process has none of the threads
    os.register_at_fork(after_in_child=_begun.clear)


def stopped_at_exit(one: Stoppable) -> None:
    """Has the threads of this end when the interpreter does, where they are still there."""
    _begun.add(one)


@exiting.stops_at_exit
def _stop_all() -> None:
    for one in list(_begun):
        one.stop_at_exit()
