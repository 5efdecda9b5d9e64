"""What keeps steps waiting is named, and a change brings what is promised: over made-up figures, and in few pipelines that nothing else slows.

``make bottlenecks`` does it with sixty pipelines, each of which takes some seconds.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bottlenecks.working import copying
from tests.laws.plans import Recipe, recipes

import headrace as hr
from headrace.analysis.changes import Way, changes
from headrace.analysis.figures import CONSUMER, OWN, Kind, MachineFigures, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.finding import Cause, judge
from headrace.analysis.model import rate
from headrace.analysis.ranking import late_rank
from headrace.durations import Times
from headrace.engine import physical_plan
from headrace.observe.stats import IteratorStats, StageStats
from headrace.plan.buffering import options_of
from headrace.plan.explain import explain_plan
from headrace.profiling.applying import applied, words_for
from headrace.profiling.telling import figures_of, told_nodes

# Others take so much less of every resource than the one that is planted.
CHEAP = 0.2
BEHIND = 9  # the thread of a prefetch at the end


@st.composite
def cheap(draw: st.DrawFn, key: int, period_s: float) -> StageFigures:
    """Returns a stage that takes little of a step's time, whatever it is."""
    visits = draw(st.sampled_from([1.0, 8.0, 64.0]))
    service_s = period_s * CHEAP * draw(st.floats(0.01, 1.0)) / 5 / visits
    kind = draw(st.sampled_from([Kind.MAP, Kind.OTHER, Kind.INTERLEAVE, Kind.PREFETCH]))
    return StageFigures(
        key=key,
        name=f"{kind.value} {key}",
        kind=Kind.SOURCE if key == 0 else kind,
        reads=(key - 1,) if key else (),
        segment=BEHIND,
        visits=visits,
        service_s=service_s,
        cpu_s=service_s * draw(st.floats(0, 1)),
        lock_share=draw(st.floats(0, 1)),
        p50_s=service_s,
        longest_s=service_s * 1.5,
        calls=draw(st.none() | st.integers(1, 4)) if kind in (Kind.MAP, Kind.INTERLEAVE) and key else None,
    )


@dataclasses.dataclass(frozen=True)
class Planted:
    """A pipeline in which one stage takes most of a step's time."""

    figures: PipelineFigures
    key: int
    period_s: float  # of the planted stage alone, in one thread

    def with_stage(self, **changed: object) -> PipelineFigures:
        stage = self.figures.stage(self.key)
        return self.figures.replaced(dataclasses.replace(stage, **changed))  # type: ignore[arg-type]  # fields of it


@st.composite
def planted(draw: st.DrawFn, kind: Kind) -> Planted:
    """Returns cheap stages, and one among them whose work takes all of the time."""
    period_s = draw(st.floats(2e-3, 10.0))
    count = draw(st.integers(2, 5))
    key = 0 if kind is Kind.SOURCE else draw(st.integers(1, count - 1))
    stages = [draw(cheap(number, period_s)) for number in range(count)]
    visits = stages[key].visits
    service_s = period_s / visits
    stages[key] = dataclasses.replace(
        stages[key], kind=kind, name="planted", service_s=service_s, cpu_s=0.0, lock_share=0.0, calls=None,
        p50_s=service_s, longest_s=1.2 * service_s,
    )  # fmt: skip
    cores = draw(st.sampled_from([2, 4, 64]))
    figures = PipelineFigures(stages=tuple(stages), machine=MachineFigures(cores=cores, ram_budget_bytes=1 << 30))
    return Planted(figures, key, period_s)


def waiting(figures: PipelineFigures, part: float) -> StepFigures:
    """Returns what steps are seen to do that take a part of the time that the pipeline takes."""
    period_s = 1 / rate(figures)
    return StepFigures(
        alone_s=part * period_s, beside_s=part * period_s, waited_s=(1 - part) * period_s, waited_longest_s=period_s
    )


def named(figures: PipelineFigures, step: StepFigures) -> tuple[Cause, int | None]:
    found = judge(figures, step, rate(figures))
    return found.cause, found.key


parts = st.floats(0.02, 0.7)


@given(planted(Kind.SOURCE), parts, st.floats(0, 1))
def test_a_slow_source_is_named(plant: Planted, part: float, cpu: float) -> None:
    figures = plant.with_stage(cpu_s=cpu * plant.figures.stage(plant.key).service_s)
    assert named(figures, waiting(figures, part)) == (Cause.SOURCE, plant.key)


