"""What is advised is tried: whatever the model promises, no more is told than came."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import headrace as hr
from headrace.analysis.changes import Change, Way, changes
from headrace.analysis.figures import CONSUMER, Kind, MachineFigures, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.finding import Cause
from headrace.profiling.phases import Phase
from headrace.profiling.proving import Prover, proven

TRIED = (Way.CALLS, Way.PROCESSES)
MOST = 3


def phase(steps_per_s: float, steps: int = 100) -> Phase:
    return Phase(steps, steps / steps_per_s, (1 / steps_per_s,) * steps, (0.0,) * steps)


@st.composite
def pipelines(draw: st.DrawFn) -> PipelineFigures:
    """Returns a source and maps in the consumer's thread that compute, wait and hold the lock."""
    stages = [StageFigures(key=0, name="source", kind=Kind.SOURCE, service_s=1e-6, cpu_s=1e-6, segment=CONSUMER)]
    for key in range(1, draw(st.integers(2, 4))):
        service_s = draw(st.floats(1e-4, 1.0))
        stages.append(
            StageFigures(
                key=key,
                name=f"map {key}",
                kind=Kind.MAP,
                reads=(key - 1,),
                service_s=service_s,
                cpu_s=service_s * draw(st.floats(0, 1)),
                lock_share=draw(st.floats(0, 1)),
                may_be_cached=draw(st.booleans()),
            )
        )
    return PipelineFigures(stages=tuple(stages), machine=MachineFigures(cores=draw(st.integers(1, 16))))


def told(found: tuple[Change, ...]) -> tuple[Change, ...]:
    """Returns those of which nothing is left out: calls at once are told where they were tried."""
    return tuple(change for place, change in enumerate(found) if place < MOST or change.way not in TRIED)


steps = st.none() | st.builds(StepFigures, alone_s=st.floats(1e-5, 0.1), beside_s=st.just(0.1), waited_s=st.just(0.1))


@given(pipelines(), steps, st.floats(0.2, 20.0))
def test_no_more_is_promised_than_came_and_no_more_than_the_model_says(
    figures: PipelineFigures, step: StepFigures | None, came: float
) -> None:
    found = changes(figures, step)
    prover = Prover(figures=figures, upon=figures, step=step, before=phase(10.0), run=lambda _: phase(10.0 * came))
    kept = proven(found, MOST, prover, None, 0.0)
    promised = {(change.way, change.key): change.expected_speedup for change in found}
    for change in kept:
        known = (change.way, change.key)
        if change.way in TRIED:
            assert change.expected_speedup <= came * (1 + 1e-9)
        assert change.expected_speedup <= promised.get(known, came) * (1 + 1e-9)
        assert change.expected_speedup >= 1.05
    assert {change for change in found if change.way not in TRIED} <= {*kept}


@given(pipelines(), steps)
def test_what_fails_is_not_advised(figures: PipelineFigures, step: StepFigures | None) -> None:
    def fails(_: Change) -> Phase:
        raise hr.errors.InvalidArgumentError("it cannot be sent")

    found = changes(figures, step)
    prover = Prover(figures=figures, upon=figures, step=step, before=phase(10.0), run=fails)
    kept = proven(found, MOST, prover, None, 0.0)
    assert {*kept} == {change for change in found if change.way not in TRIED}


@given(pipelines(), steps, st.integers(1, 7), st.floats(0.1, 10.0))
def test_few_steps_say_nothing(figures: PipelineFigures, step: StepFigures | None, few: int, came: float) -> None:
    found = changes(figures, step)
    prover = Prover(figures=figures, upon=figures, step=step, before=phase(10.0), run=lambda _: phase(came, few))
    assert proven(found, MOST, prover, None, 0.0) == told(found)


@given(st.floats(0.0, 0.25), st.integers(2, 16), st.floats(1.0, 1.2))
def test_where_threads_wait_for_each_other_processes_are_tried_and_come_first(
    lock: float, cores: int, in_threads: float
) -> None:
    source = StageFigures(key=0, name="source", kind=Kind.SOURCE, service_s=1e-6, cpu_s=1e-6)
    decode = StageFigures(
        key=1, name="decode", kind=Kind.MAP, reads=(0,), service_s=0.01, cpu_s=0.01, lock_share=lock, may_be_cached=False
    )  # fmt: skip
    figures = PipelineFigures(stages=(source, decode), machine=MachineFigures(cores=cores))
    found = changes(figures, None, cause=Cause.PARALLELISM)
    assert [change.way for change in found] == [Way.CALLS]

    def run(change: Change) -> Phase:
        return phase(10.0 * (in_threads if change.way is Way.CALLS else change.expected_speedup))

    prover = Prover(figures=figures, upon=figures, step=None, before=phase(10.0), run=run)
    first, *others = proven(found, MOST, prover, Cause.PARALLELISM, 0.0)
    assert first.way is Way.PROCESSES
    assert all(other.expected_speedup <= in_threads for other in others)


@given(pipelines(), steps)
def test_threads_that_keep_what_they_promise_are_all_that_is_tried(
    figures: PipelineFigures, step: StepFigures | None
) -> None:
    found, tried = changes(figures, step), list[Change]()
    assume(all(change.way is not Way.PROCESSES for change in found[:MOST]))

    def run(change: Change) -> Phase:
        tried.append(change)
        return phase(10.0 * change.expected_speedup)

    prover = Prover(figures=figures, upon=figures, step=step, before=phase(10.0), run=run)
    kept = proven(found, MOST, prover, None, 0.0)
    assert tried == [change for change in found[:MOST] if change.way is Way.CALLS]
    promised = {(change.way, change.key): change.expected_speedup for change in told(found)}
    assert {(change.way, change.key): change.expected_speedup for change in kept} == pytest.approx(promised)
