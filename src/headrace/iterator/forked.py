"""What a copy of this process, made by ``fork``, has of its iterators: nothing that it could go on with.

A fork has one thread, the memory of all others as they happened to leave it, locks that nobody will let go of, and files whose place it
shares. So in the copy every iterator that had begun is an error, at its next element; its state can be asked for, and iterators can be made.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, Final, Protocol

from headrace.errors import FailedPreconditionError
from headrace.observe.decisions import Decision
from headrace.observe.failures import StageFailures
from headrace.observe.stalls import Stall
from headrace.physical.budget import Ahead, Budget
from headrace.physical.stage import Item
from headrace.semantics.run_context import OwnEnd

if TYPE_CHECKING:
    from headrace.observe.stats import StageStats

__all__ = ["ForkedRun", "forked", "is_left_to_parent"]


class Left(Protocol):
    """Something that a copy of its process must not go on with."""

    def leave_to_parent(self) -> None:
        """Makes it an error to go on with it, and touches nothing that another thread may have held."""
        ...


_open: Final[weakref.WeakSet[Left]] = weakref.WeakSet()
# What they ran is kept as it is: taken apart, a generator would end here as well, and threads be waited for.
_parents: Final[list[Any]] = []


def is_left_to_parent(one: Left) -> None:
    """Has a copy of this process leave it to this one."""
    _open.add(one)


def forked() -> FailedPreconditionError:
    """Returns the error of who goes on all the same."""
    return FailedPreconditionError(
        "this process is a copy, made by fork, of the one that runs this pipeline: make an iterator of its own"
    )


def _leave_all() -> None:
    for one in list(_open):
        one.leave_to_parent()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


class ForkedRun:
    """In place of a run, in a copy of its process.

    Args:
        run: what the process has that this is a copy of.
    """

    first_elements: Final = 1
    made_elements: Final = 0
    is_spent: Final = False
    workers: Final = 0
    ram_budget_bytes: Final = 0
    held_bytes: Final = (0, 0)
    share_bytes: Final = 1
    restarts: Final = 0
    waiting_s: Final = 0.0

    def __init__(self, run: object) -> None:
        _parents.append(run)
        self.own_end: Final = OwnEnd()

    def open(self, state: object) -> None:
        """Does nothing: it is no run."""

    def pull(self, limit: int) -> Item:
        """Refuses to go on.

        Raises:
            FailedPreconditionError: always.
        """
        raise forked()

    def ahead(self) -> Ahead:
        """Returns where nothing is counted."""
        return Budget(1).ahead()

    def refuse_own_functions(self) -> None:
        """Does nothing: there are no functions."""

    def stages(self) -> tuple[StageStats, ...]:
        """Returns nothing: the counters are the other process's."""
        return ()

    def decisions(self) -> tuple[Decision, ...]:
        """Returns nothing: it decides nothing."""
        return ()

    def failures(self) -> tuple[StageFailures, ...]:
        """Returns nothing, as above."""
        return ()

    def stalls(self) -> tuple[Stall, ...]:
        """Returns nothing: no thread works here."""
        return ()

    def close(self, *, is_read: bool = False) -> None:
        """Does nothing: all is the other process's."""

    def drop(self) -> None:
        """Does nothing, as above."""
