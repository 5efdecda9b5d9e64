"""The process of one plan: it has the plan, and runs it as often as it is asked."""

from __future__ import annotations

import itertools
import threading
from typing import Final, NamedTuple

from headrace.backends.subprocess.session import Session, SharedWith
from headrace.blocks.cursor import State
from headrace.blocks.deep_states import whole
from headrace.errors import DeadlineExceededError, InvalidArgumentError, WorkerError
from headrace.plan.buffering import WithOptions, options_of
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.processes.connection import connected
from headrace.processes.host import Gone, Host
from headrace.processes.leases import Leases
from headrace.processes.orders import RunOrder
from headrace.processes.parcels import to_bytes
from headrace.processes.progress import SIGNAL, Stacks
from headrace.processes.segment import refuse_this_system
from headrace.processes.shipping import Shipment, shipped, to_ship
from headrace.processes.uses import Uses, uses_of
from headrace.semantics.timed_calls import with_stack

__all__ = ["PlanProcess", "Sent", "as_sent", "prepare", "process_of", "without_options"]

# How often it may die before it has begun.
_MOST_DEATHS: Final = 3
# How long it may take to write its stacks before it is killed.
_PATIENCE_S: Final = 1.0
# Of plans and runs: no two have the same.
_numbers: Final = itertools.count()


def _new_host() -> Host:
    return Host()


class Sent(NamedTuple):
    """A plan as a run has it.

    Attributes:
        number: it is known by in the process.
        shipment: it, pickled.
        uses: what its functions used then; None where that could not be told.
        settings: what they find in modules, to be compared there.
    """

    number: int
    shipment: Shipment
    uses: Uses | None
    settings: bytes


