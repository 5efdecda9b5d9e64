"""The figures of the model, told by runs whose counts are known."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.laws.clock_by_hand import by_hand
from tests.laws.running import paced

import headrace as hr
from headrace.analysis.figures import CONSUMER, OWN, TRAINER, Kind, MachineFigures, PipelineFigures
from headrace.durations import Times
from headrace.engine import physical_plan
from headrace.iterator import DatasetIterator
from headrace.physical.run_policy import RunPolicy
from headrace.plan.buffering import options_of
from headrace.profiling.contention import Contention
from headrace.profiling.telling import figures_of, told_nodes

MACHINE = MachineFigures(cores=2)


def told(ds: hr.Dataset) -> PipelineFigures:
    iterator = iter(ds)
    for _ in iterator:
        pass
    plan = ds.__headrace_plan__()
    running = physical_plan(plan, options_of(plan))
    figures = figures_of(running, options_of(plan), iterator.stats(), MACHINE)
    assert len(figures.stages) == len(told_nodes(running))
    assert [stage.key for stage in figures] == [*range(len(figures.stages))]
    return figures


def doubled(x: int) -> int:
    return x * 2


def test_a_stage_is_visited_once_for_each_element_that_it_makes_for_a_step() -> None:
    figures = told(hr.Dataset.range(640).filter(lambda x: x % 2 == 0).map(doubled, num_parallel_calls=2).batch(64))
    visits = {stage.kind: stage.visits for stage in figures if stage.kind is not Kind.MAP}
    assert visits[Kind.SOURCE] == pytest.approx(128)
    assert figures.stages[-1].visits == pytest.approx(1)


def test_a_prefetch_parts_threads_and_workers_are_counted() -> None:
    ds = hr.Dataset.range(64).map(doubled, num_parallel_calls=3).prefetch(2).map(np.sqrt).batch(4)
    figures = told(ds.with_options(hr.Options(optimize=False)))
    by_name = {stage.name.split(" ")[0]: stage for stage in figures}
    assert [stage.kind for stage in figures] == [Kind.SOURCE, Kind.MAP, Kind.PREFETCH, Kind.MAP, Kind.OTHER]
    assert figures.stages[1].calls == 3
    assert figures.stages[1].segment == figures.stages[0].segment == by_name["prefetch"].key
    assert {stage.segment for stage in figures.stages[2:]} == {CONSUMER}
    assert figures.upstream(figures.stages[-1].key) == {stage.key for stage in figures}


def test_calls_in_processes_hold_locks_of_their_own() -> None:
    ds = hr.Dataset.range(8).map(doubled, num_parallel_calls=2, executor="process")
    assert [stage.process for stage in told(ds)][:2] == [TRAINER, OWN]


def test_a_branch_that_is_read_twice_is_one_stage() -> None:
    once = hr.Dataset.range(8).map(doubled)
    figures = told(hr.Dataset.zip((once, once)).with_options(hr.Options(optimize=False)))
    assert [stage.kind for stage in figures] == [Kind.SOURCE, Kind.MAP, Kind.OTHER]
    assert figures.stages[-1].reads == (1,)


@pytest.mark.parametrize(
    ("ds", "is_cacheable"),
    [
        (hr.Dataset.range(8).map(doubled), True),
        (hr.Dataset.range(8).shuffle(8).map(doubled), False),
        (hr.Dataset.range(8).repeat().map(doubled).take(8), False),
        (hr.Dataset.range(8).random_map(lambda rng, x: x, seed=0), False),
    ],
)
def test_what_differs_between_epochs_or_never_ends_is_not_to_be_cached(ds: hr.Dataset, is_cacheable: bool) -> None:
    maps = [stage for stage in told(ds) if stage.kind is Kind.MAP]
    assert [stage.may_be_cached for stage in maps] == [is_cacheable]


def test_inline_all_stages_are_in_the_thread_of_who_reads() -> None:
    ds = hr.Dataset.range(8).map(doubled, num_parallel_calls=4).prefetch(2)
    figures = told(ds.with_options(hr.Options(executor="inline")))
    assert {(stage.segment, stage.calls) for stage in figures} == {(CONSUMER, None)}


@pytest.mark.parametrize(
    ("ds", "misses"),
    [(hr.Dataset.range(8).map(doubled).cache(), False), (hr.Dataset.range(8).map(doubled).cache().take(4), True)],
    ids=["whole", "left"],
)
def test_a_cache_whose_epoch_was_left_misses(ds: hr.Dataset, misses: bool) -> None:
    assert [stage.misses for stage in told(ds) if stage.kind is Kind.CACHE] == [misses]


def test_bytes_of_elements_that_nobody_looked_at_are_those_of_what_reads_them() -> None:
    ds = hr.Dataset.range(64).map(doubled).batch(8).with_options(hr.Options(optimize=False))
    iterator = iter(ds)
    for _ in iterator:
        pass
    plan = ds.__headrace_plan__()
    figures = figures_of(plan, options_of(plan), iterator.stats(), MACHINE, step_nbytes=64)
    assert [stage.nbytes for stage in figures] == pytest.approx([8, 8, 64])
    assert [stage.epoch_nbytes for stage in figures] == pytest.approx([512, 512, 512])


@pytest.mark.parametrize(
    ("cpu_share", "blocked_share", "stretch", "at_work"),
    [
        (None, None, 1.0, 1.0),
        (0.3, None, 1.0, 0.3),
        (None, 0.4, 1.0, 0.6),
        (0.3, 0.2, 1.0, 0.8),
        (0.8, 0.66, 1.0, 0.8),
        pytest.param(0.9, None, 1.0, 1.0, id="as good as all of its time"),
        pytest.param(0.3, None, 2.0, 0.6, id="on a machine on which all takes twice as long"),
        pytest.param(0.3, None, 9.0, 1.0, id="on one on which it takes nine times as long"),
        pytest.param(0.01, None, 9.0, 0.09, id="what waits does so there, too"),
    ],
)
def test_work_needs_a_processor_for_as_long_as_one_was_counted_or_nothing_blocked(
    cpu_share: float | None, blocked_share: float | None, stretch: float, at_work: float
) -> None:
    ds = hr.Dataset.range(8).map(doubled)
    iterator = iter(ds)
    assert len(list(iterator)) == 8
    stats = iterator.stats()
    stages = [dataclasses.replace(stage, cpu_share=cpu_share, blocked_share=blocked_share) for stage in stats.stages]
    options = options_of(ds.__headrace_plan__())
    running = physical_plan(ds.__headrace_plan__(), options)
    stats = dataclasses.replace(stats, stages=tuple(stages))
    figures = figures_of(running, options, stats, MACHINE, contention=Contention(here=stretch, elsewhere=50.0))
    assert figures.stages[-1].cpu_s == pytest.approx(at_work * figures.stages[-1].service_s)


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_a_stage_that_opens_datasets_takes_what_these_take_too(executor: Any) -> None:
    with by_hand() as clock:

        def read(x: int) -> int:
            clock.move(1.0)
            return x

        def opened(x: int) -> hr.Dataset:
            clock.move(4.0)
            return hr.Dataset.range(2).map(doubled)

        ds = hr.Dataset.range(6).map(read).flat_map(opened).map(doubled).batch(3)
        ds = ds.with_options(hr.Options(executor=executor, optimize=False, stall_warning_s=0))
        plan = ds.__headrace_plan__()
        policy = RunPolicy(pace=paced([1]), clock=clock)
        with DatasetIterator(plan, policy=policy) as iterator:
            assert sum(1 for _ in iterator) == 4
            figures = figures_of(plan, options_of(plan), iterator.stats(), MACHINE)
    assert [stage.demand_s for stage in figures] == pytest.approx([0.0, 1.5, 6.0, 0.0, 0.0])


def test_datasets_are_read_side_by_side_as_far_as_their_cycle() -> None:
    ds = hr.Dataset.range(4).interleave(hr.Dataset.range, cycle_length=3).flat_map(hr.Dataset.range).map(doubled)
    assert [stage.most_calls for stage in told(ds)] == [1, 3, 1, None]


def test_what_workers_read_is_what_an_element_takes_of_an_interleave() -> None:
    ds = hr.Dataset.range(6).interleave(
        lambda _: hr.Dataset.range(3).map(doubled), cycle_length=2, num_parallel_calls=2
    )
    with iter(ds) as iterator:
        assert sum(1 for _ in iterator) == 18
        stage = iterator.stats().stages[1]
    assert stage.service.count >= 18
    assert stage.service.total_s <= stage.busy_s
    inner = next(other for other in iterator.stats().stages if other.name.startswith("map"))
    assert stage.service.total_s >= inner.busy_s  # which is a part of it
    assert stage.cpu_share is not None


@pytest.mark.parametrize("gil_share", [None, 0.9])
def test_the_lock_is_held_for_what_the_datasets_of_a_stage_hold_it(gil_share: float | None) -> None:
    ds = hr.Dataset.range(4).flat_map(lambda _: hr.Dataset.range(2).map(doubled))
    with iter(ds) as iterator:
        assert len(list(iterator)) == 8
        stats = iterator.stats()
    worked = {"window_s": 10.0, "elements_per_s": 100.0, "cpu_share": 1.0, "input_wait_share": 0.0}
    source, opener = (
        dataclasses.replace(stage, parallelism=0.01, service=Times(1000, 0.01, 1e-5, 1e-5, 1e-5, 1e-5), **worked)  # type: ignore[arg-type]
        for stage in stats.stages[:2]
    )
    opener = dataclasses.replace(opener, input_wait_share=0.96)
    inner = dataclasses.replace(
        source, name="map", within=opener.name, parallelism=0.95, gil_share=gil_share,
        service=Times(1000, 9.5, 9.5e-3, 9.5e-3, 9.5e-3, 9.5e-3),
    )  # fmt: skip
    plan = ds.__headrace_plan__()
    stats = dataclasses.replace(stats, stages=(source, opener, inner))
    figures = figures_of(plan, options_of(plan), stats, MACHINE)
    assert figures.stages[1].service_s == pytest.approx(9.5e-3, rel=0.01)
    assert figures.stages[1].lock_share == pytest.approx(gil_share or 0.0, abs=0.01)
