"""What the workers of runs are judged by: as much as is enough, however short a run is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.analysis.calls import CallsFigures
from headrace.observe.decisions import Decisions
from headrace.physical.workers import tuned_workers
from headrace.physical.workers.calls_tuner import CallsTuner
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.tuned_workers import TunedWorkers


class Clock:
    """The time, and how long the process had processors: one of them always, unless a test says how many."""

    def __init__(self, processors: float = 1.0) -> None:
        self.now_s = 0.0
        self._processors = processors

    def perf_counter(self) -> float:
        return self.now_s

    def process_time(self) -> float:
        return self._processors * self.now_s


class Turns:
    """A gate: how many calls run at once."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def resize(self, calls: int) -> None:
        self.calls = calls


class Judged(CallsTuner):
    """Notes what it is told, and changes nothing."""

    def __init__(self, calls: int) -> None:
        super().__init__(calls)
        self.told: list[CallsFigures] = []

    def judge(self, figures: CallsFigures) -> None:
        self.told.append(figures)


def run(clock: Clock, tuner: Judged, first: int, rounds: int, task_s: float) -> int:
    """Runs so many rounds of tasks, one in each call, unless it is judged before; returns how many there were.

    The run has ``first`` calls until it has asked the tuner.
    """
    gate: Any = Turns(first)
    workers = TunedWorkers(tuner, gate, "map", Decisions(), cores=first)
    workers.begin()  # as the operation goes over to them
    calls = gate.calls
    for number in range(rounds):
        if tuner.told:
            return number
        start_s = clock.now_s
        clock.now_s += task_s
        workers.waited(task_s / 4)
        for _ in range(calls):
            workers.made(1, start_s, task_s, task_s / calls)
    return rounds


@given(st.integers(2, 8), st.integers(1, 4), st.integers(3, 30), st.floats(1e-3, 3e-2), st.floats(0.0, 100.0))
def test_runs_too_short_to_be_judged_are_judged_together(
    first: int, grown: int, rounds: int, task_s: float, gap_s: float
) -> None:
    calls = first * grown  # as many as an earlier run has found
    clock, tuner, made = Clock(), Judged(calls), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned_workers, "time", clock)
        while not tuner.told:
            made += run(clock, tuner, first, rounds, task_s)
            clock.now_s += gap_s  # between epochs, which is no part of any
            assert made * task_s < 1.0  # however long that takes
    (figures,) = tuner.told
    # Of the very first run the first round is when it begins, but for those of its tasks that are told after it has.
    assert figures.seconds == pytest.approx((made - 1) * task_s)
    assert figures.elements == pytest.approx(made * calls - 1, abs=calls)  # judged within a round
    assert figures.element_s == pytest.approx(task_s)
    assert figures.wait_share == pytest.approx(0.25, abs=0.3 / made)
    assert figures.free_cores == pytest.approx(
        first, abs=2 * calls / made
    )  # the calls had the only one that was in use


@given(st.integers(2, 8), st.floats(1.0, 3.0))
def test_threads_that_neither_call_nor_wait_are_seen(calls: int, processors: float) -> None:
    clock, tuner = Clock(processors), Judged(calls)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned_workers, "time", clock)
        run(clock, tuner, calls, 30, 1e-2)
    (figures,) = tuner.told
    # The calls have one processor, and who waits a quarter of the time may have had another for the rest.
    assert figures.helping_cores == pytest.approx(max(0.0, processors - 1 - 0.75), abs=0.1)
    assert figures.idle_cores == pytest.approx(max(0.0, calls - processors), abs=0.01)


def test_what_as_many_calls_did_says_nothing_of_more() -> None:
    clock, tuner = Clock(), Judged(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned_workers, "time", clock)
        run(clock, tuner, 2, 5, 1e-2)
        assert tuner.unjudged is not None
        tuner.calls = 3
        run(clock, tuner, 3, 2, 1e-3)
        assert not tuner.told
        calls, seen = tuner.unjudged
    assert (calls, seen.tasks <= 6) == (3, True)


class ByTurns(CallsTuner):
    """Tries twice as many calls by turns with those that there were, and keeps them."""

    every_s = 0.0
    rounds = 0
    looks = 0

    def judge(self, figures: CallsFigures) -> None:
        self.looks += 1
        self.decided = 8
        self.reason = "a trial"
        self.calls = 8 if self.looks > 6 or self.looks % 2 else 4


def test_a_trial_by_turns_is_one_decision() -> None:
    clock, tuner, decisions, gate = Clock(), ByTurns(4), Decisions(), Turns(4)
    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned_workers, "time", clock)
        workers = TunedWorkers(tuner, gate, "map", decisions, cores=4)  # type: ignore[arg-type]  # as much of a gate as is used
        workers.begin()
        while tuner.looks < 10:
            clock.now_s += 1e-2
            workers.made(1, clock.now_s - 1e-2, 1e-2, 1e-3)
            seen.append(gate.calls)
    assert {4, 8} == set(seen)
    assert gate.calls == 8
    assert [(one.what, one.before, one.after) for one in decisions.all()] == [("workers", 4, 8)]


class Settled(ConcurrencyTuner):
    """Knows from earlier runs which way is the better one."""

    def __init__(self, way: int) -> None:
        super().__init__(2)
        self._settle(way)
        self.reason = "an element takes long"


@pytest.mark.parametrize(("way", "found"), [(1, 2), (1, 8), (2, 2), (2, 8)])
def test_what_earlier_runs_found_is_one_decision_of_those_that_have_workers(way: int, found: int) -> None:
    tuner, decisions, gate = CallsTuner(2), Decisions(), Turns(2)
    tuner.calls = tuner.decided = found
    tuner.reason = "a call waits"
    workers = TunedWorkers(tuner, gate, "map", decisions, cores=2)  # type: ignore[arg-type]  # as much of a gate as is used
    TunedCalls(Settled(way), workers, "map")
    assert gate.calls == found
    told = [(one.before, one.after, one.reason) for one in decisions.all()]
    reason = "as in an earlier run: an element takes long" + "; a call waits" * (found != 2)
    assert told == ([(0, found, reason)] if way != 1 else [])
