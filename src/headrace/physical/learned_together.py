"""What the stages that an operation becomes in a run learn together about its workers: how much a task is, and how many calls pay."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.machine import current_share
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lasting_paces import begun_like_latest
from headrace.physical.workers.asked_calls import AskedCalls
from headrace.physical.workers.calls_tuner import CallsTuner, FixedCalls, calls_of
from headrace.physical.workers.concurrency_tuner import tuner_of
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.task_paces import TaskPaces
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.tuned_workers import TunedWorkers

__all__ = ["task_paces", "tuned_calls", "tuned_workers"]


def task_paces(context: StageContext, meter: Meter, operations: tuple[object, ...]) -> TaskPaces:
    """Returns how much the workers do at once of the operation that has that meter, however many stages it becomes.

    Args:
        context: of the run.
        meter: of the operation.
        operations: what it is, of which the next epoch begins with what is known of the first.
    """
    paces: TaskPaces | None = context.learned.get(id(meter))
    if paces is None:
        new = begun_like_latest(TaskPaces(context.policy.pace), context.policy, operations, TaskPaces)
        paces = context.learned.setdefault(id(meter), new)
    return paces


def tuned_calls(
    context: StageContext,
    gate: Gate,
    meter: Meter,
    subjects: tuple[object, ...],
    *,
    elements_a_call: float = 1.0,
    elsewhere: bool = False,
    is_asked_for: bool = False,
) -> TunedCalls:
    """Returns what decides how an operation's calls run, however many stages it becomes: where that is left to headrace, or where workers were asked for that hold each other up."""
    key = (id(gate), id(meter), TunedCalls)
    tuned: TunedCalls | None = context.learned.get(key)
    if tuned is None:
        make = context.policy.concurrency or functools.partial(tuner_of, is_asked_for=is_asked_for)
        tuner = make(gate.calls, subjects)
        tuner.elements_a_call = elements_a_call
        workers = (
            _fixed_workers(context, gate, meter)
            if is_asked_for
            else tuned_workers(context, gate, meter, subjects, most=gate.calls if elsewhere else gate.most)
        )
        made = (
            AskedCalls(tuner, workers, meter.name)
            if is_asked_for
            else TunedCalls(tuner, workers, meter.name, context.elsewhere if elsewhere else None)
        )
        tuned = context.learned.setdefault(key, made)
    return tuned


def tuned_workers(
    context: StageContext, gate: Gate, meter: Meter, subjects: tuple[object, ...], *, most: int | None
) -> TunedWorkers:
    """Returns what decides how many of them run at once in workers, of which there may be so many."""
    return _workers(context, gate, meter, lambda: (context.policy.calls or calls_of)(gate.calls, most, subjects))


def _fixed_workers(context: StageContext, gate: Gate, meter: Meter) -> TunedWorkers:
    """Returns the same of workers whose number was asked for."""
    return _workers(context, gate, meter, lambda: FixedCalls(gate.calls))


def _workers(context: StageContext, gate: Gate, meter: Meter, make: Callable[[], CallsTuner]) -> TunedWorkers:
    # Operations that share a gate, as a rule made one of them, share what decides about it.
    key = (id(gate), TunedWorkers)
    workers: TunedWorkers | None = context.learned.get(key)
    if workers is None:
        made = TunedWorkers(make(), gate, meter.name, context.decisions, cores=current_share().cores)
        workers = context.learned.setdefault(key, made)
    return workers
