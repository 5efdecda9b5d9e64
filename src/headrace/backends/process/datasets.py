"""Datasets that a function makes of elements, read by processes: each in one of them, a piece at a time.

To the reader in this process it is as a stage is. A process that dies is replaced by another, which opens the dataset where the
last position is known, and passes over what came since.
"""

from __future__ import annotations

import contextlib
import dataclasses
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from headrace.backends.process.worker import Unprepared, Unsendable, Visit, WorkerProcess
from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State
from headrace.blocks.deep_states import in_pieces
from headrace.errors import HeadraceError, InvalidArgumentError, WorkerError
from headrace.observe.failures import Failures
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.stage import Item
from headrace.processes.elements_sent import received_elements
from headrace.processes.errors_sent import received_error
from headrace.processes.host import Gone
from headrace.processes.orders import BudgetPart, Came, Kind, Known, Opening, Setting
from headrace.processes.parcels import to_bytes
from headrace.processes.positions import Mark, RemoteCursor, received_apart

__all__ = ["Lends", "Opener", "RemoteDataset", "setting_of"]

# How many processes may die of one place: whoever kills one may kill others at the same moment.
_MOST_DEATHS: Final = 3
# How long a process may take to tell a position of a dataset.
_TELLING_S: Final = 2.0


class Lends(Protocol):
    """The processes of a run, as far as datasets need them."""

    @property
    def most_restarts(self) -> int:
        """How many of them may die."""
        ...

    def lent(self, meter: Meter, preferred: WorkerProcess | None) -> contextlib.AbstractContextManager[WorkerProcess]:
        """Lends a process: that one if it is there, else any; one that dies is replaced, and counted."""
        ...

    def another(self, place: WorkerProcess) -> contextlib.AbstractContextManager[WorkerProcess]:
        """Gives a process beside those of the run, with the number of one that may have ended."""
        ...


class Opener(NamedTuple):
    """What opens a dataset.

    Attributes:
        opening: as a process is told, at the start.
        label: of the operation.
        meter: of the operation.
        failures: where it is noted what fails in them.
    """

    opening: Opening
    label: str
    meter: Meter
    failures: Failures


def setting_of(context: StageContext, budget: BudgetPart) -> bytes:
    """Returns where an operation stands in its run, as another process is told it, with what it may hold."""
    policy = dataclasses.replace(context.policy, shared=None)  # memory of this process
    options = dataclasses.replace(context.options, executor="thread", worker_init=None)
    return to_bytes(
        Setting(
            context.seeds,
            context.epoch,
            context.within,
            context.downstream_maps,
            context.max_failures,
            options,
            policy,
            context.stream,
            context.rank,
            context.deterministic,
            budget,
        )
    )


class _DiedError(WorkerError):
    """Several processes died at the same place of a dataset.

    Attributes:
        worker: the last of them.
    """

    worker: WorkerProcess | None = None

    def as_failure(self) -> WorkerError:
        """Returns what its user is told."""
        return WorkerError(self.reason, stage=self.stage, origin=self.origin)


