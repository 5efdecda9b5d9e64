"""Wiring only: a plan, its options and a state become stages that can be pulled, stopped and closed."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Final

from headrace.backends.inline import InlineStage
from headrace.backends.thread import WorkerPool
from headrace.errors import FailedPreconditionError, HeadraceError
from headrace.observe.meter import StageStats
from headrace.optimize.add_final_prefetch import has_parallel_work
from headrace.optimize.rules import optimized
from headrace.physical.context import Context, Meters, Seeds
from headrace.physical.cursor import State
from headrace.physical.lowering import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.node import AUTOTUNE, Node, nodes_of, parallel_calls_of
from headrace.plan.options import Options

__all__ = ["Run", "physical_plan"]

_log = logging.getLogger("headrace")

# Where the system does not say how much memory it has.
_FALLBACK_BYTES: Final = 4 << 30


def physical_plan(plan: Node, options: Options) -> Node:
    """The plan as it will run."""
    return plan if options.optimize is False or options.executor == "inline" else optimized(plan)


def _apart(root: Stage, limit: int) -> Iterator[Item]:
    """One pull, in a generator: when it is over, its frame no longer leads back to the caller's.

    A failed element keeps the frames in which it failed. If those led to the caller's, an iterator that an error left
    would live, with its threads and files, until the garbage collector came by.
    """
    yield root.pull(limit)


# Runs that may still be open, for the interpreter's exit.
_open_runs: Final[weakref.WeakSet[Run]] = weakref.WeakSet()
# How long a user's function may go on at the interpreter's exit before the process ends without it.
_EXIT_PATIENCE_S = 5.0


@atexit.register
def _end_open_runs() -> None:
    """Closes what is open; but a function that never returns must not keep the process from ending."""
    runs = list(_open_runs)
    for run in runs:
        run.stop()
    end_s = time.monotonic() + _EXIT_PATIENCE_S
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("headrace-")]
    for thread in ours:
        thread.join(max(0.0, end_s - time.monotonic()))
    if busy := [thread.name for thread in ours if thread.is_alive()]:
        _log.warning("the process ends while functions still run in %s", ", ".join(busy))
        return
    for run in runs:
        if not run.is_read:  # by a thread of the user's, which ends with the process
            run.close()


class Run:
    """One run of a plan: its stages, and the threads that serve them."""

    def __init__(self, plan: Node, options: Options, *, seeds: Seeds, epoch: int, state: State | None) -> None:
        running = physical_plan(plan, options)
        self._meters = Meters(node for node in nodes_of(running) if not isinstance(node, WithOptions))
        self._pool: WorkerPool | None = None
        self._closing = threading.Lock()
        self._stopped = threading.Event()
        self._closed = threading.Event()
        self._pulling = threading.RLock()  # held while the plan is read, and while what it holds is given back
        self._puller: int | None = None
        self._given_back = False
        inline = options.executor == "inline"
        if not inline and _uses_threads(running):
            self._pool = WorkerPool(_workers(running, options))
        context = Context(
            seeds=seeds,
            meters=self._meters,
            pool=self._pool,
            buffer_bytes=_buffer_bytes(running, options),
            deterministic=options.deterministic is not False,
            epoch=(epoch,),
            max_failures=options.max_failures,
        )
        try:
            self._root: Stage = InlineStage(running, state, context) if inline else lower(running, state, context)
        except BaseException:
            self._stop_workers()  # what was opened before may be read already
            raise
        _open_runs.add(self)

    def refuse_own_functions(self) -> None:
        """Refuses to be read by a function of the plan, which would wait for itself.

        Raises:
            FailedPreconditionError: it is, in the thread that reads the plan or in one of headrace's own.
        """
        ours = threading.current_thread().name.startswith("headrace-")
        if self._puller is not None and (ours or self._puller == threading.get_ident()):
            raise FailedPreconditionError("a function cannot take elements from the iterator that is calling it")

    def pull(self, limit: int) -> Item:
        """The next item of the plan; None at its end, and when the run was closed meanwhile."""
        with self._pulling:
            if self._stopped.is_set():
                return None
            self._puller = threading.get_ident()
            try:
                return next(_apart(self._root, limit))
            except HeadraceError:
                if self._stopped.is_set():  # a wait that close() ended
                    return None
                raise
            finally:
                self._puller = None
                if self._closed.is_set():
                    self._give_back()

    def stages(self) -> tuple[StageStats, ...]:
        """What each stage did so far, sources first."""
        return tuple(meter.snapshot() for meter in self._meters.all())

    def close(self) -> None:
        """Ends every wait, joins every thread, and gives back what the stages hold; may be called again."""
        with self._closing:
            if self._closed.is_set():
                return
            self._closed.set()
        self.stop()
        self._stop_workers()
        # A function, or a garbage collection, may close the run in the very thread that reads it: pull gives back then.
        if self._puller != threading.get_ident():
            with self._pulling:
                self._give_back()

    def stop(self) -> None:
        """Ends every wait and begins no new work; waits for nothing itself."""
        self._stopped.set()
        self._root.stop()
        if self._pool is not None:
            self._pool.stop()

    @property
    def is_read(self) -> bool:
        """Whether a thread reads the plan at this moment."""
        return self._puller is not None

    def _stop_workers(self) -> None:
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()

    def _give_back(self) -> None:
        if not self._given_back:
            self._given_back = True
            self._root.close()


def _uses_threads(plan: Node) -> bool:
    return has_parallel_work(plan) or any(isinstance(node, Prefetch) for node in nodes_of(plan))


def _workers(plan: Node, options: Options) -> int:
    """Enough for every stage to have as many calls at once as it was promised."""
    cores = os.cpu_count() or 1
    wanted = [parallel_calls_of(node) for node in nodes_of(plan)]
    fixed = sum(calls for calls in wanted if calls is not None and calls != AUTOTUNE)
    tuned = cores if AUTOTUNE in wanted else 0
    total = max(1, fixed + tuned)
    return total if options.num_workers is None else min(total, options.num_workers)


def _buffer_bytes(plan: Node, options: Options) -> int:
    """An equal part of the budget for each stage that buffers."""
    buffers = sum(isinstance(node, Prefetch) or parallel_calls_of(node) is not None for node in nodes_of(plan))
    budget = options.ram_budget if options.ram_budget is not None else _default_budget_bytes()
    return max(1, budget // max(1, buffers))


def _default_budget_bytes() -> int:
    """A quarter of the machine's memory: the model and the framework need the rest."""
    try:
        total = int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        total = _FALLBACK_BYTES
    return total // 4