class PlanProcess:
    """The process of one plan, which is started when it is needed, and again when it has died."""

    def __init__(self, plan: Node) -> None:
        self._lock = threading.RLock()  # a handler of signals may close a run in the thread that begins one
        self._host: Host | None = None
        self._spare: list[SharedWith] = []
        self._told: int | None = None  # the number of the plan that the process has
        self._told_settings = b""
        self._sent: Sent | None = None
        self.sent(plan)

    def sent(self, plan: Node) -> Sent:
        """Returns the plan as its functions are at this moment: as it was sent last, or pickled anew where they use something else by now.

        Raises:
            InvalidArgumentError: something in it cannot be pickled; the operation and the variable are named.
            ResourceExhaustedError: there is not enough shared memory for its arrays.
        """
        with self._lock:
            try:
                uses = uses_of(plan)  # before it is pickled: what changes meanwhile is seen the next time
            except Exception:  # noqa: BLE001 - what cannot be pickled is named where the plan is
                uses = None
            last = self._sent
            if last is None or last.uses is None or uses is None or not last.uses.are_still(uses):
                before = None if last is None else last.shipment
                last = Sent(next(_numbers), shipped(plan, before), uses, b"")
            self._sent = last = last._replace(settings=to_ship(None, nodes_of(plan)))
            return last

    def start(self) -> None:
        """Has a process be there that has the plan."""
        with self._lock:
            assert self._sent is not None  # since this was made
            if self._host is None or not self._host.is_alive:
                self._host_with(self._sent)

    def _host_with(self, sent: Sent) -> Host:
        """Returns a process that has a plan, or was told of it and has it before it is asked for anything else."""
        host = self._host
        if host is None or not host.is_alive or not host.catch_up():
            self._host = host = _new_host()
            self._told = None
        if self._told != sent.number:
            self._stacks = stacks = Stacks()
            shipment = sent.shipment
            descriptors = (stacks.writing, *(one.descriptor for one in shipment.memories))
            self._has_plan = host.tell(
                "plan", sent.number, self._told, shipment.body, shipment.parts, descriptors=descriptors
            )
            stacks.close_writing()
            self._told, self._told_settings = sent.number, b""
        # Apart from the plan: sent again, that would lose what its caches hold.
        if self._told_settings != sent.settings:
            host.tell("learn", sent.settings)
            self._told_settings = sent.settings
        return host

    def _memory(self, host: Host) -> SharedWith:
        """Returns what a run before has left, whose pages are there, or what is to be made."""
        with self._lock:
            self._spare = [one for one in self._spare if one.host is host]
            return self._spare.pop() if self._spare else SharedWith(host, next(_numbers), Leases())

    def keep(self, memory: SharedWith) -> None:
        """Keeps the memory of a run, which has ended there, for another."""
        with self._lock:
            self._spare.append(memory)

    def begin(self, sent: Sent, order: RunOrder, plan: Node | None = None) -> tuple[Session, tuple[int, int, int]]:
        """Begins a run in the process.

        Args:
            sent: the plan, as the run has it.
            order: how it runs.
            plan: the same, to name the operation that the process cannot have.

        Returns:
            The run; how many workers it has and how many bytes, and a part of them.

        Raises:
            InvalidArgumentError: the process cannot make the plan again.
            WorkerError: the process dies each time before it has begun.
        """
        run, body = next(_numbers), to_bytes(order)
        deaths = 0
        while True:
            with self._lock:  # another run may have the process told of another plan
                host = self._host_with(sent)
                has_plan, stacks = self._has_plan, self._stacks
                memory = self._memory(host)
                connection, its = connected()
                with its:
                    begun = host.tell("run", sent.number, run, body, memory.number, descriptors=(its.fileno(),))
            host.watch(connection)
            try:
                has_plan.wait(order.preparing_s)
                stacks.close()
                *told, goes_on = begun.wait(order.preparing_s)
                if not goes_on:  # what a run before has left is not there any more
                    memory = memory._replace(leases=Leases())
                return Session(host, run, connection, memory), tuple(told)
            except BaseException as error:
                connection.close()
                if isinstance(error, InvalidArgumentError) and plan is not None:
                    raise _of_operation(host, plan, error) from error.__cause__
                if not isinstance(error, Gone):
                    raise
                if host.is_alive:  # it does not answer in time
                    host.end_by(SIGNAL, _PATIENCE_S)
                    late = DeadlineExceededError(
                        "the process that should run the pipeline did not start, or did not import what that needs, within "
                        f"{order.preparing_s:g} s; a larger timeout_s gives it longer"
                    )
                    raise with_stack(late, stacks.of_function()) from None
                deaths += 1  # also one that ended just when it was asked, as no process does that twice
                if deaths == _MOST_DEATHS:
                    raise WorkerError(
                        f"the process that should run the pipeline {host.how_it_ended()} before it began, {deaths} times"
                    ) from None

    def position(self, sent: Sent, order: RunOrder, tries: int, label: str) -> State:
        """Returns the position at which a run begins, which is found by reading up to it.

        Raises:
            WorkerError: each process that was to find it has died, as often as it may be tried.
        """
        how = ""
        for _ in range(tries):
            session, _ = self.begin(sent, order)
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


def _of_operation(host: Host, plan: Node, refusal: InvalidArgumentError) -> InvalidArgumentError:
    """Returns why a process cannot make a plan again, with the operation whose function it is about; each is tried there."""
    for node in nodes_of(plan):
        for function in node.functions():
            try:
                host.ask("learn", to_ship(function, [node]), patience_s=_PATIENCE_S)
            except InvalidArgumentError as error:
                return error.located(stage=node.label, origin=None)
            except Gone:
                return refusal
    return refusal


def prepare(plan: Node) -> None:
    """Starts the process of a plan, so that it is there when elements are asked for.

    Raises:
        InvalidArgumentError: something in the plan cannot be sent to it.
        MissingExtraError: there are no such processes on this system.
    """
    refuse_this_system()
    process_of(plan).start()


def process_of(plan: Node) -> PlanProcess:
    """Returns the process of a plan, which is the same for all its runs, with whatever options: it has the plan's caches in memory."""
    init = options_of(plan).worker_init
    found, _ = without_options(plan).recall(("process", id(init)), lambda: (PlanProcess(as_sent(plan)), init))
    return found


def as_sent(plan: Node) -> Node:
    """Returns the plan that its process has: without options, but for a function that prepares it, which is sent with the plan to have its global variables."""
    init, plan = options_of(plan).worker_init, without_options(plan)
    return plan if init is None else WithOptions(input=plan, options=Options(worker_init=init))


def without_options(plan: Node) -> Node:
    """Returns the plan that options were given to."""
    while isinstance(plan, WithOptions):
        plan = plan.input
    return plan
