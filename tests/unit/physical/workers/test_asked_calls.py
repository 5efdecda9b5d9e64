"""Calls of which somebody asked for so many: one at a time where that is quicker, and never one that waits for others in vain."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import AlwaysAhead, OneWorker, Restless, Way, running
from tests.laws.test_calls_are_bounded import Counted

import headrace as hr
from headrace.observe.decisions import Decisions
from headrace.physical.workers import asked_calls
from headrace.physical.workers.asked_calls import AskedCalls
from headrace.physical.workers.calls_tuner import FixedCalls
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.tuned_workers import TunedWorkers
from headrace.queues.channel import Channel

CALLS = 3
Told = tuple[int, int, float]  # elements, of how many calls at once, and how long they took


class Listening(ConcurrencyTuner):
    """Has all in workers, or what was decided for it, and keeps what it is told."""

    def __init__(self, *, is_quick: bool = False) -> None:
        super().__init__(CALLS, is_asked_for=True)
        self.told: list[Told] = []
        self.decided = CALLS
        self._is_quick = is_quick

    @property
    def is_quick(self) -> bool:
        return self._is_quick

    def observe(
        self, elements: int, start_s: float, end_s: float, beside: int, cpu_s: float = 0.0, placing_s: float = 0.0
    ) -> bool:
        self.told.append((elements, beside, round(end_s - start_s, 6)))
        self.now = self.decided
        return True


class Never:
    """Runs no task."""

    workers = CALLS
    is_free = True

    def submit(self, task: Callable[[], None]) -> None:
        """Forgets it."""

    def resize(self, more: int) -> None:
        """Has as many as there are."""


def asked(tuner: ConcurrencyTuner) -> tuple[AskedCalls, Gate, Decisions]:
    gate, decisions = Gate(Never(), CALLS), Decisions()
    return AskedCalls(tuner, TunedWorkers(FixedCalls(CALLS), gate, "map", decisions, cores=2), "map"), gate, decisions


@given(st.integers(2, 9), st.integers(1, 4))
def test_calls_that_wait_for_each_other_all_come_back(calls: int, meetings: int) -> None:
    barrier = threading.Barrier(calls)

    def meet(x: int) -> int:
        barrier.wait(timeout=60)
        return x

    ds = hr.Dataset.range(meetings * calls).map(meet, num_parallel_calls=calls)
    way = Way(hr.Options(), block_sizes=(1,), concurrency=OneWorker)
    with mock.patch.object(asked_calls, "_PATIENCE_S", 0.005), running(ds, way) as iterator:
        assert list(iterator) == list(range(meetings * calls))
        decided = [(one.before, one.after) for one in iterator.stats().decisions if one.what == "workers"]
    assert decided[:2] == [(calls, 1), (1, calls)]


@pytest.mark.parametrize("batch", [False, True])
def test_one_at_a_time_is_one_at_a_time_in_a_worker_however_many_threads_read(batch: bool) -> None:
    f, callers = Counted(1, meets=False), set[str]()

    def call(x: int) -> int:
        callers.add(threading.current_thread().name)
        f(x)
        return x

    one = hr.Dataset.range(40).map(call, num_parallel_calls=CALLS)
    if batch:
        one = one.batch(1, num_parallel_calls=CALLS).unbatch()
    both = hr.Dataset.zip((one.prefetch(3), one.prefetch(3)))
    way = Way(hr.Options(), block_sizes=(1,), overlap=AlwaysAhead, concurrency=OneWorker)
    with running(both, way) as iterator:
        assert list(iterator) == [(number, number) for number in range(40)]
    assert f.most == 1
    assert all(name.startswith("headrace-worker") for name in callers)


@pytest.mark.parametrize("round_", range(4))
def test_no_more_run_at_once_than_were_asked_for_however_often_that_changes(round_: int) -> None:
    f = Counted(CALLS, meets=False)
    one = hr.Dataset.range(60 + round_).map(f, num_parallel_calls=CALLS)
    both = hr.Dataset.zip((one.prefetch(3), one.shuffle(3, seed=1).prefetch(3)))
    way = Way(hr.Options(), block_sizes=(1,), overlap=AlwaysAhead, concurrency=Restless)
    with running(both, way) as iterator:
        assert len(list(iterator)) == 60 + round_
    assert f.most <= CALLS


def test_what_began_among_others_tells_nothing_of_those_that_there_are_now() -> None:
    tuner = Listening()
    calls, gate, decisions = asked(tuner)
    before_s = 0.0
    calls.made(1, before_s, 1.0, 0.5, 0.0)
    assert tuner.told == []  # it began before these calls did
    tuner.decided = 1
    calls.made(2, while_all_s := time.perf_counter(), 1.0, 0.5, 0.25)
    assert tuner.told == [(2, CALLS, 1.0)]
    assert (gate.calls, calls.now) == (1, CALLS)  # of the thread that reads there is nothing to be done
    calls.made(3, while_all_s, 1.0, 0.5, 0.25)
    assert tuner.told[1:] == []
    tuner.decided = CALLS
    calls.made(4, while_one_s := time.perf_counter(), 1.0, 0.5, 0.25)
    assert tuner.told[1:] == [(4, 1, 0.75)]  # to place them would be left to the thread that reads
    assert gate.calls == CALLS
    calls.made(5, while_one_s, 1.0, 0.5, 0.0)
    assert tuner.told[2:] == []
    assert [(one.before, one.after) for one in decisions.all()] == [(CALLS, 1), (1, CALLS)]


def test_what_is_quick_is_made_by_the_thread_that_reads() -> None:
    tuner = Listening(is_quick=True)
    calls, gate, decisions = asked(tuner)
    tuner.decided = 1
    calls.made(2, time.perf_counter(), 1.0, 0.5, 0.0)
    assert (gate.calls, calls.now) == (CALLS, 1)
    assert [(one.before, one.after) for one in decisions.all()] == [(CALLS, 0)]


def test_what_was_found_before_holds_for_the_next_run() -> None:
    tuner = Listening()
    tuner.now = 1
    calls, gate, _ = asked(tuner)
    assert (gate.calls, calls.now) == (1, CALLS)


def test_an_error_of_the_run_is_no_call_that_does_not_come_back() -> None:
    tuner = Listening()
    tuner.now = 1
    calls, gate, _ = asked(tuner)
    done: Channel[int] = Channel(capacity=1, name="map")
    done.fail(hr.errors.DeadlineExceededError("the step took too long"))
    with pytest.raises(hr.errors.DeadlineExceededError, match="the step took too long"):
        calls.taken(done)
    assert gate.calls == 1


class Empty(Channel[int]):
    """Gives nothing in time, however long that is."""

    def __init__(self) -> None:
        super().__init__(capacity=1, name="map")
        self.waits = 0

    def get(self, *, timeout_s: float | None = None) -> int:
        self.waits += 1
        raise hr.errors.DeadlineExceededError(f"nothing in {timeout_s} s")


def test_a_call_is_given_up_only_where_nothing_came_at_all() -> None:
    tuner = Listening()
    tuner.now = 1
    calls, gate, _ = asked(tuner)
    done = Empty()
    moments = itertools.chain(
        [0.2, 0.3], itertools.repeat(0.46)
    )  # another stage's task ended; this one was waited for twice
    with mock.patch.object(time, "perf_counter", side_effect=moments):
        calls.ended()
        assert calls.taken(done) is None
    assert done.waits == 2
    assert tuner.now == gate.calls == CALLS


def test_operations_that_share_their_turns_all_go_on_when_one_of_them_is_given_up() -> None:
    calls, gate, _ = asked(tuner := Listening())
    beside = AskedCalls(Listening(), calls.workers, "another map")  # whose calls are to run at once
    tuner.decided = 1
    calls.made(1, time.perf_counter(), 1.0, 0.5, 0.0)
    assert gate.calls == 1
    with mock.patch.object(asked_calls, "_PATIENCE_S", 0.0):
        assert beside.taken(Empty()) is None
    assert gate.calls == CALLS
    calls.made(1, time.perf_counter(), 1.0, 0.5, 0.0)
    assert tuner.told[1:] == []  # it was made beside others


def test_each_task_says_in_its_worker_that_it_has_ended() -> None:
    ds = hr.Dataset.range(10).map(lambda x: x, num_parallel_calls=CALLS)
    way = Way(hr.Options(), block_sizes=(1,), concurrency=OneWorker)
    with mock.patch.object(AskedCalls, "ended") as ended, running(ds, way) as iterator:
        assert list(iterator) == list(range(10))
    assert ended.call_count == 10
