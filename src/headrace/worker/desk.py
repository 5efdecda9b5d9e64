"""What a process beside the trainer is asked: to hold a plan, to run it, where a run stands, and to end it."""

from __future__ import annotations

import logging
import pickle
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from headrace.caching.memory import MemoryCache
from headrace.errors import HeadraceError
from headrace.observe.stalls import Vigil
from headrace.plan.buffering import Cache
from headrace.plan.node import Node, nodes_of
from headrace.processes.connection import Connection
from headrace.processes.errors_sent import sent_error
from headrace.processes.orders import NOT_NEEDED
from headrace.processes.outbox import LOGGED
from headrace.processes.progress import Progress, leaving_stacks
from headrace.processes.segment import Segment
from headrace.processes.shipping import Part, made_there, unshipped
from headrace.processes.worker_info import WorkerInfo, become
from headrace.worker.leaving import leave, leave_where_lost

if TYPE_CHECKING:  # what runs a pipeline is imported by a process that is to run one
    from headrace.processes.orders import RunOrder
    from headrace.processes.setting import Changes
    from headrace.processes.slab import Slab
    from headrace.worker.served_run import ServedRun

__all__ = ["Desk"]

Answer = Callable[..., None]
# How long a process stays that nobody needs, if it is told nothing else: the next epoch mostly begins at once.
_IDLE_S: Final = 1.0


