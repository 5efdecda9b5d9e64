"""How many calls run at once, where it is left to headrace: what is faster, found by trying; and nothing else changes."""

from __future__ import annotations

import dataclasses
import math
import threading
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.laws.elements import fail_on
from tests.laws.running import (
    Alone,
    NeverAhead,
    Restless,
    Way,
    assert_same,
    elements_of,
    history,
    in_blocks_of,
    resumed,
    running,
)

import headrace as hr
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner, tuner_of


def fed(
    calls: ConcurrencyTuner,
    alone_s: float,
    beside_s: float,
    tasks: int,
    *,
    elements: int = 10,
    in_turns: bool = False,
    from_s: float = 0.0,
    late: float = 0.0,
) -> list[int]:
    """How many could run at once in each of so many tasks, whose elements take so long; those of workers run at once, or in turns.

    Workers that run at once have most of a processor together, which is less than one that computes.
    """
    seen: list[int] = []
    now_s = from_s
    while len(seen) < tasks:
        now = calls.now
        took_s = elements * (alone_s if now == 1 else beside_s)
        for number in range(now):
            start_s = now_s + number * took_s * in_turns
            seen.append(now)
            # Each a little later than the one before.
            calls.observe(elements, start_s, start_s + took_s * (1 + late * number), now, 0.7 * took_s / now)
        now_s += took_s * (now if in_turns else 1)
    return seen[:tasks]


@dataclasses.dataclass
class Machine:
    """What calls one function for a while, as the tuner says: alone, or in as many workers at once as there are.

    Attributes:
        element_s: what an element takes.
        holds_lock: whether workers take turns.
        new_s: for so long in workers it takes twice the time, as their memory is new.
        used_s: so long somebody else leaves it one processor.
        change_s: what a change from one way to the other takes.
        placing_s: what it takes to copy an element into its batch, which a worker does within its task.
    """

    element_s: float
    holds_lock: bool = False
    new_s: float = 0.0
    used_s: float = 0.0
    change_s: float = 2e-3
    placing_s: float = 0.0
    now_s: float = 0.0
    in_workers_s: float = 0.0
    changes: int = 0

    def run(self, calls: ConcurrencyTuner, most: int, until_s: float) -> int:
        """How many elements were made until then."""
        made = 0
        while self.now_s < until_s:
            way = calls.now
            made += self._alone(calls) if way == 1 else self._beside(calls, most)
            if calls.now != way:
                self.now_s += self.change_s
                self.changes += 1
        return made

    def _alone(self, calls: ConcurrencyTuner) -> int:
        elements = min(64, calls.most_here or 64)
        start_s = self.now_s
        self.now_s += elements * self.element_s
        calls.observe(elements, start_s, self.now_s, 1)
        self.now_s += elements * self.placing_s
        return elements

    def _beside(self, calls: ConcurrencyTuner, most: int) -> int:
        elements = max(1, round(8e-3 / self.element_s))
        placing_s = elements * self.placing_s
        cpu_s = elements * self.element_s * (1 + (self.in_workers_s < self.new_s)) + placing_s
        is_in_turns = self.holds_lock or self.now_s < self.used_s
        seconds = cpu_s * (most if is_in_turns else 1)
        start_s = self.now_s
        self.now_s += seconds
        self.in_workers_s += seconds
        for _ in range(most):
            calls.observe(elements, start_s, self.now_s, most, cpu_s, placing_s)
        return elements * most


MOMENTS = st.sampled_from([0.0, 0.05, 0.1])


@given(st.floats(2e-4, 1.9e-2), st.integers(2, 16), MOMENTS, MOMENTS)
@example(
    0.005859375, 6, 0.1, 0.1
)  # a first experiment that is twice as slow and in turns from its beginning to its end
def test_what_computes_without_the_lock_has_workers_within_a_part_of_a_second_and_keeps_them(
    element_s: float, most: int, new_s: float, used_s: float
) -> None:
    calls, machine = ConcurrencyTuner(most), Machine(element_s, new_s=new_s, used_s=used_s)
    first_s = 0.5 + 2 * used_s
    machine.run(calls, most, first_s)
    before_s, changes = machine.now_s, machine.changes
    made = machine.run(calls, most, before_s + 20)
    assert made * element_s > 0.97 * most * (machine.now_s - before_s)
    assert machine.changes - changes <= 2
    assert changes <= 5


