"""A gate: at most so many of an operation's tasks are in the hands of the workers, and none is ever lost."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.backends.thread import WorkerPool
from headrace.errors import CancelledError
from headrace.optimize.rules import optimized
from headrace.physical.workers.gates import Gate, Gates, bounds_of
from headrace.plan.by_number import numbers_first

LIMIT_S = 30.0


class Hands:
    """A pool that runs what it was given when it is told to."""

    def __init__(self, workers: int = 8) -> None:
        self.workers = workers
        self.given: deque[Callable[[], None]] = deque()
        self.is_free = True

    def submit(self, task: Callable[[], None]) -> None:
        self.given.append(task)

    def resize(self, more: int) -> None:
        self.workers += more

    def run_all(self) -> None:
        while self.given:
            self.given.popleft()()


def test_no_more_turns_are_in_the_pool_than_calls_may_run() -> None:
    hands, ran = Hands(), list[int]()
    gate = Gate(hands, 2)
    for number in range(6):
        gate.submit(lambda number=number: ran.append(number))  # type: ignore[misc]  # a default binds it
    assert (len(hands.given), ran) == (2, [])
    hands.given.popleft()()  # one worker does all, as nobody else wants it
    assert ran == [*range(6)]
    hands.run_all()
    gate.submit(lambda: ran.append(6))
    hands.run_all()
    assert ran == [*range(7)]


def test_a_worker_that_others_want_goes_on_with_theirs_first() -> None:
    hands, ran = Hands(), list[str]()
    hands.is_free = False
    one, other = Gate(hands, 1), Gate(hands, 1)
    for _ in range(3):
        one.submit(lambda: ran.append("one"))
        other.submit(lambda: ran.append("other"))
    assert len(hands.given) == 2
    hands.run_all()
    assert ran == ["one", "other"] * 3


def test_what_runs_here_takes_a_turn_and_leaves_it_to_what_came_meanwhile() -> None:
    hands, ran = Hands(), list[str]()
    gate = Gate(hands, 1)

    def here() -> None:
        gate.submit(lambda: ran.append("there"))
        assert not hands.given
        assert not gate.run_here(lambda: ran.append("no turn is left"))
        ran.append("here")

    assert gate.run_here(here)
    hands.run_all()
    assert ran == ["here", "there"]
    assert gate.run_here(lambda: ran.append("again"))


def test_a_task_whose_stage_was_stopped_gives_its_turn_on() -> None:
    hands, ran = Hands(), list[int]()
    gate = Gate(hands, 1)

    def stopped() -> None:
        raise CancelledError("its channel is closed")

    gate.submit(stopped)
    gate.submit(lambda: ran.append(1))
    hands.run_all()
    with pytest.raises(CancelledError):
        gate.run_here(stopped)
    assert gate.run_here(lambda: ran.append(2))
    assert ran == [1, 2]


def test_a_pool_that_was_stopped_begins_nothing_that_waits_in_a_gate() -> None:
    pool, running, go, ran = WorkerPool(2), threading.Event(), threading.Event(), list[int]()
    gate = Gate(pool, 1)

    def first() -> None:
        running.set()
        assert go.wait(LIMIT_S)

    gate.submit(first)
    gate.submit(lambda: ran.append(1))
    assert running.wait(LIMIT_S)
    pool.stop()
    go.set()
    pool.join()
    assert ran == []


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
def test_every_task_of_many_threads_runs_within_the_bound(workers: int, calls: int, threads: int) -> None:
    pool, lock, done = WorkerPool(workers), threading.Lock(), threading.Semaphore(0)
    gate, beside = Gate(pool, calls), Gate(pool, 1)
    now = most = 0

    def task() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        with lock:
            now -= 1
        done.release()

    def submit() -> None:
        for number in range(40):
            gate.submit(task)
            if (number % 3 == 0 and not gate.run_here(task)) or number % 3:
                done.release()
            beside.submit(done.release)

    submitting = [threading.Thread(target=submit) for _ in range(threads)]
    for thread in submitting:
        thread.start()
    for _ in range(threads * 40 * 3):
        assert done.acquire(timeout=LIMIT_S)
    for thread in submitting:
        thread.join(LIMIT_S)
    pool.stop()
    pool.join()
    assert most <= calls


# -------------------------------------------------------------- what an operation is

TEN = hr.Dataset.range(10)


def calls_of(dataset: hr.Dataset) -> list[int]:
    return [calls for _, calls in bounds_of(optimized(numbers_first(dataset.__headrace_plan__())), cores=2)]


def test_an_operation_that_is_read_twice_has_one_bound() -> None:
    mapped = TEN.map(abs, num_parallel_calls=2)
    assert calls_of(hr.Dataset.zip((mapped, mapped))) == [2]
    assert calls_of(hr.Dataset.zip((mapped, mapped.shuffle(3)))) == [2]
    assert calls_of(hr.Dataset.zip((mapped, mapped.batch(2)))) == [2]
    assert calls_of(hr.Dataset.zip((mapped, TEN.map(abs, num_parallel_calls=2)))) == [2, 2]
    source = hr.Dataset.source(range(10), num_parallel_calls=3)
    assert calls_of(source.shard(2, 0).concatenate(source.shard(2, 1))) == [3]


def test_maps_that_are_fused_have_one_bound_with_each_of_them() -> None:
    one = TEN.map(abs, num_parallel_calls=2)
    two, three = one.map(abs, num_parallel_calls=2), one.map(float, num_parallel_calls=2)
    assert calls_of(two) == [2]
    assert calls_of(hr.Dataset.zip((one, two))) == [2]
    assert calls_of(hr.Dataset.zip((two, one.prefetch(1), three))) == [2]
    assert calls_of(two.batch(2, num_parallel_calls=3)) == [2, 3]


def test_autotune_is_the_cores_or_the_workers_where_they_are_fewer() -> None:
    plan = TEN.map(abs, num_parallel_calls=hr.AUTOTUNE).__headrace_plan__()
    assert Gates(bounds_of(plan, cores=2), Hands(workers=18), cores=2).of(plan).calls == 2
    assert Gates(bounds_of(plan, cores=2), Hands(workers=1), cores=2).of(plan).calls == 1


@given(st.lists(st.one_of(st.integers(1, 5), st.sampled_from(["submit", "begin", "here"])), max_size=60))
def test_whatever_the_number_of_calls_becomes_all_tasks_run_and_no_more_are_begun_than_it_is(
    steps: list[int | str],
) -> None:
    hands, ran = Hands(), list[int]()
    gate, submitted = Gate(hands, 2), 0
    for step in steps:
        before = len(hands.given)
        if isinstance(step, int):
            gate.resize(step)
            assert len(hands.given) <= max(before, step)
        elif step == "submit":
            gate.submit(functools.partial(ran.append, submitted))
            submitted += 1
            assert len(hands.given) <= max(before, gate.calls)
        elif step == "here":
            gate.run_here(lambda: None)
        elif hands.given:
            hands.given.popleft()()
        assert hands.workers == 8 + max(0, gate.calls - 2)
    hands.run_all()
    assert ran == [*range(submitted)]
    for _ in range(gate.calls + 1):  # as many turns are free as calls may run
        gate.submit(lambda: None)
    assert len(hands.given) == gate.calls


def test_many_threads_lose_no_task_while_the_number_of_calls_changes() -> None:
    pool, ran, rounds = WorkerPool(2), list[int](), 2_000
    done = threading.Event()
    gate = Gate(pool, 2)
    for number in range(rounds):
        gate.submit(functools.partial(ran.append, number))
        gate.resize(1 + number % 7)
    gate.resize(1)
    gate.submit(lambda: None)
    gate.submit(done.set)
    assert done.wait(LIMIT_S)
    pool.stop()
    pool.join()
    assert sorted(ran) == [*range(rounds)]
