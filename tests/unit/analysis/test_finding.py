"""The verdict over made-up figures: each cause, planted in figures of which it is the only one."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.analysis.figures import CONSUMER, Kind, MachineFigures, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.finding import Cause, judge
from headrace.analysis.model import rate

STEP = StepFigures(alone_s=0.01, beside_s=0.01, waited_s=0.09)


def pipeline(
    source: dict[str, Any] | None = None, work: dict[str, Any] | None = None, cores: int = 4
) -> PipelineFigures:
    """Returns a source that costs little, and a map that costs little, both in a thread behind a prefetch, but for what is said."""
    first = StageFigures(
        key=0, name="source", kind=Kind.SOURCE, segment=2, visits=32, service_s=1e-6, cpu_s=1e-6, p50_s=1e-6
    )
    second = dataclasses.replace(first, key=1, name="work", kind=Kind.MAP, reads=(0,))
    stages = (dataclasses.replace(first, **(source or {})), dataclasses.replace(second, **(work or {})))
    return PipelineFigures(stages=stages, machine=MachineFigures(cores=cores))


SLOW = {"service_s": 3e-3, "cpu_s": 3e-3, "p50_s": 3e-3, "longest_s": 4e-3}
PLANTED = {
    Cause.SOURCE: (pipeline(source=SLOW), STEP, 0),
    Cause.MAP: (pipeline(work={**SLOW, "calls": 4}), STEP, 1),
    Cause.PARALLELISM: (pipeline(work=SLOW), STEP, 1),
    Cause.GIL: (pipeline(work={**SLOW, "lock_share": 0.95}), STEP, 1),
    Cause.MEMORY_BUDGET: (pipeline(work={**SLOW, "calls": 4, "cpu_s": 1e-5, "fits": 1.5}), STEP, 1),
    Cause.CONSUMER: (pipeline(), StepFigures(alone_s=0.1, beside_s=0.1, waited_s=1e-3), None),
    Cause.TRAINER_SLOWED: (pipeline(), StepFigures(alone_s=0.1, beside_s=0.2, waited_s=1e-3), None),
    Cause.COPY: (pipeline(), StepFigures(alone_s=0.1, beside_s=0.1, waited_s=0.05, copied_s=0.15), None),
    Cause.BUFFER: (
        pipeline(source={"segment": CONSUMER}, work={**SLOW, "segment": CONSUMER, "service_s": 1e-3}),
        StepFigures(alone_s=0.1, beside_s=0.1, waited_s=0.03),
        1,
    ),
    Cause.BURST: (
        pipeline(source={"longest_s": 1.0, "service_s": 1e-4}),
        StepFigures(alone_s=0.1, beside_s=0.1, waited_s=0.05, waited_longest_s=1.0, late_share=0.05, uneven_share=0.9),
        0,
    ),
    Cause.STRAGGLER: (
        pipeline(work={"longest_s": 10.0, "service_s": 1e-4}),
        StepFigures(alone_s=0.1, beside_s=0.1, waited_s=0.05, waited_longest_s=10.0, uneven_share=1.0),
        1,
    ),
}


@pytest.mark.parametrize("cause", PLANTED, ids=lambda cause: cause.value)
def test_what_was_planted_is_named(cause: Cause) -> None:
    figures, step, key = PLANTED[cause]
    found = judge(figures, step, rate(figures))
    assert (found.cause, found.key) == (cause, key)
    assert found.waiting_share == step.waiting_share


def test_a_cache_that_never_has_what_is_asked_for_is_named_in_place_of_what_it_should_spare() -> None:
    figures = pipeline(work=SLOW)
    cache = StageFigures(key=2, name="cache", kind=Kind.CACHE, reads=(1,), segment=2, misses=True)
    figures = dataclasses.replace(figures, stages=(*figures.stages, cache))
    assert judge(figures, STEP, rate(figures)).cause is Cause.CACHE
    figures = figures.replaced(dataclasses.replace(cache, misses=False))
    assert judge(figures, STEP, rate(figures)).cause is Cause.PARALLELISM


@given(st.floats(0.96, 1.0), st.floats(1e-3, 10))
def test_steps_that_hardly_wait_are_never_blamed_on_the_pipeline(busy: float, step_s: float) -> None:
    step = StepFigures(alone_s=step_s, beside_s=step_s, waited_s=step_s * (1 / busy - 1))
    for figures, _, _ in PLANTED.values():
        assert judge(figures, step, rate(figures)).cause is Cause.CONSUMER