@given(st.floats(5e-4, 2e-3), st.integers(2, 16), st.floats(0.1, 20))
@example(0.0005, 11, 0.34375)  # 24 tasks are two rounds of eleven, and two tasks of a third
def test_who_was_left_alone_on_a_busy_machine_has_workers_soon_after(
    element_s: float, most: int, used_s: float
) -> None:
    calls, machine = ConcurrencyTuner(most), Machine(element_s, used_s=used_s)
    machine.run(calls, most, used_s)
    machine.run(calls, most, 3.5 * machine.now_s + 0.5)
    assert calls.now == most
    assert not calls.is_trying


@given(st.floats(5e-4, 2e-3), st.floats(0.3, 0.6))
def test_workers_are_not_slower_for_what_the_reader_would_do_after_its_own_task(element_s: float, share: float) -> None:
    # As long as two are at it, each takes twice the time: of memory new to them, or as both have one processor's parts.
    calls, machine = ConcurrencyTuner(2), Machine(element_s, new_s=math.inf, placing_s=share * element_s)
    machine.run(calls, 2, 1.0)
    assert calls.now == 2
    assert not calls.is_trying


@given(st.sampled_from([1e-5, 2e-4, 5e-4]), st.sampled_from([2, 8]), st.floats(0.9, 1.0))
def test_workers_win_nothing_by_leaving_to_the_reader_what_it_does_alone(
    element_s: float, most: int, share: float
) -> None:
    # Of what an element takes alone that part is not the workers', as where columns are joined before they are stacked.
    calls, start_s, in_workers = ConcurrencyTuner(most), 0.0, 0
    elements = round(2e-3 / element_s)
    alone_s = elements * element_s
    for _ in range(400):
        start_s += 2 * alone_s
        if calls.now == 1:
            calls.observe(elements, start_s, start_s + alone_s, 1)
            continue
        in_workers += 1
        task_s = alone_s * (1 - share)
        for _ in range(most):
            calls.observe(elements, start_s, start_s + task_s, most, task_s, -alone_s * share)
            start_s += task_s
    assert calls.now == 1
    assert in_workers < 100


def test_a_batch_tells_what_its_reader_does_with_workers_as_well() -> None:
    told: list[float] = []

    class Beside(ConcurrencyTuner):
        def observe(
            self,
            elements: int,
            start_s: float,
            end_s: float,
            beside: int,
            cpu_s: float = 0.0,
            placing_s: float = 0.0,
        ) -> bool:
            self.now = self._most
            if beside != 1:
                told.append(placing_s)
            return True

    pieces = [hr.Dataset.from_tensor_slices(np.zeros((1_000, 1_000))) for _ in range(4)]
    joined = pieces[0].concatenate(pieces[1]).concatenate(pieces[2]).concatenate(pieces[3])
    options = hr.Options(num_workers=2, optimize=False)
    with running(joined.batch(1_600, num_parallel_calls=hr.AUTOTUNE), Way(options, concurrency=Beside)) as iterator:
        assert sum(map(len, iterator)) == 4_000
    assert min(told) < 0


@given(st.floats(2e-4, 1.9e-2), st.integers(2, 16), st.integers(1, 5))
def test_what_takes_turns_stays_with_the_thread_that_reads_and_loses_little(
    element_s: float, most: int, slower: int
) -> None:
    calls, machine = ConcurrencyTuner(most), Machine(element_s, holds_lock=True, new_s=math.inf if slower > 3 else 0.0)
    made = machine.run(calls, most, 10.0)
    assert made * element_s > 0.9 * machine.now_s
    assert machine.changes <= 2 + 2 * 5


def test_half_of_an_experiment_tells_that_workers_take_turns() -> None:
    calls, machine = ConcurrencyTuner(2), Machine(2e-3, holds_lock=True)
    machine.run(calls, 2, 0.2)
    assert calls.now == 1
    assert round(machine.in_workers_s / 16e-3) == 6  # twelve tasks of 8 ms


def test_workers_that_compute_at_once_are_kept_without_a_look_at_one_thread() -> None:
    calls, machine = ConcurrencyTuner(2), Machine(1.5e-3)
    machine.run(calls, 2, 60.0)
    assert machine.changes == 1


