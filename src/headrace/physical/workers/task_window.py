"""The tasks of a parallel stage that are in flight or wait to be handed on, and what they hold."""

from __future__ import annotations

from collections import deque
from typing import Final

from headrace.blocks.block import Block, BlockOrFailure
from headrace.frozen import mutable
from headrace.physical.budget import Ahead

__all__ = ["Task", "TaskWindow", "count_of"]


@mutable
class Task:
    """One block on its way through the workers."""

    start: int  # the index of its first element among all that the stage has read
    elements: int
    nbytes: int = 0  # of what was made of it
    expected_bytes: int = 0  # of its input, and of what will be made of it
    start_s: float = 0.0  # when a worker began with it
    seconds: float = 0.0
    cpu_s: float = 0.0  # of these, with a processor
    placing_s: float = 0.0  # of that, to copy what was made into its batch
    reading_s: float = 0.0  # with a processor too: what the thread that reads has done of the operation before
    made: list[BlockOrFailure] | None = None  # reversed: the next one is last; written by the worker
    # What is left of it to be handed on; None until the driver has heard of it.
    pieces: list[BlockOrFailure] | None = None

    @property
    def left(self) -> int:
        """How many elements are left of it to be handed on."""
        return sum(map(count_of, self.pieces or ()))


def count_of(item: BlockOrFailure) -> int:
    """Returns how many elements a block or a failure stands for."""
    return len(item) if isinstance(item, Block) else 1


class TaskWindow:
    """Tasks in the order of the input; only the driver changes them.

    What a worker has made counts from when the driver has taken it out of the channel, and until then its task is running.

    Args:
        ahead: is told what they hold: their inputs, and what is expected of those that run, included.
        copies: how many there are of what is on its way: in a process there is one more.

    Attributes:
        tasks: all of them.
        running: how many the workers have.
        last_end_s: when the task ended that ended last.
    """

    def __init__(self, ahead: Ahead, copies: int) -> None:
        self._ahead = ahead
        self._copies = copies
        self._held_bytes = 0
        self.tasks: Final[deque[Task]] = deque()
        self.running = 0
        self.last_end_s = 0.0

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def has_room(self) -> bool:
        """Whether there is memory for one more task as the last one; there is for one alone."""
        return not self.tasks or self._held_bytes + self.tasks[-1].expected_bytes <= self._ahead.share_bytes

    @property
    def ready(self) -> list[Task]:
        """Those of which something can be handed on."""
        return [task for task in self.tasks if task.pieces]

    def begin(self, task: Task, block: Block, made_nbytes: int) -> None:
        """Counts what a task will hold that the workers get.

        Args:
            task: the last one.
            block: its input.
            made_nbytes: about how many bytes each element has that is made.
        """
        self.running += 1
        task.expected_bytes = self._copies * (block.payload.nbytes + task.elements * made_nbytes)
        self._hold(task.expected_bytes)

    def end(self, task: Task) -> None:
        """Takes in what a worker has made."""
        task.pieces, task.made = task.made, None
        self.running -= 1
        self._hold(task.nbytes - task.expected_bytes)
        self.last_end_s = max(self.last_end_s, task.start_s + task.seconds)

    def drop(self, task: Task) -> None:
        """Forgets a task of which nothing is left."""
        self.tasks.remove(task)
        self._hold(-task.nbytes)

    def _hold(self, nbytes: int) -> None:
        """Counts so many bytes more or less."""
        self._held_bytes += nbytes
        self._ahead.add(nbytes)