@given(planted(Kind.MAP), parts)
def test_a_map_on_all_cores_is_named(plant: Planted, part: float) -> None:
    cores, service_s = plant.figures.machine.cores, plant.figures.stage(plant.key).service_s
    figures = plant.with_stage(cpu_s=service_s, calls=cores)
    figures = dataclasses.replace(
        figures,
        stages=tuple(dataclasses.replace(one, lock_share=0.0) if one.key != plant.key else one for one in figures),
    )
    if cores <= 4:  # else the others' threads are the narrowest
        assert named(figures, waiting(figures, part)) == (Cause.MAP, plant.key)


@given(planted(Kind.MAP), parts, st.floats(0.0, 1.0), st.integers(0, 4))
def test_to_what_computes_no_more_calls_are_promised_anything_than_there_are_cores_that_nobody_uses(
    plant: Planted, part: float, taken: float, more: int
) -> None:
    cores, service_s = plant.figures.machine.cores, plant.figures.stage(plant.key).service_s
    machine = dataclasses.replace(plant.figures.machine, taken=taken * cores)
    calls = max(1, round(machine.free_cores)) + more
    figures = dataclasses.replace(plant.with_stage(cpu_s=service_s, calls=calls), machine=machine)
    found = changes(figures, waiting(figures, part), rate(figures))
    assert not [change for change in found if change.way is Way.CALLS and change.key == plant.key and more]


@given(planted(Kind.MAP), parts, st.floats(0.0, 3.0))
def test_nothing_is_promised_that_lies_within_the_noise(plant: Planted, part: float, noise: float) -> None:
    figures = plant.figures
    step = waiting(figures, part)
    every, certain = (changes(figures, step, rate(figures), noise=uncertain) for uncertain in (0.0, noise))
    assert {*certain} == {change for change in every if change.expected_speedup >= 1 + noise}


@given(planted(Kind.MAP), parts, st.none() | st.integers(1, 8), st.floats(0.9, 1.0))
def test_a_function_that_holds_the_lock_is_named_and_processes_are_advised(
    plant: Planted, part: float, calls: int | None, lock: float
) -> None:
    service_s = plant.figures.stage(plant.key).service_s
    figures = plant.with_stage(cpu_s=service_s, lock_share=lock, calls=calls)
    step = waiting(figures, part)
    assert named(figures, step) == (Cause.GIL, plant.key)
    best, *_ = changes(figures, step, rate(figures), cause=Cause.GIL)
    others = [change for change in changes(figures, step, rate(figures)) if change.way is Way.PROCESSES]
    assert best.way is Way.PROCESSES or best.expected_speedup > others[0].expected_speedup


@given(planted(Kind.MAP), parts, st.none() | st.integers(1, 4))
def test_too_few_calls_are_named_and_more_are_advised(plant: Planted, part: float, calls: int | None) -> None:
    figures = plant.with_stage(calls=calls, visits=(calls or 1) * plant.figures.stage(plant.key).visits)
    step = waiting(figures, part)
    assert named(figures, step) == (Cause.PARALLELISM, plant.key)
    more = [change for change in changes(figures, step, rate(figures)) if change.way is Way.CALLS]
    assert more[0].key == plant.key
    assert more[0].number is not None
    assert more[0].number > (calls or 1)


@given(planted(Kind.MAP), parts, st.floats(0.5, 1.5), st.integers(4, 32))
def test_calls_without_memory_are_named_and_more_memory_is_advised(
    plant: Planted, part: float, fits: float, calls: int
) -> None:
    figures = plant.with_stage(calls=calls, fits=fits, visits=2 * plant.figures.stage(plant.key).visits)
    step = waiting(figures, part)
    assert named(figures, step) == (Cause.MEMORY_BUDGET, plant.key)
    best, *_ = changes(figures, step, rate(figures), cause=Cause.MEMORY_BUDGET)
    assert Way.BUDGET in (best.way, *(change.way for change in changes(figures, step, rate(figures))))


