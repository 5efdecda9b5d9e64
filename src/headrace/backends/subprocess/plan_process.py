"""The process of one plan: it has the plan, and runs it as often as it is asked."""

from __future__ import annotations

import itertools
import threading
from typing import Final

from headrace.backends.subprocess.session import Session, SharedWith
from headrace.blocks.cursor import State
from headrace.blocks.deep_states import whole
from headrace.errors import DeadlineExceededError, WorkerError
from headrace.plan.buffering import WithOptions, options_of
from headrace.plan.node import Node
from headrace.plan.options import Options
from headrace.processes.connection import connected
from headrace.processes.host import Gone, Host
from headrace.processes.leases import Leases
from headrace.processes.orders import RunOrder
from headrace.processes.parcels import to_bytes
from headrace.processes.progress import SIGNAL, Stacks
from headrace.processes.segment import refuse_this_system
from headrace.processes.shipping import Shipment, shipped
from headrace.semantics.timed_calls import with_stack

__all__ = ["PlanProcess", "prepare", "process_of", "without_options"]

# How often it may die before it has begun.
_MOST_DEATHS: Final = 3
# How long it may take to write its stacks before it is killed.
_PATIENCE_S: Final = 1.0
# Of plans and runs: no two have the same.
_numbers: Final = itertools.count()


def _new_host() -> Host:
    return Host()


class PlanProcess:
    """The process of one plan, which is started when it is needed, and again when it has died."""

    def __init__(self, plan: Node) -> None:
        self._shipment: Final[Shipment] = shipped(plan)
        self._key = next(_numbers)
        self._lock = threading.Lock()
        self._host: Host | None = None
        self._spare: list[SharedWith] = []

    def host(self) -> Host:
        """Returns a process that has the plan."""
        with self._lock:
            if self._host is None or not self._host.is_alive:
                self._stacks = stacks = Stacks()
                self._host = host = _new_host()
                shipment = self._shipment
                memory = () if shipment.descriptor is None else (shipment.descriptor,)
                self._has_plan = host.tell(
                    "plan", self._key, shipment.body, shipment.parts, descriptors=(stacks.writing, *memory)
                )
                stacks.close_writing()
            return self._host

    def _memory(self, host: Host) -> SharedWith:
        """Returns what a run before has left, whose pages are there, or what is to be made."""
        with self._lock:
            self._spare = [one for one in self._spare if one.host is host]
            return self._spare.pop() if self._spare else SharedWith(host, next(_numbers), Leases())

    def keep(self, memory: SharedWith) -> None:
        """Keeps the memory of a run, which has ended there, for another."""
        with self._lock:
            self._spare.append(memory)

    def begin(self, order: RunOrder) -> tuple[Session, tuple[int, int, int]]:
        """Begins a run in the process.

        Returns:
            The run; how many workers it has and how many bytes, and a part of them.

        Raises:
            WorkerError: the process dies each time before it has begun.
        """
        run, body = next(_numbers), to_bytes(order)
        deaths = 0
        while True:
            host = self.host()
            host.catch_up()
            memory = self._memory(host)
            connection, its = connected()
            with its:
                begun = host.tell("run", self._key, run, body, memory.number, descriptors=(its.fileno(),))
            host.watch(connection)
            try:
                self._has_plan.wait(order.preparing_s)
                self._stacks.close()
                told = begun.wait(order.preparing_s)
                return Session(host, run, connection, memory), told
            except BaseException as error:
                connection.close()
                if not isinstance(error, Gone):
                    raise
                if host.is_alive:  # it does not answer in time
                    host.end_by(SIGNAL, _PATIENCE_S)
                    late = DeadlineExceededError(
                        "the process that should run the pipeline did not start, or did not import what that needs, within "
                        f"{order.preparing_s:g} s; a larger timeout_s gives it longer"
                    )
                    raise with_stack(late, self._stacks.of_function()) from None
                deaths += 1  # also one that ended just when it was asked, as no process does that twice
                if deaths == _MOST_DEATHS:
                    raise WorkerError(
                        f"the process that should run the pipeline {host.how_it_ended()} before it began, {deaths} times"
                    ) from None

    def position(self, order: RunOrder, tries: int, label: str) -> State:
        """Returns the position at which a run begins, which is found by reading up to it.

        Raises:
            WorkerError: each process that was to find it has died, as often as it may be tried.
        """
        how = ""
        for _ in range(tries):
            session, _ = self.begin(order)
            try:
                state: State = whole(*session.host.ask("position", session.number, 0, 0))
            except Gone:
                how = session.host.how_it_ended()
            else:
                return state
            finally:
                session.connection.close()
        raise WorkerError(
            f"the process that ran the pipeline has died, and so has each that was to find where it was: the last one {how}. Use a state "
            "that was saved earlier",
            stage=label,
        )


def prepare(plan: Node) -> None:
    """Starts the process of a plan, so that it is there when elements are asked for.

    Raises:
        InvalidArgumentError: something in the plan cannot be sent to it.
        MissingExtraError: there are no such processes on this system.
    """
    refuse_this_system()
    process_of(plan).host()


def process_of(plan: Node) -> PlanProcess:
    """Returns the process of a plan, which is the same for all its runs, with whatever options: it has the plan's caches in memory.

    Where a function is to prepare it, that is sent with the plan, so that it has the global variables of the plan's functions.
    """
    init, plan = options_of(plan).worker_init, without_options(plan)
    if init is None:
        found: PlanProcess = plan.recall("process", lambda: PlanProcess(plan))
        return found
    prepared = WithOptions(input=plan, options=Options(worker_init=init))
    found, _ = plan.recall(("process", id(init)), lambda: (PlanProcess(prepared), init))
    return found


def without_options(plan: Node) -> Node:
    """Returns the plan that options were given to."""
    while isinstance(plan, WithOptions):
        plan = plan.input
    return plan
