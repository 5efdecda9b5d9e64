"""One run of a plan: its stages, and the threads that serve them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from headrace import exiting
from headrace.blocks.block import Failure
from headrace.blocks.cursor import Cursor, State
from headrace.engine import choosing
from headrace.engine.choosing import may_hang
from headrace.engine.ending import OPEN_RUNS, RUN_READ_BY
from headrace.engine.figures import RunFigures
from headrace.engine.phases import CLOSE, CLOSED, CLOSING, GIVE_BACK, KEEP, NEXT, OPEN, STOP
from headrace.engine.plans import physical_plan
from headrace.errors import CancelledError, FailedPreconditionError, HeadraceError
from headrace.freed_memory import keep_freed_memory
from headrace.machine import current_share
from headrace.observe.decisions import Decision
from headrace.observe.failures import Failures, StageFailures
from headrace.observe.frames import begins
from headrace.observe.frames_held import let_go_of_frames_of_failed
from headrace.observe.onlookers import ONLOOKERS
from headrace.observe.run_watch import RunWatch
from headrace.observe.stalls import Stall, Vigil
from headrace.physical.budget import Ahead
from headrace.physical.context import StageContext
from headrace.physical.lock_watch import lock_use_of
from headrace.physical.lower import lower
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.physical.stage import Item, Stage, pulled_apart
from headrace.physical.workers.gates import Gates, bounds_of
from headrace.plan.buffering import WithOptions
from headrace.plan.dealt import rank_of_run
from headrace.plan.depth import make_room
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import STALL_WARNING_S, Options
from headrace.semantics.cache_fillings import Fillings
from headrace.semantics.held_bytes import Holding
from headrace.semantics.meters import Meters
from headrace.semantics.noting import noted
from headrace.semantics.run_context import OwnEnd, Seeds
from headrace.semantics.timed_calls import Callers

if TYPE_CHECKING:
    from headrace.backends.thread import WorkerPool
    from headrace.observe.stats import StageStats

__all__ = ["Run"]


class Run:
    """One run of a plan: its stages, and the threads that serve them.

    It is made first and opened afterwards, so that its maker can close it whatever happens while it opens.
    """

    def __init__(
        self,
        plan: Node,
        options: Options,
        *,
        seeds: Seeds,
        epoch: int,
        fillings: Fillings | None = None,
        feeds: int = 0,
        policy: RunPolicy = USUAL,
    ) -> None:
        make_room(plan)  # again, where the limit was set otherwise since the plan was made
        self._failures = Failures()
        self._plan = running = noted(physical_plan(plan, options, policy), self._failures)
        self._phase = OPEN
        self._turning = threading.RLock()  # a garbage collection may close it in the very thread that does
        self._closer: int | None = None  # the thread that closes it
        self._pulling = threading.RLock()  # held while the plan is read, and while what it holds is given back
        self._puller: int | None = None
        self._root: Stage | None = None
        self._inline = options.executor == "inline"
        self._budget = choosing.budget(running, options, feeds=feeds, policy=policy)
        self._meters = Meters(node for node in nodes_of(running) if not isinstance(node, WithOptions))
        self._callers = Callers(policy.clock)
        self._pool: WorkerPool | None = None
        gates = self._made_gates(options)
        self._elsewhere = choosing.elsewhere(running, options, self.workers, self._failures, self._budget)
        patience_s = STALL_WARNING_S if options.stall_warning_s is None else options.stall_warning_s
        self._vigil = Vigil(self, self._threads, patience_s or None, elsewhere=self._held_elsewhere)
        lock_use = None if self._inline else lock_use_of(self, running, options, self._threads)
        self._watch = RunWatch(self._vigil, lock_use)
        self._figures = RunFigures(self._meters, self._budget, lock_use)
        rank = rank_of_run(plan, options)
        self._context = self._made_context(
            seeds, epoch, fillings, options, policy, gates=gates, rank=None if rank is None else rank.rank
        )
        OPEN_RUNS.add(self)

    def _made_gates(self, options: Options) -> Gates | None:
        """Makes the workers and the gates of the operations that they serve; None where all runs in one thread."""
        if self._inline or not choosing.uses_threads(self._plan):
            return None
        cores = current_share().cores
        bounds = bounds_of(self._plan, cores)
        if not bounds:  # a prefetch has a thread, and no worker
            return Gates()
        from headrace.backends.thread import WorkerPool  # what plans without workers do not need

        wanted = choosing.workers([calls for _, calls in bounds], cores, options)
        self._pool = WorkerPool(wanted, options.num_workers)
        return Gates(bounds, self._pool, cores=cores, most=options.num_workers)

    def _made_context(
        self,
        seeds: Seeds,
        epoch: int,
        fillings: Fillings | None,
        options: Options,
        policy: RunPolicy,
        *,
        gates: Gates | None,
        rank: int | None,
    ) -> StageContext:
        return StageContext(
            seeds=seeds,
            meters=self._meters,
            gates=gates,
            elsewhere=self._elsewhere,
            callers=self._callers,
            failures=self._failures,
            tells_of_unkept=policy.tells_of_unkept,
            budget=self._budget,
            policy=policy,
            deterministic=options.deterministic is not False,
            replayed=rank is not None,  # ranks agree on the place of each element
            epoch=(epoch,),
            max_failures=options.max_failures,
            fillings=fillings or Fillings(),
            options=options,
            rank=rank,
        )

    def open(self, state: State | None) -> None:
        """Makes the stages, which begin at a state or at the start."""
        keep_freed_memory()
        exiting.hold()
        self._figures.begin()
        self._root = root = self._made(state)
        self._watch.begin(may_hang=may_hang(self._plan))
        if self._phase in (CLOSING, CLOSED):  # by another thread, which saw no stages yet
            self._watch.end()
            root.stop()  # which by now may be given back
            with self._pulling:
                self._give_back()

    def _made(self, state: State | None) -> Stage:
        if not self._inline:
            return lower(self._plan, state, self._context)
        from headrace.backends.inline import InlineStage  # all of the reference, which few programs run

        return InlineStage(self._plan, state, self._context)

    @property
    def first_elements(self) -> int:
        """How many elements to ask for first."""
        return 1 if self._root is None else self._root.first_elements

    @property
    def made_elements(self) -> int:
        """How many elements are made and come at once."""
        return 0 if self._root is None else self._root.made_elements

    @property
    def cursor(self) -> Cursor:
        """The position before the element that comes next, while nobody pulls."""
        if self._root is None:  # it was opened, so it is closed
            raise CancelledError("the run was closed")
        return self._root.cursor

    @property
    def own_end(self) -> OwnEnd:
        """After how many steps a rank has nothing real any more, of a job whose ranks end together."""
        return self._context.own_end

    @property
    def is_spent(self) -> bool:
        """Whether it is known that nothing comes any more but the end."""
        return self._root is not None and self._root.is_spent

    def refuse_own_functions(self) -> None:
        """Refuses to be read by a function of the plan, which would wait for itself.

        Raises:
            FailedPreconditionError: it is, in the thread that reads the plan or in one of headrace's own.
        """
        ours = threading.current_thread().name.startswith("headrace-")
        if self._puller is not None and (ours or self._puller == threading.get_ident()):
            raise FailedPreconditionError("a function cannot take elements from the iterator that is calling it")

    @begins
    def pull(self, limit: int) -> Item:
        """Returns the next item of the plan; None at its end, and when the run was closed meanwhile."""
        with self._pulling:
            if self._phase is not OPEN:
                return None
            assert self._root is not None  # it was opened
            self._vigil.waiting_since_s = now_s = time.perf_counter()
            if now_s >= self._figures.window.due_s:
                self._figures.window.note(now_s)
                ONLOOKERS.lasts(now_s)
            ident = threading.get_ident()
            outer = RUN_READ_BY.get(ident)
            self._puller, RUN_READ_BY[ident] = ident, self  # no call from here on, as Ctrl-C would leave it behind
            try:
                item = next(pulled_apart(self._root, limit))
                let_go_of_frames_of_failed()
                if isinstance(item, Failure):
                    self._failures.note(item.error, "raised")
                return item
            except CancelledError:  # of a stage's own wait; what a function raises is an item
                return None
            except HeadraceError:
                if self._phase is not OPEN:  # a wait that close() ended
                    return None
                raise
            finally:
                self._vigil.waiting_since_s = None
                self._puller = None
                if self._phase is CLOSING:
                    self._give_back()
                if outer is not None and outer.is_read_by(ident):
                    RUN_READ_BY[ident] = outer
                else:
                    RUN_READ_BY.pop(ident, None)

    def stages(self) -> tuple[StageStats, ...]:
        """Returns what each stage did so far, sources first."""
        return self._figures.stages()

    def begin_window(self) -> None:
        """Lets rates, shares and times of an element be those from now on; in the thread that pulls."""
        self._figures.begin_window()

    def failures(self) -> tuple[StageFailures, ...]:
        """Returns which elements failed so far."""
        return self._failures.all()

    def decisions(self) -> tuple[Decision, ...]:
        """Returns what was decided so far, and why."""
        return self._context.decisions.all()

    def stalls(self) -> tuple[Stall, ...]:
        """Returns what the threads of this run hold at this moment."""
        return self._vigil.stalls()

    @property
    def waiting_s(self) -> float:
        """For how long its consumer has waited for what comes next; 0 where it does not wait."""
        return self._vigil.waited_s

    def _held_elsewhere(self) -> tuple[Stall, ...]:
        return () if self._elsewhere is None else self._elsewhere.stalls()

    def _threads(self) -> list[int]:
        """Returns the threads that work for this run now."""
        ours = [*(self._root.threads() if self._root else ()), *(self._pool.threads if self._pool else ())]
        idents = [self._puller, *(thread.ident for thread in ours)]
        return [ident for ident in idents if ident is not None]

    def close(self, *, is_read: bool = False) -> None:
        """Ends every wait, joins every thread, and gives back what the stages hold.

        May be called again: by the same thread, whose first call Ctrl-C may have cut short, to see it through.

        Args:
            is_read: whether its consumer got the end: then its processes stay for the next epoch.
        """
        with self._turning:
            if self._closer not in (None, threading.get_ident()):
                return
            self._closer = threading.get_ident()
            self._phase = NEXT[self._phase, CLOSE]
        self._watch.end()
        self._figures.end()
        self.stop()
        self._stop_workers(stay=is_read)
        # A function, or a garbage collection, may close the run in the very thread that reads it: pull gives back then.
        if self._puller != threading.get_ident():
            with self._pulling:
                self._give_back()

    def drop(self) -> None:
        """Closes it, where a garbage collection found that nobody reads it."""
        self.close()

    def stop(self) -> None:
        """Ends every wait and begins no new work; waits for nothing itself."""
        with self._turning:
            self._phase = NEXT[self._phase, STOP]
        if self._root is not None:
            self._root.stop()
        if self._pool is not None:
            self._pool.stop()
        self._callers.stop()
        if self._elsewhere is not None:
            self._elsewhere.stop()

    @property
    def ram_budget_bytes(self) -> int:
        """How much it may hold."""
        return self._budget.total_bytes

    def ahead(self) -> Ahead:
        """Returns where its reader says what it has ready."""
        return self._budget.ahead()

    def gathering(self, stage: str) -> Holding:
        """Returns where its reader says what it must hold."""
        return self._budget.gathering(stage, "")

    @property
    def block_bytes(self) -> int:
        """How much a block may have that its reader has in hand."""
        return self._budget.block_bytes

    @property
    def held_bytes(self) -> tuple[int, int]:
        """How much it holds now, and the most that it held so far."""
        return self._budget.all_bytes, self._budget.highest_bytes

    @property
    def share_bytes(self) -> int:
        """How much each that reads ahead may hold now."""
        return self._budget.share_bytes

    @property
    def workers(self) -> int:
        """How many threads the one pool may have; 0 where nothing runs in parallel."""
        return 0 if self._pool is None else self._pool.workers

    @property
    def restarts(self) -> int:
        """How many processes that called functions died and were replaced."""
        return 0 if self._elsewhere is None else self._elsewhere.restarts

    @property
    def is_read(self) -> bool:
        """Whether a thread reads the plan at this moment."""
        return self._puller is not None

    def is_read_by(self, ident: int) -> bool:
        """Returns whether that thread reads the plan at this moment."""
        return self._puller == ident

    def _stop_workers(self, *, stay: bool) -> None:
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
        self._callers.close()
        if self._elsewhere is not None:
            self._elsewhere.close(stay=stay)

    def _give_back(self) -> None:
        if self._root is None or self._phase is CLOSED:
            return
        try:
            with self._turning:  # first: a generator that is ended may close this very run
                self._phase = NEXT[self._phase, GIVE_BACK]
            self._root.close()
            # What stages made and nobody took goes now: the run itself may wait for a garbage collection.
            self._root = None
            if self._context.gates is not None:
                self._context.gates.drop_tasks()
        except BaseException:
            with self._turning:
                self._phase = NEXT[self._phase, KEEP]
            raise