# Experiments are of 24 tasks: whole rounds.
@given(st.sampled_from([2, 3, 4, 6, 8, 12]), st.floats(1e-3, 1e-2), st.floats(0.9, 1.6), st.floats(0.0, 0.9))
def test_calls_that_wait_have_workers_where_these_take_hardly_longer_as_their_reader_works_meanwhile(
    most: int, alone_s: float, slower: float, at_once: float
) -> None:
    calls, now_s = ConcurrencyTuner(most), 0.0
    for _ in range(3_000):
        now = calls.now
        took_s = 4 * (alone_s if now == 1 else alone_s * most * slower)
        for _ in range(now):
            calls.observe(4, now_s, now_s + took_s, now, at_once * took_s / now)
        now_s += took_s
    waits = at_once < 0.59 and at_once < 0.49 * most
    if (waits and slower < 1.24) or slower < 0.9:
        assert calls.now == most or calls.is_trying
    elif slower > 1.26 or (at_once > 0.61 and slower > 0.92):
        assert calls.now == 1 or calls.is_trying


@given(st.sampled_from([2, 4]), st.floats(1e-3, 1.7e-3), st.floats(1.1, 1.3), st.floats(1.7, 3.0), st.floats(0.3, 3.0))
def test_calls_that_wait_keep_their_workers_where_others_slow_these_for_a_moment_and_not_for_good(
    most: int, alone_s: float, faster: float, busy: float, free_s: float
) -> None:
    calls, now_s = ConcurrencyTuner(most), 0.0

    def runs(slower: float) -> float:
        """Makes some elements; returns how long the thread that reads did."""
        nonlocal now_s
        now = calls.now
        took_s = 4 * (alone_s if now == 1 else alone_s * most / faster * slower)
        for _ in range(now):
            calls.observe(4, now_s, now_s + took_s, now, 0.2 * took_s / now)
        now_s += took_s
        return took_s if now == 1 else 0.0

    while calls.is_trying or calls.now == 1:
        runs(1.0)
    until_s = now_s + free_s
    while now_s < until_s:
        runs(1.0)
    while not runs(busy):  # until the next look at one thread
        pass
    until_s, by_reader_s = now_s + 6.0, 0.0
    while now_s < until_s:
        by_reader_s += runs(1.0)
    assert calls.now == most or calls.is_trying
    assert by_reader_s < 0.25  # what it is left to for having won
    while now_s < until_s + 40.0:
        runs(busy)
    assert calls.now == 1 or calls.is_trying


@given(st.integers(4, 16), st.floats(1e-4, 5e-3))
def test_workers_that_are_far_better_are_not_left_for_a_look_at_one_thread_for_a_while_and_then_are(
    most: int, element_s: float
) -> None:
    calls = ConcurrencyTuner(most)
    fed(calls, element_s, element_s, 400)
    assert calls.now == most
    tasks_a_second = most * int(1.0 / (10 * element_s))
    assert 1 not in fed(calls, element_s, element_s, tasks_a_second)
    late = fed(calls, element_s, element_s, 60 * tasks_a_second)
    assert 1 in late
    assert late.count(1) <= 40


def test_a_second_epoch_does_not_wait_for_what_the_first_one_could_not_find() -> None:
    calls, machine = ConcurrencyTuner(2), Machine(1e-3, used_s=0.3)
    machine.run(calls, 2, 0.3)
    assert calls.now == 1
    machine.run(calls, 2, 1.0)
    assert calls.now == 2


@given(st.integers(2, 64), st.floats(2e-3, 1e-2), st.floats(0.1, 10))
@example(11, 0.0078125, 0.75)
@example(5, 0.00390625, 0.875)
def test_the_faster_way_is_found_and_the_other_tried_ever_less(most: int, alone_s: float, slower: float) -> None:
    beside_s = alone_s * most * slower
    calls = ConcurrencyTuner(most)
    seen = fed(calls, alone_s, beside_s, 6000)
    better = most if slower * 1.1 < 1 else 1
    assert seen[0] == 1
    assert seen[2 : most + 1] == [most] * (most - 1)  # two tell that they take long
    # At the beginning, after 0.25, 0.5, 1, 2, 4, 8 s of work and then each 16 s: tasks are of 20 to 100 ms, or more in workers. So these are
    # at most a part of what was done, and where workers lose they have a twentieth of the time.
    experiments = 8 + 6000 * 0.1 / 16 if better == 1 else 5 + 6000 * 10 * beside_s / most / 16
    assert seen.count(better) > 6000 - experiments * max(24, 3 * most)
    assert calls.now == better or calls.is_trying


