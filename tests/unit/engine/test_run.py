"""Wiring: what a plan and its options become."""

from __future__ import annotations

import threading
from typing import Any
from unittest import mock

import pytest
from tests.unit.queues.background import HandClock

import headrace as hr
from headrace.blocks.block import Block
from headrace.engine import Run, phases, physical_plan
from headrace.errors import InternalError
from headrace.physical.lower import lower
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.plan.buffering import Prefetch, options_of
from headrace.plan.node import Node
from headrace.semantics.run_context import Seeds

TEN = hr.Dataset.range(10)


def run_of(dataset: hr.Dataset, policy: RunPolicy = USUAL) -> Run:
    plan = dataset.__headrace_plan__()
    options = options_of(plan)
    run = Run(plan, options, seeds=Seeds.of(plan, seed=0, entropy=0), epoch=0, policy=policy)
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


def test_stages_that_are_made_while_another_thread_closes_the_run_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = mock.Mock()

    def closed_meanwhile(plan: Node, state: Any, context: Any) -> Any:
        stage = lower(plan, state, context)
        for name in ("stop", "close"):
            monkeypatch.setattr(stage, name, getattr(ended, name))
        other = threading.Thread(target=run.close)
        other.start()
        other.join(30)
        assert not other.is_alive()
        return stage

    monkeypatch.setattr("headrace.engine.run.lower", closed_meanwhile)
    plan = TEN.map(abs).__headrace_plan__()
    run = Run(plan, options_of(plan), seeds=Seeds.of(plan, seed=0, entropy=0), epoch=0)
    run.open(None)
    assert run.pull(1) is None
    run.close()
    assert ended.mock_calls == [mock.call.stop(), mock.call.close()]


def test_what_could_not_be_closed_is_closed_by_the_next_close(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(TEN.map(abs))
    assert run._root is not None
    left = [OSError("the disk is away")]
    monkeypatch.setattr(run._root, "close", lambda: (_ for _ in ()).throw(left.pop()) if left else None)
    with pytest.raises(OSError, match="away"):
        run.close()
    run.close()
    assert left == []
    assert run._phase is phases.CLOSED


def test_a_run_that_was_stopped_never_begins_again() -> None:
    assert {new for (old, _), new in phases.NEXT.items() if old is not phases.OPEN}.isdisjoint({phases.OPEN})
    for old in phases.Phase:
        assert phases.NEXT[old, phases.STOP] is not phases.OPEN
        assert phases.NEXT[old, phases.CLOSE] in (phases.CLOSING, phases.CLOSED)
    with pytest.raises(KeyError):
        phases.NEXT[phases.OPEN, phases.GIVE_BACK]


def test_a_node_that_no_backend_knows_is_our_own_fault() -> None:
    class Unknown(Node):
        op = "unknown"

    for executor in ("thread", "inline"):
        dataset = hr.Dataset(Unknown()).with_options(hr.Options(executor=executor))
        with pytest.raises(InternalError, match="Unknown"):
            next(iter(dataset))


ENDING = {
    "prefetch": lambda ds: ds.prefetch(2),
    "parallel map": lambda ds: ds.map(abs, num_parallel_calls=2),
    "unordered map": lambda ds: ds.map(abs, num_parallel_calls=2, deterministic=False),
    "batches ahead": lambda ds: ds.map(abs, num_parallel_calls=2).batch(4).prefetch(1),
    "parallel batches": lambda ds: ds.map(abs).batch(4, num_parallel_calls=2).prefetch(3),
}


@pytest.mark.parametrize("name", sorted(ENDING))
@pytest.mark.parametrize("limit", [1, 3, 100])
def test_where_nothing_follows_the_last_element_a_run_says_so_with_it(name: str, limit: int) -> None:
    run = run_of(ENDING[name](TEN))
    said = False
    while (item := run.pull(limit)) is not None:
        assert isinstance(item, Block)
        assert not said
        said = run.is_spent
    run.close()
    assert said


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_so_does_one_whose_block_took_so_long_that_a_thread_would_read_the_next(limit: int) -> None:
    clock = HandClock()

    def slow(x: int) -> int:
        clock.move(1.0)
        return x

    run = run_of(hr.Dataset.range(1).map(slow).prefetch(2), RunPolicy(clock=clock))
    block = run.pull(limit)
    assert isinstance(block, Block)
    assert run.is_spent
    assert workers() == []
    run.close()
