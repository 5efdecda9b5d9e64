"""The worker pool of one pipeline: threads that take tasks from one queue.

Tasks never wait for tasks, so any number of workers finishes them all. Threads are started as tasks come, so a
pipeline that never has two tasks at once has one worker.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable

from headrace.coordination import Coordinator
from headrace.errors import CancelledError, OutOfRangeError, no_more_threads
from headrace.log import LOG
from headrace.observe.frames_held import let_go_of_frames_of_failed
from headrace.queues.channel import Channel

__all__ = ["WorkerPool"]


class WorkerPool:
    """Threads that run tasks.

    Args:
        workers: how many threads at most.
        most: how many it may ever have; None leaves that open.
    """

    def __init__(self, workers: int, most: int | None = None) -> None:
        self._workers = self._wanted = workers
        self._most = sys.maxsize if most is None else most
        # Without a bound of its own: what operations asked for bounds what is submitted.
        self._tasks: Channel[Callable[[], None]] = Channel(capacity=sys.maxsize, name="tasks")
        self._coordinator = Coordinator()
        self._owner = os.getpid()
        self._started = 0
        self._unfinished = 0  # tasks that wait or run
        self._counting = threading.Lock()
        # Reentrant, because a garbage collection while a thread is started may close this very pipeline.
        self._starting = threading.RLock()

    @property
    def workers(self) -> int:
        """How many tasks can run at once."""
        return self._workers

    @property
    def unfinished(self) -> int:
        """How many tasks wait or run."""
        return self._unfinished

    @property
    def is_free(self) -> bool:
        """Whether no task waits for a worker, and it was not stopped."""
        return not len(self._tasks) and not self._coordinator.should_stop()

    def resize(self, more: int) -> None:
        """Has so many workers more, which begin when there is work for them; or with a negative number begins as many fewer."""
        with self._counting:
            self._wanted += more
            self._workers = min(self._wanted, self._most)

    def submit(self, task: Callable[[], None]) -> None:
        """Makes a worker run the task; after ``stop`` it is dropped."""
        with self._counting:
            self._unfinished += 1
            is_short = self._started < min(self._workers, self._unfinished)
        with contextlib.suppress(CancelledError):
            self._tasks.put(task)
        if is_short:
            self._start_one()

    def _start_one(self) -> None:
        with self._starting:
            if self._started >= self._workers or self._coordinator.should_stop():
                return
            thread = threading.Thread(target=self._work, name=f"headrace-worker-{self._started}", daemon=True)
            self._coordinator.register_thread(thread)  # before it begins: Ctrl-C may come between
            try:
                thread.start()
            except RuntimeError as error:  # the system has no more of them
                if not self._started:
                    raise no_more_threads("works for the pipeline", error) from error
                LOG.warning("the system starts no more threads (%s): %d work for this run", error, self._started)
                self._workers = self._started
                return
            self._started += 1

    def _work(self) -> None:
        # A copy of the process that a function made, and in which it returned, is at its end: no other thread is in it.
        while not self._coordinator.should_stop() and os.getpid() == self._owner:
            try:
                task = self._tasks.get()
            except OutOfRangeError:
                return
            # A stage that was stopped has closed the channel into which its task would put its result.
            with contextlib.suppress(CancelledError):
                task()
            let_go_of_frames_of_failed()
            with self._counting:
                self._unfinished -= 1
            del task  # its block must not live on while the worker waits for the next

    @property
    def threads(self) -> list[threading.Thread]:
        """The workers that were started."""
        return self._coordinator.threads

    def stop(self) -> None:
        """Drops all tasks that did not begin; safe from any thread."""
        self._coordinator.request_stop()
        self._tasks.close(cancel_pending_enqueues=True)

    def join(self) -> None:
        """Waits for the tasks that run.

        Raises:
            RuntimeError: one runs for longer than the coordinator's period of grace.
        """
        with self._starting:  # a thread that is being started is joined as well
            pass
        self._coordinator.join()