@given(st.integers(2, 16), st.floats(2e-5, 9e-4), st.floats(1, 10), st.floats(1e-6, 1e-2))
def test_tasks_that_do_not_quite_end_together_make_no_worker_faster(
    most: int, alone_s: float, slower: float, late: float
) -> None:
    calls = ConcurrencyTuner(most)
    elements = int(8e-3 / alone_s)
    seen = fed(calls, alone_s, alone_s * most * slower, 3000, elements=elements, late=late)
    assert most in seen  # it was tried
    assert seen.count(1) > 3000 - 9 * max(24, 2 * most) - 4 * most


@given(st.integers(2, 6), st.floats(2e-4, 1.5e-3), st.floats(2, 10))
def test_the_first_tasks_of_new_workers_do_not_decide(most: int, alone_s: float, slower: float) -> None:
    calls = ConcurrencyTuner(most)
    now_s = 0.0
    while calls.now == 1:
        fed(calls, alone_s, alone_s, 1, elements=5, from_s=now_s)
        now_s += 5 * alone_s
    fed(calls, alone_s, alone_s * most * slower, 12 // most * most, elements=5, from_s=now_s)
    seen = fed(calls, alone_s, alone_s, 40, elements=5, from_s=now_s + 100)
    assert seen[-10:] == [most] * 10
    assert not calls.is_trying


@given(st.integers(2, 64), st.floats(2e-5, 9e-5), st.floats(0.1, 10))
def test_what_is_cheap_is_made_alone_for_a_while(most: int, alone_s: float, slower: float) -> None:
    calls = ConcurrencyTuner(most)
    seen = fed(calls, alone_s, alone_s * most * slower, 10_000, elements=500)
    alone = seen.index(most)
    work_s = alone * 500 * alone_s
    tried_s = 2 * most * 2e-3  # two tasks for each worker
    assert 20 * tried_s <= work_s <= 20 * (tried_s + 2e-3) + 500 * alone_s
    better = most if slower * 1.1 < 1 else 1
    assert seen.count(better) > 0.96 * 10_000 - 12 * most


@given(st.integers(2, 8), st.floats(2e-8, 2e-5), st.sampled_from([1, 32]))
def test_the_shorter_a_call_is_the_more_work_comes_before_it_is_tried(
    most: int, call_s: float, elements_a_call: int
) -> None:
    calls, alone_s = ConcurrencyTuner(most), call_s / elements_a_call
    calls.elements_a_call = elements_a_call
    task_s, tried_s = 0.005 / call_s * 2e-5, 2 * most * 2e-3 + 1e-3  # two tasks for each worker, and the change to them
    seen = fed(calls, alone_s, alone_s, 400 * most, elements=round(task_s / alone_s))
    enough_s = 20 * tried_s * 2e-5 / call_s
    assert 0.999 * enough_s <= seen.index(most) * task_s <= 1.001 * enough_s + 2 * task_s


def test_a_call_that_takes_all_elements_at_once_is_tried_like_a_long_one() -> None:
    calls = ConcurrencyTuner(2)
    calls.elements_a_call = math.inf
    assert fed(calls, 1e-7, 1e-7, 50, elements=50_000).index(2) <= 0.2 / 5e-3


@given(st.integers(2, 8), st.floats(1e-7, 1e-6), st.integers(0, 3_000))
def test_what_gets_slow_goes_to_the_workers_at_once_whatever_was_cheap_before(
    most: int, alone_s: float, cheap: int
) -> None:
    calls = ConcurrencyTuner(most)
    fed(calls, alone_s, alone_s, cheap, elements=1_000)
    assert fed(calls, 2e-3, 2e-3, 3, elements=1, from_s=1e6) == [1, 1, most]


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60), st.floats(1e-6, 1e-5))
def test_little_that_is_made_alone_is_learned_from_together(tasks: list[int], element_s: float) -> None:
    calls, now_s, since_s, most = ConcurrencyTuner(2), 0.0, 0.0, 0
    for elements in tasks:
        since_s += elements * element_s
        is_learned = calls.observe(elements, now_s, now_s + elements * element_s, 1)
        assert is_learned or (since_s < 4.001e-3 and elements <= most)
        now_s, since_s, most = now_s + 1e-3, 0.0 if is_learned else since_s, max(most, elements)


