"""Which of two numbers of calls brings more, told by turns: also where the machine is another one from look to look."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.analysis.calls import CallsFigures
from headrace.physical.workers.calls_trial import CallsTrial


def figures(calls: int, rate: float, helping_cores: float = 0.0) -> CallsFigures:
    """A look at so many calls, which made so many elements a second."""
    return CallsFigures(
        seconds=100.0,
        calls=calls,
        elements=round(100 * rate),
        busy_s=100.0 * calls,
        cpu_s=1.0,
        waited_s=90.0,
        helping_cores=helping_cores,
    )


def decided(before: int, tried: int, rate: Callable[[int, int], float], *, helping: float = 0.0) -> tuple[bool, int]:
    """Whether what is tried is kept, and after how many looks; ``rate`` is of so many calls at that look."""
    trial, looks = CallsTrial(figures(before, rate(before, 0), helping), tried), 0
    assert trial.calls == (before if helping else tried)
    while True:
        looks += 1
        verdict = trial.add(figures(trial.calls, rate(trial.calls, looks), helping))
        if verdict is not None:
            return verdict, looks
        assert trial.calls in {before, tried}


@given(
    st.sampled_from([(2, 4), (4, 8), (8, 12), (8, 4), (3, 2)]),
    st.floats(-0.25, 0.3),
    st.floats(-0.04, 0.04),
    st.floats(0.0, 0.15),
    st.floats(3.0, 30.0),
)
def test_a_machine_that_becomes_quicker_or_slower_says_nothing_of_calls(
    calls: tuple[int, int], gain: float, trend: float, wave: float, period: float
) -> None:
    before, tried = calls

    def rate(now: int, look: int) -> float:
        return 1e3 * math.exp(gain * (now == tried) + trend * look + wave * math.sin(look / period))

    least = math.log(1.05) if tried > before else 0.0
    bend = wave / period**2  # how much a wave is none that goes on straight
    kept, looks = decided(before, tried, rate, helping=1.0)
    assert looks <= 2 + 2 * 6
    if abs(gain - least) > 0.01 + bend:
        assert kept == (gain > least)


@given(st.sampled_from([(2, 8), (8, 32), (32, 64), (2, 3)]), st.floats(0.45, 1.0))
def test_a_step_that_brings_a_good_part_of_what_it_could_is_kept_at_once(calls: tuple[int, int], part: float) -> None:
    before, tried = calls
    assert decided(before, tried, lambda now, _: 1e3 * now**part) == (True, 1)
    assert decided(tried, before, lambda now, _: 1e3 / now**part) == (True, 1)


def test_a_step_of_calls_for_which_a_librarys_threads_compute_is_not_kept_at_once() -> None:
    cold = {0: 0.3}
    kept, looks = decided(2, 4, lambda _, look: 1e3 * cold.get(look, 1.0), helping=1.0)
    assert (kept, looks > 1) == (False, True)


@given(st.floats(0.01, 0.9), st.booleans())
def test_what_has_begun_a_moment_ago_may_be_slow(slow: float, pays: bool) -> None:
    gain = 1.3 if pays else 0.8
    kept, _ = decided(2, 4, lambda now, look: 1e3 * (gain if now == 4 else 1.0) * (slow if look == 1 else 1.0))
    assert kept == pays


@given(st.integers(0, 999), st.sampled_from([0.15, -0.1]))
def test_most_trials_are_right_where_looks_differ_by_chance(seed: int, gain: float) -> None:
    chance = random.Random(seed)
    right = sum(
        decided(2, 4, lambda now, _: 1e3 * math.exp(gain * (now == 4) + chance.gauss(0, 0.07)), helping=1.0)[0]
        == (gain > 0)
        for _ in range(20)
    )
    assert right >= 13


@pytest.mark.parametrize(("before", "tried"), [(2, 4), (4, 2)])
def test_nothing_made_is_a_look_as_well(before: int, tried: int) -> None:
    kept, _ = decided(before, tried, lambda now, _: 0.0 if now == tried else 1e3)
    assert not kept
    kept, _ = decided(before, tried, lambda *_: 0.0)
    assert kept == (tried < before)


def test_the_gain_is_that_of_looks_between_looks() -> None:
    trial = CallsTrial(figures(2, 1.0, 1.0), 4)
    looks = [(2, 100.0), (4, 165.0), (2, 121.0), (4, 199.65), (2, 146.41)]
    assert [trial.add(figures(calls, rate, 1.0)) for calls, rate in looks] == [None, None, None, None, True]
    assert trial.gain == pytest.approx(1.5)
    assert not trial.was_plain
