"""How many calls of one operation run at once: the number that was asked for, or is found to pay, whatever the size of the pool.

What an operation is. One that was written once is one operation, wherever its plan reads it: in each turn of a repeat,
twice in a zip with itself, in both readings of a rejection_resample, and in whatever a rule made of it. All its stages in
one run share its gate. Inside a dataset that a function opens, an operation is read by one thread at a time and has no gate.

Where the number is left to headrace, it begins with one a core, for which such operations share threads; what more calls need, as
they wait, has threads of its own.

How a bound is kept without a wait. A gate holds the tasks of its operation, and gives the pool no more turns than calls
may run at once; each turn takes the next task that is there then. So no worker is held up by a gate, none is idle while
a task of an operation that has room waits, and the driver need not be there to hand the next one over.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from headrace.arguments import AUTOTUNE
from headrace.errors import CancelledError
from headrace.plan.node import Node, nodes_of, parallel_calls_of, reads_ahead

__all__ = ["Bound", "Gate", "Gates", "Pool", "bounds_of"]

Task = Callable[[], None]
# So many read files ahead at most: one more than there are cores, as they wait for the disk, and no more than one thread can give out.
_MOST_READERS: Final = 8
# Operations whose calls are counted together, and how many may run at once, or AUTOTUNE.
Bound = tuple[frozenset[object], int]


class Pool(Protocol):
    """Runs tasks somewhere else."""

    @property
    def workers(self) -> int:
        """How many tasks can run at once."""
        ...

    @property
    def is_free(self) -> bool:
        """Whether no task waits for a worker and it was not stopped, so that a worker may go on with what it has."""
        ...

    def submit(self, task: Task) -> None:
        """Runs the task when a worker is free; the task itself hands its result on."""
        ...

    def resize(self, more: int) -> None:
        """Has so many workers more, or with a negative number less."""
        ...


def bounds_of(plan: Node, cores: int) -> list[Bound]:
    """Lists the parallel operations of a plan, those that share a task together."""
    bounds: list[Bound] = []
    for node in nodes_of(plan):
        calls = min(cores + 1, _MOST_READERS) if reads_ahead(node) else parallel_calls_of(node)
        if calls is None:
            continue
        operations = frozenset(node.operations)
        # Maps that were fused asked for the same, and may be read elsewhere one by one.
        for other in [bound for bound in bounds if bound[0] & operations]:
            bounds.remove(other)
            operations |= other[0]
        bounds.append((operations, calls))
    return bounds


class Gate:
    """The tasks of one operation, of which a fixed number runs at once.

    It has no lock, because a garbage collection in a thread that holds one may close the pipeline, and would wait for a worker
    that wants it. What a deque does is atomic, and a thread that gives a turn back looks once more whether a task came meanwhile.

    Args:
        pool: what runs them.
        calls: how many at once.
        most: how many there may be; None leaves that open.
    """

    def __init__(self, pool: Pool, calls: int, most: int | None = None) -> None:
        self.calls = calls
        self.most = most
        self._first = calls
        self._pool = pool
        self._tasks: deque[Task] = deque()
        self._free = deque([None] * calls)  # turns that nobody has
        self._surplus: deque[None] = deque()  # turns that end when who has them comes by

    def submit(self, task: Task) -> None:
        """Has a worker run the task after those that came before."""
        self._tasks.append(task)
        if self._has_turn():
            self._pool.submit(self._take_turn)

    def run_here(self, task: Task) -> bool:
        """Runs the task in this thread if there is a turn for it; returns whether it did."""
        if not self._has_turn():
            return False
        try:
            task()
        finally:
            self._give_back()
            self._serve()
        return True

    def resize(self, calls: int) -> None:
        """Changes how many run at once, at least 1; those that run go on. One thread at a time."""
        more, own = calls - self.calls, max(0, calls - self._first) - max(0, self.calls - self._first)
        self.calls = calls
        self._pool.resize(own)
        for _ in range(more):
            if not _taken_from(self._surplus):
                self._free.append(None)
        for _ in range(-more):
            if not self._has_turn():
                self._surplus.append(None)
        while self._tasks and self._has_turn():
            self._pool.submit(self._take_turn)

    def drop_tasks(self) -> None:
        """Forgets the tasks that did not begin."""
        self._tasks.clear()

    def _take_turn(self) -> None:
        """Runs the next task, in a worker, and those after it as long as nobody else wants the worker."""
        while (task := self._next()) is not None:
            # A stage that was stopped has closed the channel into which its task would put its result.
            with contextlib.suppress(CancelledError):
                task()
            del task  # what it holds must not live on beside the next one
            if self._tasks and not self._pool.is_free:
                self._pool.submit(self._take_turn)  # after the tasks of others
                return

    def _has_turn(self) -> bool:
        return _taken_from(self._free)

    def _give_back(self) -> None:
        if not _taken_from(self._surplus):
            self._free.append(None)

    def _serve(self) -> None:
        """Has the pool serve a task for which there is a turn."""
        if self._tasks and self._has_turn():
            self._pool.submit(self._take_turn)

    def _next(self) -> Task | None:
        """Returns the next task; gives the turn back where there is none, or one turn too many."""
        if self._surplus and _taken_from(self._surplus):
            self._serve()  # another turn may have been given back meanwhile, when no task was there
            return None
        while True:
            try:
                return self._tasks.popleft()
            except IndexError:
                self._give_back()
            if not self._tasks or not self._has_turn():
                return None


def _taken_from(turns: deque[None]) -> bool:
    try:
        turns.pop()
    except IndexError:
        return False
    return True


class Gates:
    """The gates of a run, and the pool that serves them; none where no operation needs any."""

    def __init__(
        self, bounds: Iterable[Bound] = (), pool: Pool | None = None, *, cores: int = 1, most: int | None = None
    ) -> None:
        self._gates: dict[object, Gate] = {}
        for operations, calls in bounds:
            assert pool is not None
            gate = Gate(pool, min(cores, pool.workers), most) if calls == AUTOTUNE else Gate(pool, calls)
            self._gates |= dict.fromkeys(operations, gate)

    def of(self, node: Node) -> Gate:
        """Returns the gate of a parallel operation of the run's plan."""
        return self._gates[node.operations[0]]

    def drop_tasks(self) -> None:
        """Forgets the tasks that did not begin, where no worker is there any more."""
        for gate in self._gates.values():
            gate.drop_tasks()