def test_what_changes_is_noticed() -> None:
    calls = ConcurrencyTuner(2)
    fed(calls, 1e-3, 4e-3, 40)
    assert calls.now == 1
    seen = fed(calls, 1e-3, 1e-3, 1_500)
    assert seen[-100:] == [2] * 100


def test_what_takes_long_is_made_alone_once_and_never_again() -> None:
    assert fed(ConcurrencyTuner(4), 1.0, 1.0, 100) == [1, *[4] * 99]


def test_a_first_element_that_alone_takes_long_says_nothing() -> None:
    calls = ConcurrencyTuner(4)
    calls.observe(1, 0.0, 0.01, 1)
    assert set(fed(calls, 1e-6, 1e-6, 100)) == {1}


def test_short_tasks_wake_nobody() -> None:
    assert set(fed(ConcurrencyTuner(4), 1e-6, 1e-6, 100)) == {1}


@given(st.integers(2, 8), st.floats(1e-6, 9e-5), st.sampled_from([1, 2, 10]))
def test_what_experiments_with_cheap_elements_cost_is_a_small_part_of_the_work(
    most: int, alone_s: float, slower: float
) -> None:
    calls = ConcurrencyTuner(most)
    elements = int(2e-3 / alone_s)
    seen = fed(calls, alone_s, alone_s * slower, 4_000, elements=elements, in_turns=True)
    alone = seen.count(1)
    assert seen[:80] == [1] * 80
    # What the next one will take is expected to be what one takes that is not slower.
    assert (4_000 - alone) * slower < 0.06 * alone + 4 * most * slower


def test_python_code_of_two_workers_that_takes_turns_gains_nothing_however_short_a_task_is() -> None:
    calls = ConcurrencyTuner(2)
    fed(calls, 1e-5, 1e-5, 100, elements=200, in_turns=True)
    assert calls.now == 1


def test_as_many_as_were_asked_for_run_until_they_are_slower_than_one_thread() -> None:
    for beside_s, way in ((1.2e-3, 4), (4.8e-3, 1)):
        calls = ConcurrencyTuner(4, is_asked_for=True)
        seen = fed(calls, 1e-3, beside_s, 2000)
        assert seen[:8] == [4] * 8
        assert calls.now == way
        assert seen.count(way) > 1000


def test_one_thread_is_not_tried_where_calls_were_asked_for_that_wait() -> None:
    calls = ConcurrencyTuner(4, is_asked_for=True)
    for number in range(4000):
        start_s = number // 4 * 5e-3
        calls.observe(1, start_s, start_s + 5e-3, 4, 1e-4)
        assert calls.now == 4


def test_one_call_at_a_time_that_did_not_come_back_is_not_tried_again_for_ever_longer() -> None:
    calls, intervals, round_s = ConcurrencyTuner(4, is_asked_for=True), [], 4.8e-2
    now_s = 0.0
    for _ in range(3):
        calls.gives_up(0.25)
        begun_s = now_s
        while calls.now == 4:
            fed(calls, 1e-3, 4.8e-3, 4, from_s=now_s)
            now_s += round_s
        intervals.append(round((now_s - begun_s) / 16))
    assert intervals == [4, 16, 64]


def test_one_at_a_time_that_was_far_quicker_stays_until_it_is_slower() -> None:
    calls = ConcurrencyTuner(4, is_asked_for=True)
    fed(calls, 1e-3, 1.2e-2, 400)
    assert set(fed(calls, 1e-3, 1.2e-2, 800, from_s=100.0)) == {1}
    assert 4 in fed(calls, 2e-3, 1.2e-2, 800, from_s=200.0)


@pytest.mark.parametrize(
    ("element_s", "elements_a_call", "is_quick"), [(4e-6, 1, True), (4e-6, math.inf, False), (4e-5, 1, False)]
)
def test_what_is_quicker_made_than_handed_over_is_tried_alone_soon(
    element_s: float, elements_a_call: float, is_quick: bool
) -> None:
    calls = ConcurrencyTuner(4, is_asked_for=True)
    calls.elements_a_call = elements_a_call
    seen = fed(calls, element_s / 8, element_s, 80, elements=round(4e-3 / element_s))
    assert calls.is_quick is is_quick
    assert (1 in seen) is is_quick  # after 80 ms of work, of which a look would take too much if it gained nothing