@given(planted(Kind.MAP), parts)
def test_a_cache_that_keeps_nothing_is_named_before_what_it_should_spare(plant: Planted, part: float) -> None:
    last = plant.figures.stages[-1]
    cache = StageFigures(
        key=last.key + 1, name="cache", kind=Kind.CACHE, reads=(last.key,), segment=BEHIND, misses=True
    )
    taken = dataclasses.replace(
        cache, key=cache.key + 1, name="take", kind=Kind.OTHER, reads=(cache.key,), misses=False
    )
    figures = dataclasses.replace(plant.figures, stages=(*plant.figures.stages, cache, taken))
    step = waiting(figures, part)
    assert named(figures, step) == (Cause.CACHE, cache.key)
    best, *_ = changes(figures, step, rate(figures), cause=Cause.CACHE)
    assert (best.way, best.key) == (Way.CACHE, taken.key)


@given(planted(Kind.MAP), st.floats(0.3, 0.8))
def test_a_pipeline_that_is_fast_enough_and_has_no_thread_is_named(plant: Planted, part: float) -> None:
    stages = tuple(dataclasses.replace(one, segment=CONSUMER, calls=None) for one in plant.figures)
    figures = dataclasses.replace(plant.figures, stages=stages)
    period_s = 1 / rate(figures)
    step = StepFigures(alone_s=period_s / part, beside_s=period_s / part, waited_s=period_s)
    assert named(figures, step)[0] is Cause.BUFFER
    best, *_ = changes(figures, step, rate(figures), cause=Cause.BUFFER)
    assert best.way is Way.PREFETCH


@given(planted(Kind.MAP), st.floats(0.2, 0.8), st.floats(0.001, 0.2))
def test_elements_that_come_late_are_named_by_how_often_they_do(plant: Planted, part: float, late: float) -> None:
    figures = plant.with_stage(longest_s=100 * plant.period_s)
    period_s = 1 / rate(figures)
    step = StepFigures(
        alone_s=period_s / part, beside_s=period_s / part, waited_s=period_s / part, waited_longest_s=50 * period_s / part,
        late_share=late, uneven_share=0.95,
    )  # fmt: skip
    assert named(figures, step) == (Cause.STRAGGLER if late < 0.01 else Cause.BURST, plant.key)
    best, *_ = changes(figures, step, rate(figures), cause=Cause.BURST)
    assert best.way is Way.HOLD
    assert best.number is not None
    assert best.number * step.alone_s > step.waited_longest_s


@given(planted(Kind.MAP), st.floats(0.0, 0.04), st.floats(1.2, 4.0))
def test_steps_that_hardly_wait_have_themselves_to_blame_or_the_lock(
    plant: Planted, wait: float, slower: float
) -> None:
    figures = plant.figures
    alone_s = 10 / rate(figures)
    step = StepFigures(alone_s=alone_s, beside_s=alone_s, waited_s=wait * alone_s)
    assert named(figures, step) == (Cause.CONSUMER, None)
    assert named(figures, dataclasses.replace(step, beside_s=slower * alone_s)) == (Cause.TRAINER_SLOWED, None)


@given(planted(Kind.MAP), st.booleans(), st.floats(1.5, 10))
def test_a_slow_copy_is_named(plant: Planted, beside: bool, times: float) -> None:
    figures = plant.figures
    copied_s = times / rate(figures)
    alone_s = copied_s / 2
    step = StepFigures(
        alone_s=alone_s, beside_s=alone_s, waited_s=copied_s - alone_s if beside else copied_s, copied_s=copied_s,
        copies_beside=beside,
    )  # fmt: skip
    assert named(figures, step) == (Cause.COPY, None)
    assert not changes(figures, step, rate(figures), cause=Cause.COPY) or not beside


@given(planted(Kind.MAP), parts)
def test_calls_in_processes_are_never_said_to_wait_for_the_lock(plant: Planted, part: float) -> None:
    figures = plant.with_stage(lock_share=1.0, cpu_s=plant.figures.stage(plant.key).service_s, calls=1, process=OWN)
    assert named(figures, waiting(figures, part))[0] is not Cause.GIL


@given(st.lists(st.floats(0.0, 0.04), min_size=1, max_size=15), st.floats(0.1, 1.0), st.data())
def test_the_one_rank_that_waits_is_the_one_for_which_all_wait(
    others: list[float], late: float, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(others)))
    assert late_rank([*others[:at], late, *others[at:]]) == at
    assert late_rank(others) is None
    assert late_rank([late] * len(others)) is None


# --- few real ones, in which nothing else could be the cause -------------------------------------------------------------


