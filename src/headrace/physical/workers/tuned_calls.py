"""The calls of one operation in one run, where their number is left to headrace: in the thread that reads, or in workers.

Two tuners decide. One whether it has workers at all (``ConcurrencyTuner``), which is a question for what is cheap; and one how many
calls run at once in these (``TunedWorkers``). While calls wait beside each other, the first is not asked: one alone would not do.

Where functions are called in processes, these start with the run. Until they are there, the thread that reads calls the functions
itself; then both ways are measured.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.queues.channel import Channel

__all__ = ["TunedCalls"]

T = TypeVar("T")


class Processes(Protocol):
    """Processes that call functions."""

    @property
    def is_ready(self) -> bool:
        """Whether nobody would wait for a process to start."""
        ...


class TunedCalls:
    """What all stages ask and tell that the operation becomes in the run.

    Args:
        tuner: decides whether it has workers; other runs may ask it as well.
        workers: what they are.
        name: of the operation.
        processes: what its workers wait for, where functions are called in processes.
    """

    def __init__(
        self,
        tuner: ConcurrencyTuner,
        workers: TunedWorkers,
        name: str,
        processes: Processes | None = None,
    ) -> None:
        self._tuner = tuner
        self._name = name
        self._awaited = processes  # until they are there
        if processes is not None:
            tuner.await_processes()
        self._most = workers.first  # as the tuner knows the workers, however many there are now
        self._is_beside = False
        self.workers = workers
        reasons = "; ".join(filter(None, (tuner.reason, workers.reason)))
        self._note(f"as in an earlier run: {reasons}")

    @property
    def now(self) -> int:
        """How many tasks may run at once; with 1 the thread that reads makes the elements."""
        return self._tuner.now

    @property
    def is_trying(self) -> bool:
        """Whether what runs now is an experiment, which should be short."""
        return self._tuner.is_trying and not self.workers.wait_beside_each_other

    @property
    def is_heavy(self) -> bool:
        """Whether an element takes so long, by itself, that a task is a few of them."""
        return self._tuner.is_heavy

    @property
    def most_here(self) -> int | None:
        """How many elements to make at once in the thread that reads; None: as many as it asks for."""
        return self._tuner.most_here

    def observe(
        self, elements: int, start_s: float, end_s: float, beside: int, cpu_s: float = 0.0, placing_s: float = 0.0
    ) -> bool:
        """Learns from a task of the thread that reads, or of a worker, which had a processor for so long, and of that to place its elements.

        Returns:
            Whether that was worth the time: not where the thread that reads makes little at once, over and over.
        """
        if not self._tuner.observe(elements, start_s, end_s, beside, cpu_s, placing_s) and self._awaited is None:
            return False
        if beside == 1:
            self.workers.made_alone(elements, end_s - start_s)
        if self._awaited is not None and self._awaited.is_ready:
            self._awaited = None
            self._tuner.try_processes()
        self._note(self._tuner.reason)
        return True

    def made(self, elements: int, start_s: float, seconds: float, cpu_s: float, placing_s: float) -> None:
        """Learns from a task of a worker."""
        self.workers.made(elements, start_s, seconds, cpu_s)
        if not self.workers.wait_beside_each_other:
            self.observe(elements, start_s, start_s + seconds, self._most, cpu_s, placing_s)

    def ended(self) -> None:
        """Notes that a worker has ended a task; safe from any thread."""

    def taken(self, done: Channel[T]) -> T | None:
        """Waits for what a worker has made; None where more of them are to be given something."""
        return done.get()

    def _note(self, reason: str) -> None:
        """Notes whether it has workers from now on, and why."""
        is_beside, workers = self._tuner.now != 1, self.workers
        if is_beside != self._is_beside:
            self._is_beside = is_beside
            before, after = (0, workers.calls) if is_beside else (workers.calls, 0)
            workers.begin()
            workers.note(before, after, reason, self._name)