class Desk:
    """Hears questions.

    Args:
        answer: tells a question's number and its answer, or the error instead.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._plans: dict[int | None, Node] = {}
        self._runs: dict[int, ServedRun] = {}
        self._slabs: dict[int, Slab] = {}  # of runs that have ended, whose readers have all that was sent
        self._callers: set[int] = set()  # threads that call functions
        self._left: set[int] = set()  # runs that are being ended
        self._counting = threading.Lock()
        self._works = 0  # runs, and threads that call functions
        self._idle_since_s: float | None = None
        self._stays_s = _IDLE_S
        logging.getLogger().addHandler(_Telling(answer))

    def hear(self, number: int, word: str, values: Sequence[Any], descriptors: Sequence[int]) -> None:
        """Answers a question, at once or, where that may take long, by a thread."""
        if word in ("close", "stalls") or (word == "position" and not values[1]):
            _in_thread(self._try, number, word, values, descriptors)
            return
        self._try(number, word, values, descriptors)

    def wait(self, connection: Connection) -> None:
        """Waits for a question; ends the runs meanwhile whose readers are gone, and the process when nobody has needed it for a while."""
        while True:
            self._leave_if_idle()
            poll = select.poll()
            poll.register(connection.fileno(), select.POLLIN)
            runs = {
                served.connection.fileno(): run for run, served in list(self._runs.items()) if run not in self._left
            }
            runs.pop(-1, None)  # one that another thread has just closed
            for descriptor in runs:
                poll.register(descriptor, 0)  # its end alone
            found = [descriptor for descriptor, _ in poll.poll(1e3 * self._may_wait_s())]
            if connection.fileno() in found:
                return  # a question may be about a run whose reader has gone behind it
            for descriptor in found:
                if descriptor in runs and runs[descriptor] not in self._left:
                    self._left.add(runs[descriptor])
                    _in_thread(self._close, runs[descriptor])

    def _try(self, number: int, word: str, values: Sequence[Any], descriptors: Sequence[int]) -> None:
        try:
            value = getattr(self, f"_{word}")(*values, *descriptors)
        except BaseException as error:  # noqa: BLE001 - who asked is to have it, whatever it is
            self._answer(number, None, error)
        else:
            self._answer(number, value)

    def _plan(
        self, key: int, before: int | None, body: bytes, parts: Sequence[Part], stacks: int, *descriptors: int
    ) -> None:
        replaced = self._plans.pop(before, None)
        with leaving_stacks(stacks):
            memories = [Segment.received(descriptor, is_shared=False) for descriptor in descriptors]
            self._plans[key] = unshipped(body, parts, memories)
        del replaced  # not sooner: what a process has once is in both

    def _learn(self, function: bytes) -> None:
        made_there(function)

    def _change(self, changes: Changes) -> None:
        changes.make()

    def _run(self, key: int, run: int, order: bytes, slab: int, descriptor: int) -> tuple[int, int, int, bool]:
        from headrace.processes.slab import Slab
        from headrace.worker.served_run import ServedRun

        self._begin_work()
        become(WorkerInfo(0, 1, "subprocess"))
        connection = Connection.received(descriptor)
        memory = self._slabs.pop(slab, None)
        try:
            decoded: RunOrder = pickle.loads(order)
            self._runs[run] = served = ServedRun(self._plans[key], decoded, connection, memory or Slab())
        except BaseException:
            self._end_work()
            raise
        return served.run.workers, served.run.ram_budget_bytes, served.run.share_bytes, memory is not None

    def _serve(self, segment_bytes: int, info: WorkerInfo, descriptor: int, progress: int, stacks: int) -> None:
        self._begin_work()
        become(info)
        connection = Connection.received(descriptor)
        _in_thread(self._serve_until_it_is_left, connection, Progress.received(progress), stacks, segment_bytes)

    def _serve_until_it_is_left(
        self, connection: Connection, progress: Progress, stacks: int, segment_bytes: int
    ) -> None:
        from headrace.worker.served_calls import serve_calls

        self._callers.add(threading.get_ident())
        try:
            serve_calls(connection, progress, stacks, segment_bytes)
        except OSError as error:
            leave_where_lost(error)
            raise
        finally:
            self._callers.discard(threading.get_ident())
            connection.close()
            self._end_work()

    def _position(self, run: int, number: int, count: int) -> Any:
        served = self._runs.get(run)
        return None if served is None else served.position(number, count)

    def _again(self, run: int, number: int) -> Any:
        return self._running(run).again(number)

    def _caches(self, run: int) -> Any:
        return self._running(run).caches()

    def _settled(self, run: int, asked: Sequence[tuple[int, int]]) -> Any:
        """Returns all that may be asked for when a run is over: what each stage did, positions or why there is none, what the caches give."""
        return self._told_at_end(self._running(run), asked)

    def _told_at_end(self, served: ServedRun, asked: Sequence[tuple[int, int]]) -> Any:
        return _figures(served), [_told(served, *one) for one in asked], served.caches()

    def _inside(self, dataset: int, number: int, count: int) -> Any:
        from headrace.worker.served_readings import position_inside

        return position_inside(dataset, number, count)

    def _stages(self, run: int) -> Any:
        return _figures(self._running(run))

    def _stalls(self, run: int) -> Any:
        served = self._runs.get(run)
        return () if served is None else served.run.stalls()

    def _running(self, run: int) -> ServedRun:
        served = self._runs.get(run)
        if served is None:  # another thread of the trainer has closed it
            from headrace.processes.host import Gone  # it is the other side's

            raise Gone("the run was closed")
        return served

    def _held(self) -> Any:
        return Vigil(None, lambda: list(self._callers), None).stalls()

    def _leave(self, run: int, asked: Sequence[tuple[int, int]], slab: int) -> Any:
        """Lets a run go that has told its reader of its end, and what it shares with that to the next one; returns what may be asked for later."""
        served = self._running(run)
        self._close(run, slab)
        return self._told_at_end(served, asked)

    def _close(self, run: int, slab: int | None = None) -> None:
        """Ends a run; what it shares with its reader is for another one where it has a number."""
        served = self._runs.get(run)
        if served is None:
            return
        self._left.add(run)  # before its connection is shut, which is no reader's end
        served.close()
        if self._runs.pop(run, None) is not None:  # and no other thread has closed it meanwhile
            self._left.discard(run)
            if slab is None:
                served.slab.let_go()
            else:
                self._slabs[slab] = served.slab
            self._end_work()

    def _stay(self, stays_s: float) -> None:
        """Waits so long for other work when it has ended what it has."""
        self._stays_s = stays_s

    def _keeps_epochs(self) -> bool:
        """Returns whether a cache in memory holds an epoch, which would be lost with the process."""
        caches = [node for plan in self._plans.values() for node in nodes_of(plan) if isinstance(node, Cache)]
        return any(isinstance(cache.store, MemoryCache) and cache.store.cached is not None for cache in caches)

    def _begin_work(self) -> None:
        with self._counting:
            self._works += 1
            self._idle_since_s = None
            self._stays_s = _IDLE_S

    def _end_work(self) -> None:
        with self._counting:
            self._works -= 1
            if not self._works and not self._keeps_epochs():
                self._idle_since_s = time.monotonic()

    def _may_wait_s(self) -> float:
        """Returns how long nothing has to be looked at, not even work that another thread ends meanwhile."""
        since_s = self._idle_since_s
        return _IDLE_S if since_s is None else max(0.0, since_s + self._stays_s - time.monotonic())

    def _leave_if_idle(self) -> None:
        since_s = self._idle_since_s
        if since_s is not None and time.monotonic() - since_s >= self._stays_s:
            leave(NOT_NEEDED)

    def close(self) -> None:
        """Ends all runs."""
        for run in list(self._runs.values()):
            run.close()


def _figures(served: ServedRun) -> Any:
    run = served.run
    return run.stages(), run.restarts, run.failures(), run.decisions(), run.held_bytes


def _told(served: ServedRun, number: int, count: int) -> tuple[Any, Any]:
    try:
        return served.position(number, count), None
    except HeadraceError as error:
        return None, sent_error(error)


def _in_thread(function: Callable[..., object], *args: object) -> None:
    threading.Thread(target=function, args=args, name="headrace-desk", daemon=True).start()


class _Telling(logging.Handler):
    """Has the trainer's own handlers write down what is logged here."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._tell = answer

    def emit(self, record: logging.LogRecord) -> None:
        """Sends a record, in words."""
        try:
            told = _in_words(record)
        except Exception:  # noqa: BLE001 - a value's class may say anything; as with other handlers that costs who logs nothing
            self.handleError(record)
        else:
            self._tell(LOGGED, told)


def _in_words(record: logging.LogRecord) -> dict[str, Any]:
    """Returns what is told of a record.

    Raises:
        Exception: its arguments do not fit its message, or one of them has no words.
    """
    told = {
        key: value
        for key, value in vars(record).items()
        if isinstance(value, str | int | float) and key not in ("msg", "args")
    }
    told["msg"] = record.getMessage()
    if record.exc_info and record.exc_info[0] is not None:
        told["exc_text"] = logging.Formatter().formatException(record.exc_info)
    return told
