"""Wiring: what a plan and its options become."""

from __future__ import annotations

import threading

import pytest

import headrace as hr
from headrace.engine import Run, physical_plan
from headrace.errors import InternalError
from headrace.plan.buffering import Prefetch, options_of
from headrace.plan.node import Node
from headrace.semantics.run_context import Seeds

TEN = hr.Dataset.range(10)


def run_of(dataset: hr.Dataset) -> Run:
    plan = dataset.__headrace_plan__()
    options = options_of(plan)
    run = Run(plan, options, seeds=Seeds.of(plan, seed=0, entropy=0), epoch=0)
    run.open(None)
    return run


def workers() -> list[str]:
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("headrace")]
    return sorted(name for name in names if name != "headrace-watch")  # which works on nothing


def test_a_plan_is_optimized_unless_it_runs_inline_or_is_told_not_to_be() -> None:
    plan = TEN.map(abs, num_parallel_calls=2).__headrace_plan__()
    assert isinstance(physical_plan(plan, hr.Options()), Prefetch)
    assert physical_plan(plan, hr.Options(optimize=False)) is plan
    assert physical_plan(plan, hr.Options(executor="inline")) is plan
    serial = TEN.map(abs).__headrace_plan__()
    assert physical_plan(serial, hr.Options()) is serial


def test_a_plan_without_parallel_work_starts_no_worker() -> None:
    run = run_of(TEN.map(abs).shuffle(3).batch(2))
    assert run.pull(1) is not None
    assert workers() == []
    run.close()


def test_there_are_no_more_workers_than_calls_or_than_the_options_say() -> None:
    begun = threading.Barrier(3)

    def meet(x: int) -> int:
        if x < 3:
            begun.wait(30)  # three calls at once, or never
        return x

    assert list(TEN.map(meet, num_parallel_calls=3)) == list(range(10))
    names: set[str] = set()

    def note(x: int) -> int:
        names.update(name for name in workers() if "worker" in name)
        return x

    list(hr.Dataset.range(300).map(note, num_parallel_calls=5).with_options(hr.Options(num_workers=2)))
    assert names <= {"headrace-worker-0", "headrace-worker-1"}


def test_closing_twice_is_closing_once_and_nothing_comes_after() -> None:
    run = run_of(TEN.map(abs, num_parallel_calls=2))
    assert run.pull(1) is not None
    run.close()
    run.close()
    assert run.pull(1) is None
    assert workers() == []


def test_a_node_that_no_backend_knows_is_our_own_fault() -> None:
    class Unknown(Node):
        op = "unknown"

    for executor in ("thread", "inline"):
        dataset = hr.Dataset(Unknown()).with_options(hr.Options(executor=executor))
        with pytest.raises(InternalError, match="Unknown"):
            next(iter(dataset))