def test_calls_that_were_asked_for_are_made_by_the_thread_that_reads_where_that_is_quicker() -> None:
    callers: set[str] = set()

    def call(x: int) -> int:
        callers.add(threading.current_thread().name)
        return x

    ds = hr.Dataset.range(60).map(call, num_parallel_calls=3).batch(4, num_parallel_calls=3)
    with running(ds, Way(hr.Options(), block_sizes=(5,), overlap=NeverAhead, concurrency=Alone)) as iterator:
        assert len(list(iterator)) == 15
    assert callers == {threading.current_thread().name}


def test_the_next_epoch_and_another_turn_go_on_with_what_was_learned() -> None:
    def function(x: int) -> int:
        return x

    fed(tuner_of(2, (function,)), 1e-3, 4e-3, 40)
    assert tuner_of(2, (function,)) is tuner_of(2, (function,))
    assert tuner_of(2, (function,)).now == 1
    assert tuner_of(4, (function,)) is not tuner_of(2, (function,))


def test_of_a_function_that_nothing_refers_to_weakly_the_operation_learns() -> None:
    operation = hr.Dataset.range(1).map(str.lower).__headrace_plan__().operation
    assert tuner_of(2, (str.lower, operation)) is tuner_of(2, (str.lower, operation))
    assert tuner_of(2, (str.lower,)) is not tuner_of(2, (str.lower,))


@given(st.integers(0, 300), st.integers(1, 9), st.booleans())
def test_nothing_else_changes_however_often_it_changes_its_mind(length: int, size: int, ordered: bool) -> None:
    dataset = hr.Dataset.range(length).map(fail_on(3, 50), num_parallel_calls=hr.AUTOTUNE, deterministic=ordered)
    restless = Way(hr.Options(), concurrency=Restless)
    if ordered:
        dataset = dataset.batch(size)
        assert_same(elements_of(dataset, limit=400), elements_of(dataset, restless, limit=400))
    else:
        assert sorted(map(repr, elements_of(dataset, limit=400))) == sorted(
            map(repr, elements_of(dataset, restless, limit=400))
        )


def test_an_epoch_of_few_cheap_elements_starts_no_thread() -> None:
    seen: set[str] = set()

    def function(x: int) -> int:
        seen.add(threading.current_thread().name)
        return x

    numbers = hr.Dataset.range(1_000)
    made = numbers.map(function, num_parallel_calls=hr.AUTOTUNE).batch(10, num_parallel_calls=hr.AUTOTUNE)
    with in_blocks_of(None, made, overlap=NeverAhead) as iterator:
        assert len(list(iterator)) == 100
    assert seen == {threading.current_thread().name}


def test_what_runs_in_the_driver_counts_once() -> None:
    def busy(x: int) -> int:
        began = time.perf_counter()
        while time.perf_counter() < began + 1e-3:
            pass
        return x

    made = hr.Dataset.range(40).map(busy, num_parallel_calls=hr.AUTOTUNE)
    with running(made, Way(hr.Options(), concurrency=Alone)) as iterator:
        assert len(list(iterator)) == 40
        stats = iterator.stats()
    assert 0.04 <= stats.stages[1].busy_s <= stats.elapsed_s


@given(
    st.integers(0, 100),
    st.integers(1, 9),
    st.sampled_from([None, (1,), (2, 7), (3,), (1000,)]),
    st.integers(2, 5),
    st.booleans(),
)
def test_batches_are_the_same_however_often_it_changes_its_mind(
    length: int, size: int, block_sizes: tuple[int, ...] | None, part: int, drops: bool
) -> None:
    parts = hr.Dataset.range(length).filter(lambda x: x % part != 1)
    dataset = parts.batch(size, drop_remainder=drops, num_parallel_calls=hr.AUTOTUNE).map(lambda x: x.tolist())
    restless = Way(hr.Options(num_workers=2), concurrency=Restless, block_sizes=block_sizes)
    elements, states = history(dataset, restless, limit=200)
    assert_same(elements_of(dataset, limit=200), elements)
    for number, state in enumerate(states):
        assert_same(elements[number:], resumed(dataset, state, restless, limit=200))


def test_one_element_that_completes_a_batch_does_not_make_the_next_ones_few() -> None:
    tuner = ConcurrencyTuner(2)
    now_s = 0.0
    for elements in (1, 4, 16, 64, 1):
        tuner.observe(elements, now_s, now_s + elements * 1e-7, 1)
        now_s += 1e-3
    assert tuner.most_here == 256
