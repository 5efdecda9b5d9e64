"""How many calls run at once, decided by figures alone: worlds with as much of each thing as a test wants, and no clock."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import Beside

import headrace as hr
from headrace.analysis.calls import MOST_CALLS, CallsFigures, by_cores, by_idle_cores, by_need
from headrace.iterator import DatasetIterator
from headrace.physical.run_policy import RunPolicy
from headrace.physical.workers.calls_tuner import CallsTuner, FixedCalls, calls_of


@dataclasses.dataclass
class World:
    """What a machine and a consumer do with calls.

    Attributes:
        element_s: what a call takes.
        cpu_s: of that, with a processor.
        cores: how many there are for them.
        behind: how many calls what they wait for answers at once.
        wanted: elements a second that are taken at most.
        tail: tasks a call that must be under way, so that one that takes long keeps no call from running.
    """

    element_s: float
    cpu_s: float = 0.0
    cores: float = 2.0
    behind: float = 1e9
    wanted: float = 1e9
    tail: int = 2
    helping: float = 0.0  # cores that a library's threads use for calls, if these are busy
    best: int | None = None  # how many calls bring most; more of them hold each other up
    held_up: float = 0.0  # what each call beyond these costs, as a part of what all bring

    def rate(self, calls: int) -> float:
        """What so many calls would make."""
        possible = min(calls / self.element_s, self.cores / max(self.cpu_s, 1e-9), self.behind / self.element_s)
        if self.best is None or calls <= self.best:
            return possible
        return min(possible, self.rate(self.best)) / (1 + self.held_up * (calls - self.best))

    def figures(self, tuner: CallsTuner) -> CallsFigures:
        """What is seen for a tenth of a second."""
        calls = tuner.calls
        is_starved = tuner.window < self.tail * calls
        possible = self.rate(calls) / (1 + is_starved)
        rate = min(possible, self.wanted)
        waited = 0.98 if self.wanted > possible else 0.0
        busy = rate * self.element_s * max(1.0, min(calls / self.element_s, 1e9) / self.rate(calls)) * 0.1
        return CallsFigures(
            seconds=0.1,
            calls=calls,
            elements=round(rate * 0.1),
            busy_s=min(busy, calls * 0.1) / (1 + is_starved),
            cpu_s=min(rate * self.cpu_s * 0.1, busy),
            waited_s=waited * 0.1,
            starved_s=0.5 * waited * 0.1 * is_starved,
            free_cores=self.cores,
            idle_cores=0.5 * bool(self.helping),
            helping_cores=self.helping,
        )


def played(world: World, looks: int = 40, tuner: CallsTuner | None = None) -> tuple[CallsTuner, list[int]]:
    """A tuner after so many looks, and how many calls there were at each."""
    tuner = tuner or CallsTuner(2)
    seen = []
    for _ in range(looks):
        seen.append(tuner.calls)
        tuner.judge(world.figures(tuner))
    return tuner, seen


WORLDS = [
    World(0.02),
    World(0.02, 0.02),
    World(0.02, wanted=1.0),
    World(0.02, 0.02, best=1, held_up=0.5),
    World(0.02, tail=9),
]


@pytest.mark.parametrize("world", WORLDS)
def test_as_many_calls_as_were_asked_for_stay_as_many(world: World) -> None:
    tuner, seen = played(world, 80, FixedCalls(3))
    assert set(seen) == {3}
    assert (tuner.decided, tuner.window) == (3, 6)


@given(st.floats(0.005, 0.5))
def test_what_waits_has_many_more_calls_than_cores_within_a_few_looks(element_s: float) -> None:
    _, seen = played(World(element_s, cpu_s=element_s * 1e-3))
    assert seen[4] == MOST_CALLS
    assert set(seen[4:]) == {MOST_CALLS}


@given(st.floats(1e-3, 0.5), st.floats(1, 8))
def test_what_computes_has_no_more_calls_than_cores_are_free(element_s: float, cores: float) -> None:
    tuner, seen = played(World(element_s, cpu_s=element_s, cores=cores))
    assert max(seen) <= math.ceil(cores) + 1
    assert tuner.calls >= min(2, cores)


def test_what_computes_and_waits_has_the_calls_that_keep_the_cores_busy() -> None:
    _, seen = played(World(0.012, cpu_s=0.002, cores=2))
    assert seen[-1] == 12


@given(st.integers(2, 40), st.integers(1, 8))
def test_steps_that_bring_nothing_are_taken_back_and_come_ever_later(behind: int, later: int) -> None:
    tuner, seen, decided = CallsTuner(2), list[int](), list[int]()
    for _ in range(200 * later):
        decided.append(tuner.decided)
        seen += played(World(0.02, cpu_s=1e-5, behind=behind), 1, tuner)[1]
    changes = sum(one != other for one, other in itertools.pairwise(decided))
    assert changes <= 6 + 2 * 8  # up to where it pays, and twice for each time that it was looked again
    settled = seen[-1]
    assert settled >= behind / 2 or settled == 2
    assert seen[20:].count(settled) >= 0.9 * len(seen[20:])


@given(st.sampled_from([1, 2, 3, 4, 6, 8, 12]), st.floats(0.02, 1.0), st.sampled_from([8, 16, 48, 64]))
def test_calls_that_hold_each_other_up_become_fewer_until_those_bring_less(
    best: int, held_up: float, first: int
) -> None:
    world = World(0.002, cpu_s=0.0018, cores=64, best=best, held_up=held_up)
    tuner = CallsTuner(first)
    tuner.made_alone(world.element_s)
    _, seen = played(world, 400, tuner)
    lasting, most = seen[30:], max(map(world.rate, range(2, first + 1)))
    assert sum(map(world.rate, lasting)) / len(lasting) >= 0.6 * most
    assert lasting.count(max(set(lasting), key=lasting.count)) >= 0.85 * len(lasting)


@given(st.floats(0.01, 0.5), st.integers(8, 64))
def test_calls_that_wait_and_do_not_hold_each_other_up_stay_as_many(element_s: float, first: int) -> None:
    tuner = CallsTuner(first, first)
    tuner.made_alone(element_s)
    _, seen = played(World(element_s, cpu_s=element_s * 1e-2, cores=64), 100, tuner)
    assert set(seen) == {first}


@given(st.floats(1.0, 500.0), st.sampled_from([2, 8, 64]))
def test_calls_that_nobody_needs_are_let_go_and_what_is_wanted_still_comes(wanted: float, first: int) -> None:
    world = World(0.02, cpu_s=1e-4, wanted=wanted)
    tuner, seen = played(world, 200, CallsTuner(first))
    assert world.rate(tuner.calls) >= min(wanted, world.rate(MOST_CALLS))
    assert tuner.calls <= max(2, 4 * wanted * 0.02 + 2)
    assert len(set(seen[100:])) == 1


@dataclasses.dataclass
class Helped(World):
    """Calls for which a library's threads compute: each number of them brings a little more than the one before, up to ``best``.

    Attributes:
        gain: what twice as many bring, as a part.
        noise: by what part a look may be wrong, either way.
        random: of what chance a look is.
    """

    gain: float = 0.0
    noise: float = 0.0
    random: random.Random = dataclasses.field(default_factory=lambda: random.Random(0))

    def rate(self, calls: int) -> float:
        return 400 * math.pow(1 + self.gain, math.log2(min(calls, self.best or calls) / 2))

    def figures(self, tuner: CallsTuner) -> CallsFigures:
        figures = super().figures(tuner)
        seen = self.rate(tuner.calls) * (1 + self.random.uniform(-self.noise, self.noise))
        return dataclasses.replace(
            figures,
            elements=round(seen * 0.1),
            busy_s=0.1 * tuner.calls,
            cpu_s=0.02 * tuner.calls,
            free_cores=0.7,
        )


@given(st.floats(0.1, 0.14), st.floats(0.0, 0.05), st.sampled_from([4, 8]), st.integers(0, 99))
def test_a_step_that_pays_a_little_is_told_from_chance_by_several_looks(
    gain: float, noise: float, best: int, seed: int
) -> None:
    world = Helped(0.003, helping=1.0, best=best, gain=gain, noise=noise, random=random.Random(seed))
    tuner = CallsTuner(2)
    tuner.made_alone(0.003)
    _, seen = played(world, 400, tuner)
    lasting = seen[100:]
    assert sum(map(world.rate, lasting)) / len(lasting) > 0.97 * world.rate(best)
    assert max(set(lasting), key=lasting.count) >= best


@given(st.floats(0.0, 0.05), st.integers(0, 99))
def test_a_step_that_brings_less_is_taken_back_however_looks_differ(noise: float, seed: int) -> None:
    world = Helped(0.003, helping=1.0, gain=-0.04, noise=noise, random=random.Random(seed))
    tuner = CallsTuner(2)
    tuner.made_alone(0.003)
    _, seen = played(world, 400, tuner)
    assert seen[100:].count(2) > 0.7 * len(seen[100:])
    assert max(seen[100:]) <= 4


@dataclasses.dataclass
class Shared(Helped):
    """On a machine that others use as well, now more and now less: for many looks, and by more than a step brings."""

    slower: float = 0.0

    def figures(self, tuner: CallsTuner) -> CallsFigures:
        self.slower = 0.9 * self.slower + self.random.gauss(0, 0.07)
        figures = super().figures(tuner)
        return dataclasses.replace(figures, elements=round(figures.elements * math.exp(self.slower)))


@given(st.sampled_from([(0.15, 4), (0.12, 8), (-0.05, 64)]), st.integers(0, 999))
def test_what_others_do_on_the_machine_does_not_decide(gains: tuple[float, int], seed: int) -> None:
    gain, best = gains
    world, lasting = Shared(0.003, helping=1.0, best=best, gain=gain, noise=0.1), list[float]()
    for number in range(4):
        world.random = random.Random(1_000 * number + seed)
        tuner = CallsTuner(2)
        tuner.made_alone(0.003)
        _, seen = played(world, 300, tuner)
        lasting += map(world.rate, seen[30:])
    assert sum(lasting) / len(lasting) > 0.93 * max(world.rate(2), world.rate(best))


def test_without_threads_that_help_or_idle_cores_no_more_calls_are_tried_than_the_cores_take() -> None:
    figures = World(0.003, cpu_s=0.003, helping=1.0).figures(CallsTuner(2))
    assert by_idle_cores(figures) == 4
    assert by_idle_cores(dataclasses.replace(figures, helping_cores=0.2)) == 0
    assert by_idle_cores(dataclasses.replace(figures, idle_cores=0.1)) == 0
    assert by_idle_cores(dataclasses.replace(figures, calls=50)) == MOST_CALLS


def test_a_consumer_that_becomes_faster_has_more_calls_again() -> None:
    tuner, seen = played(World(0.02, wanted=10), 40, CallsTuner(8))
    assert seen[-1] == 1
    _, seen = played(World(0.02, wanted=1_500), 20, tuner)
    assert seen[-1] == 64


def test_a_window_that_one_long_task_fills_becomes_wider_before_there_are_more_calls() -> None:
    tuner, seen = played(World(0.02, cpu_s=1e-5, tail=8), 2)
    assert (tuner.window, seen) == (16, [2, 2])
    tuner, _ = played(World(0.02, cpu_s=1e-5, tail=1_000), 100)
    assert tuner.window <= 16 * MOST_CALLS


def test_no_more_calls_are_had_than_there_may_be() -> None:
    _, seen = played(World(0.1), tuner=CallsTuner(2, 5))
    assert max(seen) == 5


def test_figures_of_another_number_of_calls_say_nothing() -> None:
    tuner = CallsTuner(2)
    tuner.judge(dataclasses.replace(World(0.1).figures(tuner), calls=4))
    assert tuner.calls == 2


@given(
    st.lists(
        st.builds(
            CallsFigures,
            seconds=st.floats(0.1, 2),
            calls=st.integers(1, MOST_CALLS),
            elements=st.integers(0, 10_000),
            busy_s=st.floats(0, 100),
            cpu_s=st.floats(0, 100),
            waited_s=st.floats(0, 2),
            starved_s=st.floats(0, 2),
            free_cores=st.floats(-4, 64),
        )
    )
)
def test_whatever_is_seen_there_is_one_call_at_least_and_never_more_than_may_be(seen: list[CallsFigures]) -> None:
    tuner = CallsTuner(2, 40)
    for figures in seen:
        tuner.judge(dataclasses.replace(figures, calls=tuner.calls))
        assert 1 <= tuner.calls <= 40
        assert tuner.calls <= tuner.window <= 16 * 40


def test_a_decision_says_by_which_figures_it_was_made() -> None:
    tuner, _ = played(World(0.02, cpu_s=2e-4), 1)
    assert tuner.reason == "who wants elements waits 98% of the time, and a call works 1% of its 20.0 ms"


@pytest.mark.parametrize(("at_work", "free", "calls"), [(1.0, 2.0, 2), (0.5, 2.0, 4), (1.0, -3.0, 1), (0.0, 2.0, 64)])
def test_calls_by_cores(at_work: float, free: float, calls: int) -> None:
    figures = CallsFigures(
        seconds=1.0, calls=2, elements=10, busy_s=2.0, cpu_s=2.0 * at_work, waited_s=0.0, free_cores=free
    )
    assert by_cores(figures, figures.element_s) == calls
    assert by_cores(figures, figures.element_s / 2) <= calls
    assert by_need(figures) == 3


def test_the_next_epoch_begins_with_what_was_found() -> None:
    def function(x: int) -> int:
        return x

    played(World(0.02), tuner=calls_of(2, None, (function,)))
    assert calls_of(2, None, (function,)).calls == MOST_CALLS
    assert calls_of(2, 5, (function,)).calls == 2

    dataset = hr.Dataset.range(100).map(function, num_parallel_calls=hr.AUTOTUNE)
    policy = RunPolicy(concurrency=lambda most, _: Beside(most), calls=lambda *_: calls_of(2, None, (function,)))
    with DatasetIterator(dataset.__headrace_plan__(), policy=policy) as iterator:
        assert list(iterator) == list(range(100))
        stats = iterator.stats()
    assert stats.stages[1].max_parallelism == stats.decisions[0].after == MOST_CALLS


@given(st.floats(1e-4, 1e-2), st.floats(0.2, 0.9))
def test_what_computes_on_a_machine_that_became_busy_does_not_seem_to_wait(alone_s: float, processor: float) -> None:
    tuner = CallsTuner(2)
    tuner.made_alone(alone_s)
    for _ in range(8):  # others have a part of each processor
        figures = World(alone_s / processor, cpu_s=alone_s).figures(tuner)
        tuner.judge(dataclasses.replace(figures, waited_s=0.095))
        assert tuner.calls <= 2
