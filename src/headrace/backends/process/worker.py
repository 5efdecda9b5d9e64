"""One process that calls functions, as the thread sees it that waits for it."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import pickle
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from headrace.backends.process.deadlines import Deadlines, Late
from headrace.backends.process.doing import Calling, Functions, Reading
from headrace.backends.process.pieces import pieces_received
from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.cursor import State
from headrace.blocks.deep_states import whole
from headrace.blocks.origin import words_of
from headrace.errors import CancelledError, DeadlineExceededError, HeadraceError, InvalidArgumentError
from headrace.observe.failures import Failures
from headrace.observe.meter import Meter
from headrace.observe.stalls import Stall
from headrace.processes.arena import Arena
from headrace.processes.connection import connected
from headrace.processes.elements_alone import UnmadeError, unmade
from headrace.processes.elements_sent import refused, sent_elements
from headrace.processes.errors_sent import received_error
from headrace.processes.host import Gone, Host
from headrace.processes.leases import Leases
from headrace.processes.orders import Again, Answer, Call, Came, Opening, Read
from headrace.processes.parcels import Parcel, packed, unpacked
from headrace.processes.progress import SIGNAL, Phase, Progress, Stacks
from headrace.processes.spare import give_host
from headrace.processes.unprepared import not_prepared
from headrace.processes.worker_info import WorkerInfo
from headrace.semantics.held_bytes import Holding
from headrace.semantics.timed_calls import Overtime

__all__ = ["Preparing", "Unprepared", "Unsendable", "Visit", "WorkerProcess"]


# How long a process may take to write its stacks before it is killed.
_PATIENCE_S: Final = 1.0
_LONGEST_WAIT_S: Final = 1e6  # more milliseconds have no room in a poll
_visits: Final = itertools.count(1)


class Unprepared(Gone):
    """It has ended before it called any function, so no element is to blame."""


class Unsendable(InvalidArgumentError):  # noqa: N818 - it is news, which its hearers act on
    """An element cannot be sent; nothing was."""


class Preparing(NamedTuple):
    """What a process does before it calls functions.

    Attributes:
        stage: what ``Options(worker_init=)`` is called.
        limit_s: how long it may take to start, to import and to be prepared, each; None is as long as it takes.
    """

    stage: str
    limit_s: float | None


class Visit(NamedTuple):
    """A dataset that one process has open.

    Attributes:
        worker: the process.
        number: of the dataset there.
    """

    worker: WorkerProcess
    number: int

    def forget(self, number: int) -> None:
        """Notes that nobody asks for a position in an item any more."""
        self.worker.forget(self, number)


class WorkerProcess:
    """A process, which one thread at a time uses.

    Args:
        host: the process.
        holding: is told what it holds, beside the elements that lie in its memory.
        info: which of the run's it is.
        segment_bytes: how large its pieces of shared memory are at least, or less where that is less than usual.
        preparing: how long it may take before it calls functions.

    Attributes:
        info: which of the run's it is.
        open_datasets: how many datasets it has open, or was told of.
    """

    def __init__(
        self, host: Host, holding: Holding, info: WorkerInfo, segment_bytes: int, preparing: Preparing
    ) -> None:
        self._host = host
        self.info: Final = info
        self._holding = holding
        self._held_bytes = 0
        self._preparing = preparing
        try:
            self._begin_to_serve(segment_bytes)
        except BaseException:  # no descriptor is left, as a rule
            host.kill()  # which nobody else knows
            raise
        self._host.watch(self._connection)
        self._arena = Arena(segment_bytes)
        self._leases = Leases()
        self._told: set[int] = set()
        # Each is told with the next order; a garbage collection adds to them.
        self._gone: deque[tuple[int, int]] = deque()
        self._closed: deque[int] = deque()
        self.open_datasets = 0
        self._is_stopped = False
        self._doing: Calling | Reading | None = None

    def _begin_to_serve(self, segment_bytes: int) -> None:
        """Has the process serve calls."""
        self._connection, its = connected()
        with its:
            self._stacks = Stacks()
            self._progress, noted = Progress.made()
            try:
                self._serving = self._host.tell(
                    "serve", segment_bytes, self.info, descriptors=(its.fileno(), noted, self._stacks.writing)
                )
            finally:
                os.close(noted)
                self._stacks.close_writing()

    @property
    def is_ready(self) -> bool:
        """Whether it serves calls, so that nobody would wait for it to start."""
        return self._serving.is_there.is_set

    @property
    def phase(self) -> Phase:
        """What it does, or did when it ended."""
        return self._progress.phase

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._host.pid

    @property
    def is_alive(self) -> bool:
        """Whether nothing is known of its end."""
        return self._host.is_alive

    def how_it_ended(self) -> str:
        """Says how it ended."""
        return self._host.how_it_ended()

    @property
    def ended_by_itself(self) -> bool:
        """Whether it ended because nobody had needed it for a while."""
        return self._host.ended_by_itself

    def call(self, functions: Functions, block: Block) -> list[BlockOrFailure]:
        """Returns the pieces that it makes of a block.

        Raises:
            Gone: it died.
            Overtime: a function did not return in time; it was killed.
            CancelledError: it was stopped.
            Unsendable: an element cannot be sent to it.
            InvalidArgumentError: functions cannot be had there.
        """
        try:
            parcel = packed(sent_elements(block.payload), self._arena)
        except HeadraceError:
            raise
        except Exception as error:
            raise _unsendable(functions, block, refused(block.payload.rows()[0], error, "a process")) from error
        body = None if functions.key in self._told else functions.body
        is_told_origins = any(callable(one.on_error) for one in functions.maps)
        words = words_of(block.origin, len(block)) if is_told_origins else None
        self._doing = Calling(functions, block, time.perf_counter())
        try:
            answer = self._answered(Call(functions.key, body, parcel, words, self._leases.gone()), functions)
        finally:
            self._doing = None
        self._told.add(functions.key)
        functions.failures.add(answer.failures)
        functions.meter.count_cpu(answer.cpu_s, 0.0)  # how long it took is counted by the thread that waited
        if answer.parcel is None:
            refusal = received_error(answer.error, f"process {self.pid}")
            if isinstance(refusal, UnmadeError):
                message = unmade(block.payload.rows()[0], refusal, "a process")
                raise _unsendable(functions, block, message) from refusal.__cause__
            if isinstance(refusal, InvalidArgumentError):  # they cannot be made there
                refusal = refusal.located(stage=functions.stage, origin=None)
            raise refusal
        return pieces_received(functions, block, self._unpacked(answer.parcel), f"process {self.pid}")

    def read(
        self, visit: Visit, opening: Opening | None, limit: int, meter: Meter, failures: Failures, origin: str
    ) -> Came:
        """Returns what it reads next of a dataset, which was made of an element from there.

        Raises:
            Gone: it died.
            CancelledError: it was stopped.
            Unsendable: the element that opens it cannot be sent.
        """
        parcel = None
        if opening is not None:
            body = None if opening.key in self._told else opening.function
            try:
                parcel = packed(opening._replace(function=body), self._arena)
            except HeadraceError:
                raise
            except Exception as error:
                raise Unsendable(refused(opening.element, error, "a process")) from error
        gone = [self._gone.popleft() for _ in range(len(self._gone))]
        closed = [self._closed.popleft() for _ in range(len(self._closed))]
        self._doing = Reading(meter.name, origin, time.perf_counter())
        try:
            answer = self._answered(Read(visit.number, parcel, limit, closed, gone, self._leases.gone()), None)
        finally:
            self._doing = None
        meter.count_cpu(answer.cpu_s, 0.0)
        failures.add(answer.failures)
        if answer.parcel is None:
            refusal = received_error(answer.error, f"process {self.pid}")
            if isinstance(refusal, UnmadeError) and opening is not None:
                raise Unsendable(unmade(opening.element, refusal, "a process")) from refusal.__cause__
            raise refusal
        if opening is not None:
            self._told.add(opening.key)
            self.open_datasets += 1
        came: Came = self._unpacked(answer.parcel)
        return came

    def _unpacked(self, parcel: Parcel) -> Any:
        """Returns what it sent, or where that cannot be made again has it sent each element by itself."""
        try:
            return unpacked(parcel, self._leases)
        except HeadraceError:
            raise
        except Exception:  # a class may say anything that cannot be made again
            if parcel.is_plain:  # it is none of theirs, and the process has kept nothing
                raise
            answer = self._answered(Again(self._leases.gone()), None)
        if answer.parcel is None:
            raise received_error(answer.error, f"process {self.pid}")
        return unpacked(answer.parcel, self._leases)

    def position(self, visit: Visit, number: int, count: int, patience_s: float) -> State:
        """Returns a position in an item, or with the number 0 the one after what a dataset was opened to skip.

        Raises:
            Gone: it has ended, or does not know.
        """
        told = self._host.ask("inside", visit.number, number, count, patience_s=patience_s)
        if told is None:
            raise Gone("the dataset was closed")
        state: State = whole(*told)
        return state

    def visit(self) -> Visit:
        """Returns a number for a dataset that it is to open."""
        return Visit(self, next(_visits))

    def forget(self, visit: Visit, number: int) -> None:
        """Notes that nobody asks for a position in an item any more."""
        self._gone.append((visit.number, number))

    def leave(self, visit: Visit) -> None:
        """Notes that nothing is read of a dataset any more."""
        self.open_datasets -= 1
        self._closed.append(visit.number)

    def _answered(self, call: Call | Read | Again, functions: Functions | None) -> Answer:
        descriptors = self._arena.fresh()
        try:
            self._connection.send(pickle.dumps(call, pickle.HIGHEST_PROTOCOL), descriptors)
            self._wait_in_time(functions)
            received = self._connection.receive()
        except DeadlineExceededError:  # a TimeoutError, and so an OSError
            raise
        except OSError:
            received = None
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if received is None and self._is_stopped:
            raise CancelledError("the run was closed")
        if received is None:
            how = self._host.how_it_ended()  # which waits for its end: then it notes nothing more
            raise (Gone if self.phase is Phase.WORKING else Unprepared)(how)
        self._leases.add(received[1])
        answer: Answer = pickle.loads(received[0])
        for place in answer.places:
            self._arena.give(place)
        self._holds(answer.held_bytes)
        return answer

    def _holds(self, there_bytes: int) -> None:
        """Says what it holds: in datasets that it reads, and shared memory that is there for the next elements."""
        held_bytes = there_bytes + self._arena.free_bytes + self._leases.free_bytes
        self._holding.add(held_bytes - self._held_bytes)
        self._held_bytes = held_bytes

    def _wait_in_time(self, functions: Functions | None) -> None:
        """Waits for an answer where anything has a timeout.

        Raises:
            Overtime: a function did not return in time.
            DeadlineExceededError: the process did not come to call any.
        """
        if self._preparing.limit_s is None:
            return
        limits_s = [one.timeout_s for one in functions.maps] if functions else []
        deadlines = Deadlines(self._progress, limits_s, self._preparing.limit_s)
        poll = select.poll()
        poll.register(self._connection.fileno(), select.POLLIN)
        while not poll.poll(math.ceil(1e3 * min(deadlines.left_s(), _LONGEST_WAIT_S))):
            late = deadlines.passed()
            if late is not None:
                self._host.end_by(SIGNAL, _PATIENCE_S)
                raise self._too_late(late)

    def _too_late(self, late: Late) -> BaseException:
        """Returns what is raised of a process that was ended."""
        stack = self._stacks.of_function()
        if late.at is not None:
            return Overtime(None if late.at.place < 0 else late.at.place, stack, late.at.link)
        doing = self._doing
        assert doing is not None  # it is waited for
        stage = self._preparing.stage if late.phase is Phase.PREPARING else doing.stage
        return not_prepared(late.phase, late.limit_s, stage, stack)

    def looked_at(self) -> Callable[[float], tuple[Stall, ...]]:
        """Asks what it holds; returns what waits so many seconds for the answer."""
        doing = self._doing
        if doing is None:
            return lambda _: ()
        answer, name = self._host.tell("held"), f"process {self.pid}"

        def told(patience_s: float) -> tuple[Stall, ...]:
            try:
                found: tuple[Stall, ...] = answer.wait(patience_s)
            except Gone as gone:  # it died, or what it calls keeps Python's lock
                held_s = time.perf_counter() - doing.since_s
                return (Stall(doing.stage, doing.origin, held_s, name, f"  {gone.reason}\n"),)
            return tuple(
                dataclasses.replace(one, origin=one.origin and doing.told_here(one.origin), thread=name)
                for one in found
            )

        return told

    def stop(self) -> None:
        """Ends a wait for it; from any thread."""
        self._is_stopped = True
        self._connection.shut()

    def end(self, *, is_idle: bool, stays: bool = False) -> None:
        """Lets it go: to another run, where it calls nothing now, for which it waits longer where it ``stays``."""
        self._connection.close()  # the threads that called have ended
        self._holding.add(-self._held_bytes)
        self._held_bytes = 0
        self._arena.close()
        self._stacks.close()
        # What knows this one may be in a cycle with an error: the memory goes now, and waits for no garbage collection.
        del self._arena, self._leases, self._progress
        if is_idle:
            give_host(self._host, stays=stays)
        else:
            self.kill()

    def kill(self) -> None:
        """Kills it."""
        self._host.kill()


def _unsendable(functions: Functions, block: Block, reason: str) -> Unsendable:
    return Unsendable(reason, stage=functions.maps[0].label, origin=block.origin.describe(0))
