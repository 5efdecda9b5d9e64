"""The processes of a job: started together, watched, killed, and none left behind however it ends.

Whoever iterates ``Job.messages`` must do so inside ``with``: leaving it kills what is still there and waits for it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, Self, cast

import headrace as hr
from examples.elastic.worker import Message, Task, work

SILENCE_S: Final = 90  # a job that says nothing for so long hangs


def _starting() -> Any:
    """How processes are started: of one that has imported all that they need, where the system can do that."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    # One thread each: twelve processes share a few cores.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["examples.elastic.worker"])
    return found


class Job:
    """So many processes that train together.

    Attributes:
        lost: the ranks whose processes ended with a status other than 0, in the order in which that was seen.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._processes: list[BaseProcess] = []
        self._pipes: dict[Connection, int] = {}
        self.lost: list[int] = []

    def __enter__(self) -> Self:
        starting = _starting()
        try:
            for rank, task in enumerate(self._tasks):
                ours, theirs = starting.Pipe(duplex=False)
                self._pipes[ours] = rank
                process = starting.Process(target=work, args=(task, theirs), daemon=True, name=f"rank-{rank}")
                process.start()
                self._processes.append(process)
                theirs.close()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        self._end()

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Yields what the ranks say, until each of them has ended.

        Raises:
            DeadlineExceededError: none of them said anything for a long time.
        """
        while self._pipes:
            ready = wait(list(self._pipes), SILENCE_S)
            if not ready:
                raise hr.errors.DeadlineExceededError(
                    f"no process of {len(self._tasks)} said anything for {SILENCE_S} s"
                )
            for pipe in ready:
                yield from self._received(cast("Connection", pipe))

    def kill(self, rank: int) -> int:
        """Kills a rank's process as ``kill -9`` does; returns the number of the process."""
        process = self._processes[rank]
        process.kill()
        process.join(SILENCE_S)
        return process.pid or 0

    def _received(self, pipe: Connection) -> Iterator[tuple[int, Message]]:
        rank = self._pipes[pipe]
        try:
            yield rank, pipe.recv()
        except (EOFError, OSError):
            del self._pipes[pipe]
            pipe.close()
            self._processes[rank].join(SILENCE_S)
            if self._processes[rank].exitcode != 0:
                self.lost.append(rank)

    def _end(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join(SILENCE_S)
            process.close()
        for pipe in self._pipes:
            pipe.close()
