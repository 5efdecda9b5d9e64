"""What tasks took together: those that run at once tell it, however few of a round are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.physical.workers.task_figures import covered_s, ended_rounds, made


@given(st.integers(2, 64), st.floats(1e-4, 1.0), st.floats(0.0, 0.3), st.integers(1, 100), st.data())
def test_rounds_of_which_some_tasks_are_on_their_way_tell_what_an_element_takes(
    way: int, took_s: float, late: float, elements: int, data: st.DataObject
) -> None:
    known = data.draw(st.integers(way, 5 * way))
    starts = [index // way * took_s * (1 + late) + index % way / way * late * took_s for index in range(known)]
    tasks = ended_rounds([(start_s, start_s + took_s, elements, 0.0, 0.0) for start_s in starts], way)
    assert len(tasks) == known // way * way  # and no whole round is left out
    assert covered_s(tasks) / made(tasks) == pytest.approx(took_s / (way * elements), rel=1.1 * late + 1e-6)
