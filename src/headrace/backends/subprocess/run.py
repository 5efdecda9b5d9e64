"""One run of a plan in another process, read here."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections import deque
from typing import Any, Final

from headrace import exiting
from headrace.backends.subprocess.ending import Ending
from headrace.backends.subprocess.fillings import RemoteFillings
from headrace.backends.subprocess.plan_process import as_sent, process_of, without_options
from headrace.backends.subprocess.run_order import NOTHING_KNOWN, order_of_run
from headrace.backends.subprocess.session import Session
from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State
from headrace.blocks.deep_states import in_pieces, whole
from headrace.blocks.origin import WordedOrigin
from headrace.errors import FailedPreconditionError, HeadraceError, WorkerError
from headrace.log import LOG
from headrace.observe.decisions import Decision
from headrace.observe.failures import StageFailures
from headrace.observe.run_watch import RunWatch
from headrace.observe.stalls import Stall, Vigil
from headrace.observe.stats import StageStats
from headrace.physical.budget import Ahead, Budget
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.physical.stage import Item
from headrace.plan.node import Node
from headrace.plan.options import STALL_WARNING_S, Options
from headrace.processes.elements_packed import ElementsUnpacker
from headrace.processes.errors_sent import received_error
from headrace.processes.host import FORKED, Gone
from headrace.processes.orders import Given, Kind, Known
from headrace.processes.parcels import unpacked
from headrace.processes.positions import Mark, RemoteCursor, received_apart
from headrace.processes.snapshot import all_of
from headrace.processes.spare import let_stay
from headrace.semantics.run_context import OwnEnd, Seeds

__all__ = ["RemoteRun"]

# How often a process may die in one run before that is the run's error.
_MOST_RESTARTS: Final = 10
# How long a process may take to end a run before it is killed with it, and to tell what holds it up.
_CLOSING_S: Final = 2.0
_TELLING_S: Final = 1.0
_NO_ORIGIN: Final = WordedOrigin(())


class _RemoteVigil(Vigil):
    """Watches over a run that another process makes: what holds it up is asked there."""

    def __init__(self, run: RemoteRun, patience_s: float | None) -> None:
        super().__init__(None, tuple, patience_s)
        self._asked = weakref.WeakMethod(run.stalls)  # or the process would live until the garbage collector came by

    def stalls(self) -> tuple[Stall, ...]:
        asked = self._asked()
        return () if asked is None else asked()


class RemoteRun:
    """One run of a plan, in a process beside this one; to its iterator it is as ``engine.Run`` is.

    Args:
        plan: what runs, as it was built.
        options: how.
        seeds: of its random operations.
        epoch: the index of the epoch.
        fillings: what its caches give, which is asked for there from now on.
        feeds: how many buffers its reader fills.
        policy: what it does where it is free to choose.
        most: how many elements come at once; None is as many as go well.
    """

    def __init__(
        self,
        plan: Node,
        options: Options,
        *,
        seeds: Seeds,
        epoch: int,
        fillings: RemoteFillings,
        feeds: int = 0,
        policy: RunPolicy = USUAL,
        most: int | None = None,
    ) -> None:
        self._beside, self._plan = process_of(plan), as_sent(plan)
        self._label = without_options(plan).label
        self._order = order_of_run(plan, options, seeds=seeds, epoch=epoch, feeds=feeds, policy=policy, most=most)
        self._most_restarts = _MOST_RESTARTS if options.max_restarts is None else options.max_restarts
        self._fillings = fillings
        self._session: Session | None = None
        self._ending: Ending | None = None
        self._known = NOTHING_KNOWN
        self._unpacker = ElementsUnpacker()
        self._places = 0  # elements and failures that have come
        self._died_at: int | None = None
        self.is_closed = False
        self._closing = threading.RLock()  # Ctrl-C may have it closed again by the thread that is closing it
        self._turning = threading.RLock()  # a garbage collection may close it in the very thread that does
        self._last_stages: tuple[StageStats, ...] = ()
        self._failures_there: tuple[StageFailures, ...] = ()
        self._decisions_there: tuple[Decision, ...] = ()
        patience_s = STALL_WARNING_S if options.stall_warning_s is None else options.stall_warning_s
        self._vigil = _RemoteVigil(self, patience_s or None)
        self._watch = RunWatch(self._vigil)
        self.cursors: Final[weakref.WeakSet[RemoteCursor]] = weakref.WeakSet()
        self.first_elements: Final = 1
        self.made_elements: Final = 0  # they come in blocks, which are given as they come
        self.own_end: Final = OwnEnd()
        self.is_spent = self._is_last = False
        self._ready: deque[Item] = deque()  # what came and could not be made again together
        self._deaths = 0
        self._restarts_there = 0  # of processes that its own process has
        self.workers = self.ram_budget_bytes = 0
        self._held_there = (0, 0)
        self._feeds: Budget | None = None  # what is ready here; once it has begun

    # --------------------------------------------------------------- running

    def open(self, state: State | None) -> None:
        """Begins it at a state or at the start."""
        exiting.hold()
        self._sent = self._beside.sent(self._plan)
        self._known = Known(None if state is None else in_pieces(state), self._fillings.saved, 0)
        self._begin(is_resumed=self._fillings.is_restored)
        self._watch.begin()
        if self.is_closed:  # by another thread, before that
            self._watch.end()

    def _begin(self, *, is_resumed: bool) -> None:
        self._order = self._order._replace(
            start=self._known, is_resumed=is_resumed, skipped=self._places - self._known.places
        )
        session, told = self._beside.begin(self._sent, self._order, self._plan)
        self.workers, self.ram_budget_bytes, share_bytes = told
        if self._feeds is None:
            self._feeds = Budget(share_bytes)
        with self._turning:
            self._session = session
            is_closed = self.is_closed
        self._fillings.follow(self)
        if is_closed:  # by another thread, which saw no process yet
            session.connection.shut()

    def pull(self, limit: int) -> Item:
        """Returns what comes next; None at the end, and when the run was closed meanwhile."""
        self._vigil.waiting_since_s = self._vigil.now_s()
        try:
            if self._ready:
                return self._next_ready()
            while not (self.is_closed or self.is_spent):
                session = self._session
                assert session is not None  # it was opened
                if not session.is_ours:
                    raise FailedPreconditionError(FORKED)
                given = session.received()
                with contextlib.suppress(Gone):  # and so it ended before it had told all
                    if given is not None:
                        return self._item(session, given)
                exiting.hold()
                if not self.is_closed:
                    self._begin_again(session)
            return None
        finally:
            self._vigil.waiting_since_s = None

    def _item(self, session: Session, given: Given) -> Item:
        before, places = self._known, self._places
        mark = Mark(self, session, given.number, before, places)
        self.own_end.steps = given.own_end if given.own_end is not None else self.own_end.steps
        if given.kind is Kind.END:
            self.is_spent = session.is_read = True
            return None
        assert given.parcel is not None  # of all but the end
        try:
            unpack = self._unpacker.unpacked if given.kind is Kind.ELEMENTS else unpacked
            value: Any = unpack(given.parcel, session.memory.leases)
        except HeadraceError:
            raise
        except Exception:  # a class may say anything that cannot be made again
            if given.parcel.is_plain:  # it is none of theirs, and the process has kept nothing
                raise
            value = session.host.ask("again", session.number, given.number)
            self._ready += received_apart(value, mark, self._label)
        if given.kind is Kind.ERROR:
            self.is_spent = True
            raise received_error(value, f"process {session.host.pid}")
        self._places += given.length
        self._known = given.known or self._known
        self._is_last = session.is_read = given.is_last
        if self._ready:
            return self._next_ready()
        self.is_spent = given.is_last
        if given.kind is Kind.FAILURE:
            error = received_error(value, f"process {session.host.pid}")
            assert isinstance(error, HeadraceError)  # of an element
            return Failure(error, RemoteCursor(mark, 0), RemoteCursor(mark, 1))
        return Block(value, RemoteCursor(mark, 0), _NO_ORIGIN)

    def _next_ready(self) -> Item:
        item = self._ready.popleft()
        self.is_spent = self._is_last and not self._ready
        return item

    def _begin_again(self, session: Session) -> None:
        """Goes on in another process, as the one that ran the plan has died.

        Raises:
            WorkerError: it has died too often, or twice at the same element.
        """
        session.connection.close()
        how = session.host.how_it_ended()
        where = f"after element {self._places} of this run"
        if self._died_at == self._places:
            raise WorkerError(f"the process that runs the pipeline {how} twice {where}", stage=self._label)
        self._died_at = self._places
        self._deaths += 1
        if self._deaths > self._most_restarts:
            raise WorkerError(
                f"the process that runs the pipeline {how} {where}, and was started again {self._most_restarts} times "
                "before, as often as Options(max_restarts=) allows",
                stage=self._label,
            )
        if not self._order.is_ordered and self._places != self._known.places:
            raise WorkerError(
                f"the process that runs the pipeline {how} {where}, and what was read since its last position cannot be left out with "
                "deterministic=False: begin with a state that was saved",
                stage=self._label,
            )
        LOG.warning("the process that runs the pipeline (pid %d) %s, %s: another goes on", session.host.pid, how, where)
        self._begin(is_resumed=self._order.is_resumed or self._known.places > 0)

    def refuse_own_functions(self) -> None:
        """Functions of the plan run elsewhere, and cannot have this iterator."""

    # ------------------------------------------------------------- positions

    def state_at(self, mark: Mark, count: int) -> State:
        """Returns a position: of the process, or made again where that has ended."""
        if isinstance(mark.session, Session):
            mark.session.host.refuse_handlers()
        try:
            # While it runs, it may be long in a function that keeps Python's lock.
            return self.asked_state(mark, count, _CLOSING_S if self.is_closed else None)
        except Gone:
            return self._made_again(mark, count)

    def asked_state(self, mark: Mark, count: int, patience_s: float | None = _CLOSING_S) -> State:
        """Returns a position.

        Raises:
            Gone: the process has ended, or has ended the run.
        """
        session = mark.session
        assert isinstance(session, Session)  # which gave the item
        told = session.host.ask("position", session.number, mark.number, count, patience_s=patience_s)
        if told is None:
            raise Gone("the run was closed")
        state: State = whole(*told)
        return state

    def _made_again(self, mark: Mark, count: int) -> State:
        """Returns a position by reading up to it once more, from one that is known.

        Raises:
            FailedPreconditionError: the run gives what is ready first.
            WorkerError: so many processes have died of it as the run may have.
        """
        if not self._order.is_ordered:
            raise FailedPreconditionError(
                "the process that ran the pipeline has died, and which elements it had given cannot be found out with "
                "deterministic=False: use a state that was saved earlier"
            )
        known = mark.known
        order = self._order._replace(start=known, skipped=mark.places - known.places + count)
        return self._beside.position(self._sent, order, 1 + self._most_restarts, self._label)

    def caches(self) -> State | None:
        """Returns what its caches give."""
        session = self._session
        if session is None:
            return self._known.caches
        try:
            found: State | None = session.host.ask("caches", session.number, patience_s=_CLOSING_S)
        except Gone:
            return self._known.caches
        return found

    # --------------------------------------------------------------- looking

    def stages(self) -> tuple[StageStats, ...]:
        """Returns what each stage did so far, sources first; where the process died, since then."""
        session = self._session
        if session is not None and not self.is_closed:
            with contextlib.suppress(Gone):
                self._see(session.host.ask("stages", session.number, patience_s=_TELLING_S))
        if (ending := self._ending) is not None:
            with contextlib.suppress(Gone):
                self._see(ending.figures())
        return self._last_stages

    def _see(self, told: tuple[Any, ...]) -> None:
        (
            self._last_stages,
            self._restarts_there,
            self._failures_there,
            self._decisions_there,
            self._held_there,
        ) = told

    @property
    def restarts(self) -> int:
        """How many processes died and were replaced: its own, and as far as it was asked those that called functions."""
        return self._deaths + self._restarts_there

    def failures(self) -> tuple[StageFailures, ...]:
        """Returns which elements had failed when it was asked last what each stage did; where the process died, since then."""
        return self._failures_there

    @property
    def held_bytes(self) -> tuple[int, int]:
        """How much it held when it was asked last what each stage did, and the most until then; with what is ready here."""
        here = Budget(1) if self._feeds is None else self._feeds
        return self._held_there[0] + here.all_bytes, self._held_there[1] + here.highest_bytes

    def ahead(self) -> Ahead:
        """Returns where its reader says what it has ready."""
        assert self._feeds is not None  # as it has begun
        return self._feeds.ahead()

    def decisions(self) -> tuple[Decision, ...]:
        """Returns what was decided, as far as it was told; where the process died, since then."""
        return self._decisions_there

    @property
    def waiting_s(self) -> float:
        """For how long its consumer has waited for what comes next; 0 where it does not wait."""
        return self._vigil.waited_s

    def stalls(self) -> tuple[Stall, ...]:
        """Returns what the threads of this run hold at this moment, in their process."""
        session = self._session
        if session is None or self.is_closed:
            return ()
        try:
            found: tuple[Stall, ...] = session.host.ask("stalls", session.number, patience_s=_TELLING_S)
        except Gone as gone:
            return (Stall(self._label, None, _TELLING_S, f"process {session.host.pid}", f"  {gone.reason}\n"),)
        return found

    # ---------------------------------------------------------------- ending

    def drop(self) -> None:
        """Ends it, and waits for nothing: a garbage collection may call it in the middle of anything."""
        self.is_closed = True
        self._watch.end()
        session = self._session
        if session is not None and session.is_ours:
            session.connection.shut()  # which the process hears

    def close(self, *, is_read: bool = False) -> None:
        """Ends it: its threads are joined in their process, which stays for another epoch where this one ``is_read`` to its end. May be called again."""
        with self._turning:
            session, was_closed, self.is_closed = self._session, self.is_closed, True
        self._watch.end()
        if session is not None and session.is_ours:
            with self._closing:  # or the second of two threads would end what the first is asking
                if not was_closed:
                    self._settle(session, stays=is_read)
                session.connection.shut()

    def _settle(self, session: Session, *, stays: bool) -> None:
        """Asks for what may be asked for later, and ends the run; a process that does not answer is killed."""
        host = session.host
        own = [(one, place) for one in all_of(self.cursors) if one.is_of(session) and (place := one.place) is not None]
        places = [place for _, place in own]
        try:
            if stays:
                let_stay(host)
            if session.is_read:
                session.hear_closed(_CLOSING_S)
                answer = host.tell("leave", session.number, places, session.memory.number)
                self._beside.keep(session.memory)
            else:
                answer = host.tell("settled", session.number, places)
            self._ending = ending = Ending(answer, host.pid)
            self._fillings.settle_later(ending.caches)
            for index, (cursor, _) in enumerate(own):
                cursor.settle_later(functools.partial(ending.position, index))
            if not session.is_read:
                host.ask("close", session.number, patience_s=_CLOSING_S)
        except Gone:
            host.kill()
