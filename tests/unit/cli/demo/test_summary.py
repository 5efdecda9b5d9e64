from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.unit.cli.demo.recorded import NAIVE, PARALLEL, RUNS, SEQUENTIAL

from headrace.cli.demo.summary import compare
from headrace.errors import InternalError

ALIKE = ("sequential", "parallel")


def test_a_run_comes_down_to_one_line() -> None:
    summary = compare(RUNS, same_losses=ALIKE).summaries[1]
    assert (summary.way, summary.steps, summary.last_batch) == ("sequential", 10, 3)
    assert summary.median_s == pytest.approx(0.02)
    assert summary.p95_s == pytest.approx(0.02)
    assert summary.waiting == pytest.approx(0.5)
    assert summary.speed_up == pytest.approx(2.0)


def test_the_first_way_is_what_the_others_are_compared_with() -> None:
    assert [summary.speed_up for summary in compare(RUNS, same_losses=ALIKE).summaries] == pytest.approx([1, 2, 4])


def test_a_slow_step_shows_in_the_95th_percentile_and_not_in_the_median() -> None:
    steps = (*PARALLEL.steps[:9], replace(PARALLEL.steps[9], total_s=1.0))
    summary = compare([replace(PARALLEL, steps=steps)], same_losses=()).summaries[0]
    assert summary.median_s == pytest.approx(0.01)
    assert summary.p95_s > 0.3


def test_equal_losses_are_named() -> None:
    assert compare(RUNS, same_losses=ALIKE).same_losses == ALIKE
    assert compare([NAIVE, PARALLEL], same_losses=ALIKE).same_losses == ()


def test_a_single_bit_of_a_single_loss_is_noticed() -> None:
    fifth = replace(PARALLEL.steps[4], loss=math.nextafter(PARALLEL.steps[4].loss, 1))
    other = replace(PARALLEL, steps=(*PARALLEL.steps[:4], fifth, *PARALLEL.steps[5:]))
    with pytest.raises(InternalError, match="the losses of step 5 differ"):
        compare([SEQUENTIAL, other], same_losses=ALIKE)


def test_another_number_of_steps_is_noticed() -> None:
    with pytest.raises(InternalError, match="sequential took 10 steps and parallel 9"):
        compare([SEQUENTIAL, replace(PARALLEL, steps=PARALLEL.steps[:9])], same_losses=ALIKE)
