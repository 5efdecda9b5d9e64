"""Every operation of a small plan, over every source, as a function makes it of elements: its elements, and a state after each."""

from __future__ import annotations

import pytest
from tests.laws.running import REFERENCE, Way, assert_same, history, resumed, some_of
from tests.laws.small_plans import SOURCES, STEPS

import headrace as hr

# All that is taken of the datasets is one block.
AT_ONCE = Way(hr.Options(seed=7), block_sizes=(1000,))
POINTS = 12


@pytest.mark.parametrize("step", sorted(STEPS))
@pytest.mark.parametrize("cycle_length", [1, 3])
def test_a_state_within_a_small_plan_goes_on_there(step: str, cycle_length: int) -> None:
    for place, make in enumerate(SOURCES.values()):

        def build(make: object = make) -> hr.Dataset:
            return hr.Dataset.range(3, 8).interleave(
                lambda x: STEPS[step](make(x)),  # type: ignore[operator]  # a source
                cycle_length=cycle_length,
                block_length=2,
            )

        expected, states = history(build(), AT_ONCE, limit=POINTS)
        assert_same(history(build(), REFERENCE, limit=POINTS)[0], expected)
        for count, state in some_of(states, one_in=3, apart=f"{step} {place}"):
            way = (AT_ONCE, REFERENCE)[count % 2]
            assert_same(expected[count:], resumed(build(), state, way, limit=POINTS - count))
