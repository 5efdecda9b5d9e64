"""Runs on trial, with a clock that is moved by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.profiling.phases import Epochs, Phase, consume, keep


class ManualClock:
    def __init__(self) -> None:
        self.time_s = 100.0

    def now_s(self) -> float:
        return self.time_s


times = st.floats(0, 2)


@given(times, times, st.floats(0.1, 10), st.floats(0, 5))
def test_a_phase_says_what_steps_waited_and_took_without_its_beginning(
    wait_s: float, step_s: float, seconds: float, first_s: float
) -> None:
    clock = ManualClock()
    taken = 0

    def elements() -> Iterator[int]:
        for number in itertools.count():
            clock.time_s += wait_s if number else first_s
            yield number

    def step(_: int) -> None:
        nonlocal taken
        taken += 1
        clock.time_s += step_s if wait_s + step_s > 1e-2 else 1e-2

    phase = consume(elements(), step, seconds, clock)
    took_s = step_s if wait_s + step_s > 1e-2 else 1e-2
    assert 2 <= taken <= 2 + seconds / (wait_s + took_s)
    assert 1 <= phase.steps < taken
    assert phase.waited_s == pytest.approx(wait_s)
    assert phase.step_s == pytest.approx(took_s)
    assert phase.elapsed_s == pytest.approx(phase.steps * (wait_s + took_s))
    assert phase.rate == pytest.approx(1 / (wait_s + took_s))


@given(st.integers(1, 5), st.integers(1, 20))
def test_epochs_go_on_and_each_is_told(length: int, count: int) -> None:
    began: list[Iterator[int]] = []
    with_epochs = iter(Epochs(hr.Dataset.range(length), began.append))
    assert [int(next(with_epochs)) for _ in range(count)] == [number % length for number in range(count)]
    assert len(began) == -(-count // length)


def test_a_dataset_without_elements_is_an_error() -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="the dataset is empty"):
        next(iter(Epochs(hr.Dataset.range(0))))


def test_few_large_elements_are_kept_and_some_small_ones() -> None:
    assert keep(itertools.count()) == list(range(32))
    large = np.zeros(100 << 20, np.uint8)
    assert len(keep(itertools.repeat(large))) == 3


def test_slow_elements_are_kept_as_many_as_come_in_the_time_that_there_is() -> None:
    clock = ManualClock()

    def slow() -> Iterator[int]:
        for number in itertools.count():
            clock.time_s += 3.0
            yield number

    assert keep(slow(), 10.0, clock) == [0, 1, 2, 3]
    assert keep(slow(), 1.0, clock) == [0]


@given(st.lists(st.floats(0.1, 1.0), min_size=8, max_size=40))
def test_steps_that_take_the_same_are_certain_and_others_as_uncertain_as_they_differ(totals_s: list[float]) -> None:
    def phase(waits_s: list[float]) -> Phase:
        return Phase(len(waits_s), sum(waits_s), tuple(waits_s), tuple(0.0 for _ in waits_s))

    assert phase([0.5] * len(totals_s)).noise == pytest.approx(0.0)
    assert phase(totals_s[:3]).noise == 0.0  # too few to tell
    noise = phase(totals_s).noise
    assert 0 <= noise <= 1
    assert phase([10 * total_s for total_s in totals_s]).noise == pytest.approx(noise)
    quarter = [0.1] * 8 + [0.9] * 8
    # The standard error of 0.1, 0.1, 0.9 and 0.9, by their mean.
    assert phase(quarter).noise == pytest.approx(0.4619, abs=1e-3)
