"""How many calls run at once, where it is left to headrace: what is faster, found by trying; and nothing else changes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.elements import fail_on
from tests.laws.running import assert_same, elements_of

import headrace as hr
from headrace.physical.workers import concurrency_tuner as tuned_calls
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.testing.restoring import check_every_restore_point


def fed(calls: ConcurrencyTuner, alone_s: float, beside_s: float, tasks: int) -> list[int]:
    """How many could run at once in each of so many tasks, whose elements take so long."""
    seen = []
    for _ in range(tasks):
        seen.append(calls.now)
        calls.observe(10, 10 * (alone_s if calls.now == 1 else beside_s), calls.now)
    return seen


@given(st.integers(2, 64), st.floats(1e-3, 1e-2), st.floats(0.1, 10))
def test_the_faster_way_is_found_and_the_other_tried_ever_less(most: int, alone_s: float, slower: float) -> None:
    beside_s = alone_s * most * slower
    calls = ConcurrencyTuner(most, lambda x: x)
    seen = fed(calls, alone_s, beside_s, 2000)
    better = most if slower * 1.1 < 1 or beside_s > 2e-2 else 1
    if beside_s <= 2e-2:
        assert seen[:most] == [most] * most
        assert seen[most] == 1
    assert seen.count(better) > 2000 - 6 * most
    assert calls.now == better or calls.is_trying


def test_what_changes_is_noticed() -> None:
    calls = ConcurrencyTuner(2, lambda x: x)
    fed(calls, 1e-3, 4e-3, 40)
    assert calls.now == 1
    seen = fed(calls, 1e-3, 1e-3, 200)
    assert seen[-1] == 2


def test_what_takes_long_is_never_tried_alone() -> None:
    assert set(fed(ConcurrencyTuner(4, lambda x: x), 1.0, 1.0, 100)) == {4}


def test_short_tasks_decide_nothing() -> None:
    assert set(fed(ConcurrencyTuner(4, lambda x: x), 1e-6, 1e-6, 100)) == {4}


def test_the_next_epoch_begins_with_what_was_learned() -> None:
    def function(x: int) -> int:
        return x

    fed(ConcurrencyTuner(2, function), 1e-3, 4e-3, 40)
    assert ConcurrencyTuner(2, function).now == 1
    assert ConcurrencyTuner(2, lambda x: x).now == 2


def test_a_function_that_nothing_refers_to_weakly_is_learned_anew() -> None:
    fed(ConcurrencyTuner(2, np.sin), 1e-3, 4e-3, 40)
    assert ConcurrencyTuner(2, np.sin).now in {1, 2}


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned_calls, "_MEASURABLE_S", 0)
    monkeypatch.setattr(tuned_calls, "_FIRST_INTERVAL", 2)
    monkeypatch.setattr(tuned_calls, "_LAST_INTERVAL", 2)


@pytest.mark.usefixtures("restless")
@settings(deadline=None)
@given(st.integers(0, 300), st.integers(1, 9), st.booleans())
def test_nothing_else_changes_however_often_it_changes_its_mind(length: int, size: int, ordered: bool) -> None:
    dataset = hr.Dataset.range(length).map(fail_on(3, 50), num_parallel_calls=hr.AUTOTUNE, deterministic=ordered)
    if ordered:
        dataset = dataset.batch(size)
        assert_same(elements_of(dataset.with_options(hr.Options(executor="inline"))), elements_of(dataset))
    else:
        found = [repr(one) for one in elements_of(dataset)]
        wanted = [repr(one) for one in elements_of(dataset.with_options(hr.Options(executor="inline")))]
        assert sorted(found) == sorted(wanted)


@pytest.mark.usefixtures("restless")
def test_every_place_can_be_resumed() -> None:
    check_every_restore_point(
        hr.Dataset.range(40).map(lambda x: np.full(3, x), num_parallel_calls=hr.AUTOTUNE).batch(3)
    )


def test_what_runs_in_the_driver_counts_once() -> None:
    def busy(x: int) -> int:
        began = time.perf_counter()
        while time.perf_counter() < began + 1e-3:
            pass
        return x

    tuned_calls._learn(busy, 1)  # its first interval runs in the driver, and this epoch is shorter
    with iter(hr.Dataset.range(40).map(busy, num_parallel_calls=hr.AUTOTUNE)) as iterator:
        assert len(list(iterator)) == 40
        stats = iterator.stats()
    assert 0.04 <= stats.stages[1].busy_s <= stats.elapsed_s
