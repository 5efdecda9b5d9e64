"""The processes of one run, and what has them call functions."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from headrace.backends.process.datasets import Opener, RemoteDataset, setting_of
from headrace.backends.process.doing import Functions
from headrace.backends.process.pieces import failed_alone
from headrace.backends.process.sending import alone, shipped_functions
from headrace.backends.process.worker import Preparing, Unprepared, Unsendable, WorkerProcess
from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.cursor import State
from headrace.elements.structure import Element
from headrace.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, WorkerError
from headrace.log import LOG
from headrace.observe.failures import Failures
from headrace.observe.meter import Meter
from headrace.observe.stalls import Stall
from headrace.physical.budget import Budget
from headrace.physical.context import OpenedThere, OpenThere, StageContext
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.timed import failed_in_time, pieces_of
from headrace.plan.calling import wants_process
from headrace.plan.elementwise import Map
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, function_label
from headrace.plan.options import Options
from headrace.plan.timeouts import preparing_s
from headrace.processes.host import Gone
from headrace.processes.orders import BudgetPart, Opening
from headrace.processes.segment import refuse_this_system
from headrace.processes.snapshot import all_of
from headrace.processes.spare import taken_host
from headrace.processes.unprepared import died_at
from headrace.processes.worker_info import WorkerInfo
from headrace.semantics.timed_calls import Overtime

__all__ = ["ProcessCalls", "process_calls_of"]

# How often processes may die in one run before that is the run's error.
_MOST_RESTARTS: Final = 10
# Of one element: whoever kills one process by chance hardly kills the next at the same.
_MOST_DEATHS: Final = 2
# How long processes may take to tell what holds them up.
_TELLING_S: Final = 0.5
# A library's own threads beside those of others: the processes are as many as the user wants to work at once.
_ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    "1",
)


def process_calls_of(plan: Node, options: Options, workers: int, failures: Failures, budget: Budget) -> ProcessCalls:
    """Returns the processes of a run.

    Raises:
        MissingExtraError: there are none on this system.
    """
    refuse_this_system()
    return ProcessCalls(options, workers, failures, budget, preparing_s(plan, options.timeout_s))


class ProcessCalls:
    """The processes of one run: as many as its pool has threads, each of which has one while it needs it.

    Args:
        options: of the run.
        count: how many there may be.
        failures: where it is noted what fails.
        budget: how many bytes they may hold, with all others.
        most_s: how long each may take to start, to import and to be prepared; None is as long as it takes.
    """

    def __init__(
        self, options: Options, count: int, failures: Failures, budget: Budget, most_s: float | None = None
    ) -> None:
        self._options = options
        self._failures = failures
        self._count = count
        init = options.worker_init
        self._preparing = Preparing("" if init is None else function_label("worker_init", init), most_s)
        self._holding = budget.gathering("processes", "Take fewer num_parallel_calls")
        # Each has memory for what goes there, and for what comes back; half of the budget is for elements elsewhere.
        self._segment_bytes = budget.total_bytes // (4 * max(1, count))
        self._part = BudgetPart(
            *(max(1, nbytes // max(1, count)) for nbytes in (budget.total_bytes, budget.most_bytes))
        )
        self.most_restarts: Final = _MOST_RESTARTS if options.max_restarts is None else options.max_restarts
        self._free: deque[WorkerProcess] = deque()
        self._all: list[WorkerProcess] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._is_stopped = self._have_hung = False
        self._openers: dict[int, tuple[FlatMap, int, bytes]] = {}  # functions that make datasets, each told once
        self._datasets: weakref.WeakSet[RemoteDataset] = weakref.WeakSet()
        self.restarts = 0

    def wanted_for(self, node: Node) -> bool:
        """Returns whether an operation's functions are to be called here."""
        return wants_process(node, self._options)

    @property
    def is_ready(self) -> bool:
        """Whether nobody would wait for a process to start."""
        return all(worker.is_ready for worker in list(self._all))

    def calling(
        self, maps: Sequence[Map], meter: Meter, loops: LoopPolicy, *, stacked: bool = False
    ) -> Callable[[Block], list[BlockOrFailure]]:
        """Returns what has a process call maps in a row on a block, and waits for that; ``stacked`` where a batch follows.

        Raises:
            InvalidArgumentError: a function cannot be sent; the variable is named.
        """
        sent = [alone(one) for one in maps]
        body = shipped_functions(self._options.worker_init, sent, sent, loops, stacked)
        functions = Functions(next(self._numbers), body, tuple(maps), meter, self._failures)
        self._begin()
        return functools.partial(self._call, functions)

    def _begin(self) -> None:
        """Starts all processes at once: while one starts, so do the others."""
        with self._changed:
            while len(self._all) < self._count and not self._is_stopped:
                taken = {worker.info.index for worker in self._all}
                fresh = self._new(next(index for index in itertools.count() if index not in taken))
                self._all.append(fresh)
                self._free.append(fresh)

    def _new(self, index: int) -> WorkerProcess:
        info = WorkerInfo(index, self._count, "process")
        return WorkerProcess(taken_host(_variables()), self._holding, info, self._segment_bytes, self._preparing)

    def _call(self, functions: Functions, block: Block) -> list[BlockOrFailure]:
        try:
            return self._called(functions, block)
        except Overtime as late:
            return self._called_around(functions, block, late)
        except (Gone, Unsendable):
            pass  # with whatever element it was that the process died of, or that it cannot have
        pieces: list[BlockOrFailure] = []
        for index in range(len(block)):
            pieces += self._called_alone(functions, block.slice(index, index + 1))
        return pieces

    def _called_around(self, functions: Functions, block: Block, late: Overtime) -> list[BlockOrFailure]:
        """Has all elements made but the one that was not done in time, which is a failure."""
        pieces: list[BlockOrFailure] = []
        if late.index is None and len(block) > 1:  # it may be any of them, or all together
            for index in range(len(block)):
                pieces += self._call(functions, block.slice(index, index + 1))
            return pieces
        index, node = late.index or 0, functions.maps[late.link]
        assert node.timeout_s is not None  # it has one, or nothing would have been too late
        failed = failed_in_time(node, block, index, node.timeout_s, late.stack)
        before, after = block.slice(0, index), block.slice(index + 1, len(block))
        pieces += self._call(functions, before) if index else []
        pieces += pieces_of([failed], block.slice(index, index + 1))
        return pieces + (self._call(functions, after) if index + 1 < len(block) else [])

    def _called_alone(self, functions: Functions, one: Block) -> list[BlockOrFailure]:
        """Has one element made; one of which its process dies again is a failure."""
        deaths, how = 0, ""
        while deaths < _MOST_DEATHS:
            try:
                return self._called(functions, one)
            except Overtime as late:
                return self._called_around(functions, one, late)
            except Unprepared:  # by no doing of the element's; so many may die as the run allows
                continue
            except Gone as gone:
                deaths, how = deaths + 1, gone.reason
            except Unsendable as unsendable:
                error = InvalidArgumentError(unsendable.reason, stage=unsendable.stage, origin=unsendable.origin)
                error.__cause__ = unsendable.__cause__
                return [failed_alone(functions.maps[0], error, one)]
        died = WorkerError(
            f"two processes that called it died: the last one {how}",
            stage=functions.stage,
            origin=one.origin.describe(0),
        )
        return [failed_alone(functions.maps[0], died, one)]

    def _called(self, functions: Functions, block: Block) -> list[BlockOrFailure]:
        """Has a process make the pieces of a block.

        Raises:
            Gone: it died.
            Overtime: a function did not return in time, and its process was replaced.
            WorkerError: too many have died.
            CancelledError: the run was stopped.
        """
        with self.lent(functions.meter) as worker:
            try:
                return worker.call(functions, block)
            except Overtime as late:
                label = functions.maps[late.link].label
                LOG.info("a process that called %s (pid %d) was killed at its timeout", label, worker.pid)
                raise

    @contextlib.contextmanager
    def lent(self, meter: Meter, preferred: WorkerProcess | None = None) -> Iterator[WorkerProcess]:
        """Lends a process to one thread: that one as long as it lives, else any. One that dies is replaced, and counted."""
        worker = self._taken(meter, preferred)
        try:
            yield worker
        except Gone as gone:
            self._replace(worker, gone.reason, meter)
            raise
        except Unsendable:  # so nothing was
            self._put(worker)
            raise
        except DeadlineExceededError:  # it did not come to work, and others may not either
            self._have_hung = True
            self._put_another(worker)
            raise
        except BaseException:  # it hangs, or may have answered half
            self._put_another(worker)
            raise
        self._put(worker)

    def _taken(self, meter: Meter, preferred: WorkerProcess | None) -> WorkerProcess:
        with self._changed:
            while not self._is_stopped:
                for dead in [one for one in self._free if not one.is_alive]:
                    self._free.remove(dead)
                    self._replace(dead, dead.how_it_ended(), meter)
                if preferred not in self._all:
                    if not self._free and len(self._all) < self._count:
                        raise WorkerError("a process that called functions could not be replaced, and no other is free")
                    # The latest of several: where one died others may have, of which nobody knows yet.
                    preferred = min(reversed(self._free), key=lambda worker: worker.open_datasets, default=None)
                if preferred is not None and preferred in self._free:
                    self._free.remove(preferred)
                    return preferred
                self._changed.wait()
        raise CancelledError("the run was closed")

    def _put_another(self, worker: WorkerProcess) -> None:
        """Kills a process, and has another in its place, for which others may wait."""
        with self._changed:
            self._all.remove(worker)
            worker.end(is_idle=False)
            self._begin()
            self._changed.notify_all()

    def _put(self, worker: WorkerProcess) -> None:
        with self._changed:
            self._free.append(worker)
            self._changed.notify_all()

    def _replace(self, worker: WorkerProcess, how: str, meter: Meter) -> None:
        if self._is_stopped:
            raise CancelledError("the run was closed") from None
        how += died_at(worker.phase, self._preparing.stage)
        with self._changed:
            self._all.remove(worker)
            self._changed.notify_all()  # who waits for that one may have another, when this one is replaced
            self.restarts += not worker.ended_by_itself
            if self.restarts > self.most_restarts:
                raise WorkerError(
                    f"a process that called functions {how}, and others were replaced {self.most_restarts} times before, "
                    "as often as Options(max_restarts=) allows"
                ) from None
            self._begin()
        if not worker.ended_by_itself:
            meter.count_restart()
            LOG.warning("a process that called functions (pid %d) %s: another goes on", worker.pid, how)

    def stalls(self) -> tuple[Stall, ...]:
        """Returns what the functions hold at this moment; all processes are asked at once."""
        asked = [worker.looked_at() for worker in list(self._all)]
        until_s = time.monotonic() + _TELLING_S
        return tuple(stall for told in asked for stall in told(max(0.0, until_s - time.monotonic())))

    def stop(self) -> None:
        """Ends every wait for a process; from any thread."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        for worker in list(self._all):
            worker.stop()

    def close(self, *, stay: bool = False) -> None:
        """Lets the processes go: those that are idle to another run, for which they wait longer where they ``stay``. No thread may be waiting for one any more."""
        self._settle()
        self.stop()
        idle = set(self._free)
        self._free.clear()
        while self._all:  # each once, also where this is called again after Ctrl-C
            worker = self._all.pop()
            worker.end(is_idle=worker in idle and (worker.is_ready or not self._have_hung), stays=stay)
        self._holding.release()

    def _settle(self) -> None:
        """Asks for positions in datasets that somebody may want later; one that is not told in time is found again by reading."""
        until_s = time.monotonic() + _TELLING_S
        for dataset in all_of(self._datasets):
            if time.monotonic() < until_s:
                dataset.settle()

    # ------------------------------------------------------------ datasets

    def reading(self, node: FlatMap, context: StageContext) -> OpenThere:
        """Returns what has a process open a dataset that a function makes of an element, and read it.

        Raises:
            InvalidArgumentError: the function cannot be sent; the variable is named.
        """
        _, key, function = self._openers.get(id(node)) or self._openers.setdefault(id(node), self._opener(node))
        setting, meter = setting_of(context, self._part), context.meter(node)
        self._begin()

        def opened(element: Element, index: int, origin: str, saved: State | None, limit: int) -> OpenedThere:
            opening = Opening(key, function, setting, element, index, origin, None, 0)
            dataset = RemoteDataset(self, Opener(opening, node.label, meter, context.failures), saved)
            self._datasets.add(dataset)
            return dataset.opened(limit)

        return opened

    def _opener(self, node: FlatMap) -> tuple[FlatMap, int, bytes]:
        sent = alone(node)
        return node, next(self._numbers), shipped_functions(self._options.worker_init, [sent], sent)

    @contextlib.contextmanager
    def another(self, place: WorkerProcess) -> Iterator[WorkerProcess]:
        """Gives a process beside those of the run, with the number of one that may have ended."""
        worker = self._new(place.info.index)
        is_idle = False
        try:
            yield worker
            is_idle = True
        finally:
            worker.end(is_idle=is_idle)


def _variables() -> dict[str, str]:
    return {name: value for name, value in _ONE_THREAD.items() if name not in os.environ}
