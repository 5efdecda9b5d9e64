"""The model over made-up figures: what resources allow, and what changes would bring."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.analysis.changes import Way, changes
from headrace.analysis.figures import (
    BESIDE,
    CONSUMER,
    OWN,
    TRAINER,
    Kind,
    MachineFigures,
    PipelineFigures,
    StageFigures,
    StepFigures,
)
from headrace.analysis.finding import Cause, judge
from headrace.analysis.model import Resource, bottleneck, buffered, cached_before, called, limits, rate

MACHINE = MachineFigures(cores=4)
times = st.floats(1e-6, 1.0)
shares = st.floats(0.0, 1.0)


@st.composite
def stages(draw: st.DrawFn, key: int) -> StageFigures:
    service_s, calls = draw(times), draw(st.none() | st.integers(1, 8))
    return StageFigures(
        key=key,
        name="map",
        kind=draw(st.sampled_from(Kind)),
        segment=draw(st.sampled_from([CONSUMER, 7])),
        visits=draw(st.floats(0.1, 100)),
        service_s=service_s,
        cpu_s=service_s * draw(shares),
        lock_share=draw(shares),
        calls=calls,
        process=draw(st.sampled_from([TRAINER, BESIDE, OWN])),
        fits=draw(st.none() | st.floats(0.5, 8)) if calls is not None else None,
    )


@st.composite
def pipelines(draw: st.DrawFn, /, **changed: Any) -> PipelineFigures:
    made = []
    for number in range(draw(st.integers(1, 5))):
        reads = (number - 1,) if number else ()
        made.append(dataclasses.replace(draw(stages(number)), reads=reads, **changed))
    return PipelineFigures(stages=tuple(made), machine=MachineFigures(cores=draw(st.integers(1, 16))))


@st.composite
def steps(draw: st.DrawFn) -> StepFigures:
    alone_s = draw(times)
    return StepFigures(
        alone_s=alone_s,
        beside_s=alone_s * draw(st.floats(1, 3)),
        waited_s=draw(st.floats(0, 1)),
        cpu_s=alone_s * draw(shares),
        lock_share=draw(shares),
    )


@given(pipelines(), st.none() | steps())
def test_the_rate_is_that_of_the_resource_that_allows_least(figures: PipelineFigures, step: StepFigures | None) -> None:
    found = limits(figures, step)
    assert rate(figures, step) == min(limit.rate for limit in found)
    for limit in found:  # at that rate no resource gives more than it has
        assert rate(figures, step) * limit.demand_s <= limit.capacity * (1 + 1e-9)


@given(pipelines(), steps())
def test_a_consumer_never_makes_it_faster(figures: PipelineFigures, step: StepFigures) -> None:
    assert rate(figures, step) <= rate(figures) * (1 + 1e-9)


@given(pipelines(), st.none() | steps(), st.integers(1, 64))
def test_more_calls_at_once_are_never_slower_and_never_gain_more_than_their_number(
    figures: PipelineFigures, step: StepFigures | None, more: int
) -> None:
    stage = figures.stages[0]
    after = called(figures, stage.key, (stage.calls or 1) + more)
    assert rate(after, step) >= rate(figures, step) * (1 - 1e-9)
    # Without workers it leaves its thread to the others.
    most = after.stage(stage.key).capacity / stage.capacity + (stage.calls is None)
    assert rate(after, step) <= rate(figures, step) * most * (1 + 1e-9)


@given(pipelines(), st.none() | steps())
def test_a_cache_spares_what_is_before_it(figures: PipelineFigures, step: StepFigures | None) -> None:
    for stage in figures:
        after = cached_before(figures, stage.key)
        assert [other.key for other in after] == [other.key for other in figures if other.key >= stage.key]
        assert after.stages[0].kind is Kind.CACHE
        assert after.upstream(after.stages[-1].key) >= {stage.key}
        read_s = after.stages[0].demand_s
        assert 1 / rate(after, step) <= (1 / rate(figures, step) + read_s) * (1 + 1e-9)


@given(pipelines(segment=CONSUMER, calls=None), steps())
def test_a_prefetch_at_most_doubles_what_one_thread_did(figures: PipelineFigures, step: StepFigures) -> None:
    before, after = rate(figures, step), rate(buffered(figures), step)
    assert before * (1 - 1e-9) <= after <= 2 * before * (1 + 1e-9)


@given(pipelines(), st.none() | steps())
def test_changes_come_best_first_and_each_brings_something(figures: PipelineFigures, step: StepFigures | None) -> None:
    found = changes(figures, step)
    speedups = [change.expected_speedup for change in found]
    assert speedups == sorted(speedups, reverse=True)
    assert all(speedup >= 1.05 for speedup in speedups)
    for change in found:
        if change.way is not Way.HOLD:  # of which the figures of stages say nothing
            assert change.expected_speedup == rate(change.figures, step) / rate(figures, step)


def decoding(**changed: Any) -> PipelineFigures:
    source = StageFigures(key=0, name="source", kind=Kind.SOURCE, visits=64, service_s=1e-5, cpu_s=1e-5)
    decode = StageFigures(key=1, name="decode", kind=Kind.MAP, reads=(0,), visits=64, service_s=1e-3, cpu_s=1e-3)
    return PipelineFigures(stages=(source, dataclasses.replace(decode, **changed)), machine=MACHINE)


def test_a_serial_map_is_the_thread_that_runs_it() -> None:
    limit = bottleneck(decoding())
    assert limit is not None
    assert (limit.resource, limit.key) == (Resource.THREAD, 1)
    best, *_ = [change for change in changes(decoding(), None) if change.way is Way.CALLS]
    assert best.number == 4  # cores are what is next
    assert 3.5 < best.expected_speedup <= 4.1


def test_a_function_that_holds_the_lock_gains_by_processes_alone() -> None:
    figures = decoding(lock_share=0.98)
    ways = {change.way: change for change in changes(figures, None)}
    assert Way.CALLS not in ways
    assert ways[Way.PROCESSES].expected_speedup > 3
    limit = bottleneck(called(figures, 1, 4))
    assert limit is not None
    assert limit.resource is Resource.LOCK


def test_a_function_that_waits_gains_by_more_calls_than_there_are_cores() -> None:
    best, *_ = [change for change in changes(decoding(cpu_s=1e-5), None) if change.way is Way.CALLS]
    assert best.number is not None
    assert best.number > 16
    assert best.expected_speedup > 16


def test_no_more_calls_are_advised_than_are_of_use() -> None:
    reading = decoding(cpu_s=1e-5, kind=Kind.INTERLEAVE)
    for most in (1, 2, 5):
        figures = reading.replaced(dataclasses.replace(reading.stage(1), most_calls=most))
        assert [change.number for change in changes(figures, None) if change.way is Way.CALLS] == [most][: most - 1]
        step = StepFigures(alone_s=1e-4, beside_s=1e-4, waited_s=1e-2)
        assert judge(figures, step, rate(figures)).cause is (Cause.MAP if most == 1 else Cause.PARALLELISM)


def test_a_cache_is_promised_nothing_of_what_threads_would_bring() -> None:
    inline = decoding(cpu_s=1e-5)
    threaded = inline.replaced(dataclasses.replace(inline.stage(1), calls=8))
    for change in changes(inline, None, threaded=threaded):
        if change.way is Way.CACHE:
            assert change.expected_speedup == rate(change.figures) / rate(inline)
            assert change.key == 1  # and none behind the source, whose elements cost nothing
