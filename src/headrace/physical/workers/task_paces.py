"""How long the tasks of an operation take, and how much is read for one: as long as hides what a task costs beside its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.physical.pace import Pace

__all__ = ["TASK_S", "TaskPaces"]

# A task wakes two threads, each of which waits for Python's lock and finds a cold cache: a third of a millisecond of work
# beside one, on two cores (docs/decisions/0053).
TASK_S: Final = 8e-3
# One that another process does costs twice as much beside its work: what it is made of goes there, and what is made comes back.
_TASK_ELSEWHERE_S: Final = 2 * TASK_S
# It takes longer in a run that lasts, which has as much less of that cost. No longer than this part of what a worker has done before:
# at the end one works at its last task while others have none, which is less than this part of the run (docs/decisions/0143).
_PART_OF_DONE: Final = 16
_LONGEST_ELSEWHERE_S: Final = 2 * _TASK_ELSEWHERE_S
# That is for two workers. All tasks go through the one thread that reads, and through Python's lock: of more workers each takes longer for
# one, so that all together hand over as often (docs/decisions/0151); at first half as long, as the thread can do that for a while.
# Beyond so many workers the window would hold too much.
_MEASURED_WITH: Final = 2
_AT_FIRST: Final = 4
_MOST_COUNTED: Final = 16
# Elements that take longer to come than a task takes are handed on as they come: one read waits no longer than four tasks.
_READ_S: Final = 4 * TASK_S


class TaskPaces:
    """How much is read and made at once, for all stages that an operation becomes in a run: each goes on where one was.

    Attributes:
        making: how much a task is.
        reading: how much is read at most for one.
    """

    __slots__ = ("_before", "_done_s", "making", "reading")

    def __init__(self, pace: Callable[..., Pace] = Pace) -> None:
        self.making = pace(target_s=TASK_S)
        self.reading = pace(target_s=_READ_S)
        self._done_s = 0.0
        self._before: Pace | None = None

    def begin_like(self, before: TaskPaces) -> None:
        """Begins with what an earlier run has learned of how long the work takes, and what it is done with."""
        self._before = before.making  # until it is known how long a task takes
        self.reading.begin_like(before.reading)

    def lengthen(self, done_s: float, workers: int, *, elsewhere: bool) -> None:
        """Has tasks take longer, the more workers there are and the more each has done.

        Args:
            done_s: what one has done since it was told last.
            workers: how many there are.
            elsewhere: whether they are processes.
        """
        self._done_s += done_s
        shortest_s, longest_s = (_TASK_ELSEWHERE_S, _LONGEST_ELSEWHERE_S) if elsewhere else (TASK_S, TASK_S)
        counted = min(workers, _MOST_COUNTED)
        shortest_s *= max(1.0, counted / _AT_FIRST)
        longest_s *= max(1.0, counted / _MEASURED_WITH)
        self.making.target_s = min(max(shortest_s, self._done_s / _PART_OF_DONE), longest_s)
        if self._before is not None:
            self.making.begin_like(self._before)
            self._before = None