class RemoteDataset:
    """One dataset, as the stage that it would be here.

    Args:
        processes: the run's.
        opener: what opens it.
        saved: where it begins; None is its start.
    """

    ready_elements = 0

    def __init__(self, processes: Lends, opener: Opener, saved: State | None) -> None:
        self._processes = processes
        self._opener = opener
        self._known = Known(None if saved is None else in_pieces(saved), None, 0)
        self._places = 0  # elements and failures that have come
        self._visit: Visit | None = None
        self._deaths, self._died_at = 0, 0  # of processes at the latest place where one died
        self._ready: deque[Item] = deque()  # what came when it was opened, or in parts
        self.cursors: Final[weakref.WeakSet[RemoteCursor]] = weakref.WeakSet()

    def opened(self, limit: int) -> RemoteDataset | Exception | None:
        """Opens it, and reads the first item; returns why it was not to be opened, or None where it has to be read in this process."""
        try:
            visit, came = self._came(limit)
        except _DiedError as died:
            if self._known.position is None:  # as where its function fails
                return died.as_failure()
            self._ready.append(self._lost(died))
            return self
        except Unsendable as unsendable:
            refused = InvalidArgumentError(unsendable.reason)
            refused.__cause__ = unsendable.__cause__
            return refused
        if came.kind is Kind.ELSEWHERE:
            return None
        if came.kind is Kind.REFUSED:
            error = received_error(came.value, f"process {visit.worker.pid}")
            assert isinstance(error, Exception)  # as others end the process's answer
            return error
        self._ready += self._items(visit, came)
        return self

    def pull(self, limit: int) -> Item:
        """Returns what comes next; None at the end."""
        if not self._ready:
            try:
                self._ready += self._items(*self._came(limit))
            except _DiedError as died:  # what lies behind is not to be had; where others read, they read on
                return self._lost(died)
        return self._ready.popleft()

    def _lost(self, died: _DiedError) -> Failure:
        """Returns the failure in place of all that is left of it."""
        assert died.worker is not None  # it is told of one
        before = RemoteCursor(Mark(self, died.worker.visit(), 0, self._known, self._places), 0)
        return Failure(died.as_failure(), before, before, is_last=True)

    def _came(self, limit: int) -> tuple[Visit, Came]:
        """Has a process read: the one that has it open, or another one that opens it."""
        while True:
            worker: WorkerProcess | None = None
            try:
                with self._processes.lent(
                    self._opener.meter, None if self._visit is None else self._visit.worker
                ) as worker:
                    return self._asked(worker, limit)
            except Unprepared:  # by no doing of the dataset's; so many may die as the run allows
                self._visit = None
            except Gone as gone:
                self._see_it_die(worker, gone)

    def _asked(self, worker: WorkerProcess, limit: int) -> tuple[Visit, Came]:
        visit, opening = self._visit, None
        if visit is None or visit.worker is not worker:
            visit, opening = worker.visit(), self._opening(self._known, self._places)
        # One by one where others died, to come as far as it goes.
        limit = 1 if self._deaths and self._died_at == self._places else limit
        opener = self._opener
        came = worker.read(visit, opening, limit, opener.meter, opener.failures, opener.opening.origin)
        if came.kind not in (Kind.REFUSED, Kind.ELSEWHERE):
            self._visit = visit
        return visit, came

    def _opening(self, known: Known, places: int) -> Opening:
        return self._opener.opening._replace(position=known.position, skipped=places - known.places)

    def _items(self, visit: Visit, came: Came) -> Sequence[Item]:
        if came.kind is Kind.END:
            return [None]
        mark = Mark(self, visit, came.number, self._known, self._places)
        self._places += came.length
        if came.known is not None:
            self._known = Known(came.known, None, self._places)
        if came.kind is Kind.FAILURE:
            error = received_error(came.value, f"process {visit.worker.pid}")
            assert isinstance(error, HeadraceError)  # of an element
            return [Failure(error, RemoteCursor(mark, 0), RemoteCursor(mark, 1))]
        if came.kind is Kind.ALONE:
            return received_apart(came.value, mark, self._opener.label)
        return [Block(received_elements(came.value), RemoteCursor(mark, 0), came.origin)]

    def _see_it_die(self, worker: WorkerProcess | None, gone: Gone) -> None:
        """Has another process go on.

        Raises:
            WorkerError: several died at the same place, which it is the doing of.
        """
        self._visit = None
        if worker is None or worker.ended_by_itself:
            return
        self._deaths = self._deaths + 1 if self._died_at == self._places else 1
        self._died_at = self._places
        if self._deaths == _MOST_DEATHS:
            died = _DiedError(
                f"{_MOST_DEATHS} processes that read its dataset died after {self._places} elements of it: the last one {gone.reason}",
                stage=self._opener.label,
                origin=self._opener.opening.origin,
            )
            died.worker = worker
            raise died

    # ------------------------------------------------------------- positions

    def state_at(self, mark: Mark, count: int) -> State:
        """Returns a position: of the process, or made again where that has ended."""
        try:
            return self.asked_state(mark, count)
        except Gone:
            return self._made_again(mark, count)

    def asked_state(self, mark: Mark, count: int) -> State:
        """Returns a position.

        Raises:
            Gone: the process has ended, or has another run.
        """
        visit = mark.session
        assert isinstance(visit, Visit)  # which gave the item
        return visit.worker.position(visit, mark.number, count, _TELLING_S)

    def _made_again(self, mark: Mark, count: int) -> State:
        """Returns a position by reading up to it once more, in a process of its own.

        Raises:
            WorkerError: each process that was to find it has died, as often as they may.
        """
        assert isinstance(mark.session, Visit)  # which gave the item
        opening = self._opening(mark.known, mark.places + count)
        how = ""
        for _ in range(1 + self._processes.most_restarts):
            try:
                with self._processes.another(mark.session.worker) as worker:
                    visit = worker.visit()
                    came = worker.read(visit, opening, 0, self._opener.meter, Failures(), opening.origin)
                    if came.kind is Kind.REFUSED:
                        raise received_error(came.value, f"process {worker.pid}")
                    return worker.position(visit, 0, 0, _TELLING_S)
            except Gone as gone:
                how = gone.reason
        raise WorkerError(
            f"the process that read its dataset has died, and so has each that was to find where it was: the last one {how}. Use a "
            "state that was saved earlier",
            stage=self._opener.label,
            origin=opening.origin,
        )

    def settle(self) -> None:
        """Asks for the positions that somebody holds, while the processes have them."""
        for cursor in list(self.cursors):
            with contextlib.suppress(Gone):
                cursor.settle()

    # ---------------------------------------------------------------- ending

    def stop(self) -> None:
        """Does nothing: the processes of the run are stopped together."""

    def close(self) -> None:
        """Has its process give back what it holds."""
        visit, self._visit = self._visit, None
        if visit is not None:
            visit.worker.leave(visit)
