"""Which reading of rejection_resample gives the next element, where the estimate changes that chooses."""

from __future__ import annotations

import pytest
from tests.laws.jumping import Jumps
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, history, resumed
from tests.laws.steps_mixing import class_of

import headrace as hr


def resampled(seed: int) -> hr.Dataset:
    shuffled = hr.Dataset.range(200).shuffle(200, seed=seed).map(lambda x: x * x // 7)
    return shuffled.rejection_resample(class_of(2, wrong=False), [0.8, 0.2], None, seed)


@pytest.mark.parametrize("jumps", [None, Jumps(0, 0.5)], ids=str)
@pytest.mark.parametrize("seed", [0, 15, 19, 34, 40])
def test_an_estimate_chooses_from_the_first_draw_after_its_group_and_nothing_twice(
    seed: int, jumps: Jumps | None
) -> None:
    way = Way(hr.Options(seed=7), jumps=jumps)
    expected = elements_of(resampled(seed), REFERENCE, limit=100)
    elements, states = history(resampled(seed), way, limit=100)
    assert_same(expected, elements)
    for count in range(0, 100, 9):
        assert_same(expected[count:], resumed(resampled(seed), states[count], way, limit=100 - count))