def slept(seconds: float) -> Callable[[Any], Any]:
    def fetch(x: Any) -> Any:
        time.sleep(seconds)
        return x

    return fetch


def test_a_function_that_waits_is_named_where_it_stands_and_what_is_advised_is_done() -> None:
    ds = hr.Dataset.range(100_000).shuffle(100, seed=1).map(slept(5e-3)).batch(4).prefetch(1)
    profile = ds.profile(slept(1e-3), seconds=0.6)
    assert profile.verdict.cause == "parallelism"
    assert profile.verdict.stage is not None
    assert re.search(r"map 'fetch' \(test_bottlenecks\.py:\d+\)", profile.verdict.stage)
    assert profile.verdict.stage in profile.verdict.text
    first, *_ = profile.advice
    assert "num_parallel_calls=" in first.text
    assert first.expected_speedup > 2
    assert "num_parallel_calls" in first.applied().explain()


@pytest.mark.parametrize("executor", ["thread", "inline", "subprocess"])
def test_a_cache_whose_epochs_are_never_whole_is_named(executor: str) -> None:
    ds = hr.Dataset.range(1000).map(slept(2e-3)).cache().take(8).batch(4).with_options(hr.Options(executor=executor))
    profile = ds.profile(slept(1e-4), seconds=0.8)
    assert (profile.verdict.cause, profile.verdict.stage) == ("cache", "cache")
    first, *_ = profile.advice
    assert first.text.startswith(".cache() behind batch")


def test_memory_for_too_few_calls_is_named_and_more_is_advised() -> None:
    def load(_: Any) -> np.ndarray:
        time.sleep(5e-3)
        return np.empty(1 << 20, np.uint8)

    ds = hr.Dataset.range(100_000).shuffle(8).map(load, num_parallel_calls=8).map(len).prefetch(1)
    ds = ds.with_options(hr.Options(ram_budget=3 << 20, optimize=False))
    profile = ds.profile(slept(1e-4), seconds=0.8)
    assert profile.verdict.cause == "memory_budget"
    assert "map 'load'" in (profile.verdict.stage or "")
    first, *_ = profile.advice
    assert first.text.startswith("Options(ram_budget=")
    options = first.applied().options()
    assert options.ram_budget is not None
    assert options.ram_budget > 8 << 20


def test_a_slow_way_to_the_device_is_named() -> None:
    feed = copying(1e-2, 2)
    profile = hr.Dataset.range(100_000).batch(4).prefetch(2).profile(slept(1e-3), seconds=0.6, feed=feed)
    assert (profile.verdict.cause, profile.verdict.stage) == ("copy", None)


@given(recipes(), st.data())
def test_whatever_is_advised_can_be_applied(recipe: Recipe, data: st.DataObject) -> None:
    written = recipe.build().with_options(hr.Options(seed=1)).__headrace_plan__()
    options = options_of(written)
    running = physical_plan(written, options)
    nodes = told_nodes(running)
    slow = data.draw(st.integers(0, len(nodes) - 1))
    stats = IteratorStats(
        100, 9.0, 10.0, tuple(worked(node.label, 0.09 if key == slow else 1e-5) for key, node in enumerate(nodes))
    )
    stats = dataclasses.replace(
        stats, stages=tuple(dataclasses.replace(one, gil_share=data.draw(st.floats(0, 1))) for one in stats.stages)
    )
    figures = figures_of(running, options, stats, MachineFigures(cores=4))
    step = StepFigures(alone_s=1e-3, beside_s=1e-3, waited_s=0.09)
    cause = judge(figures, step, rate(figures)).cause
    for change in changes(figures, step, rate(figures), cause=cause):
        node = None if change.key is None else nodes[change.key]
        plan = applied(written, change, node)
        assert words_for(change, written)
        if plan is not None:
            assert explain_plan(plan) != explain_plan(written)
            assert physical_plan(plan, options_of(plan)) is not None


def worked(name: str, each_s: float) -> StageStats:
    """The figures of a stage that made an element for each step."""
    return StageStats(
        name,
        100,
        100 * each_s,
        0.0,
        0,
        window_s=10.0,
        elements_per_s=10.0,
        service=Times(100, 100 * each_s, each_s, each_s, each_s, each_s),
        parallelism=10 * each_s,
        cpu_share=0.1,
    )
