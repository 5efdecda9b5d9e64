"""Law 7, of statistics: what stages count is what passed them, on every executor, and all times fit into the time that there was."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.clock_by_hand import by_hand
from tests.laws.plans import Recipe, recipes
from tests.laws.running import LIMIT, REFERENCE, Way, elements_of, paced, running, ways

import headrace as hr
from headrace.durations import GROWTH
from headrace.iterator import DatasetIterator
from headrace.observe.folded import Folded
from headrace.observe.stats import IteratorStats, StageStats
from headrace.physical.run_policy import RunPolicy
from headrace.plan.buffering import Cache, Prefetch
from headrace.plan.node import Node, nodes_of
from headrace.plan.sequencing import Repeat
from headrace.testing.restoring import delivered

# Sums of floats in another order.
ROUNDING_S = 1e-6


def is_odd(x: int) -> bool:
    return x % 2 == 1


def fail_on_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


def up_to_two(x: int) -> hr.Dataset:
    return hr.Dataset.range(x % 3)


Step = Callable[[hr.Dataset], hr.Dataset]
STEPS: dict[str, Step] = {
    "map": lambda ds: ds.map(lambda x: x + 1),
    "parallel map": lambda ds: ds.map(lambda x: x + 2, num_parallel_calls=2),
    "map that is left to headrace": lambda ds: ds.map(lambda x: x + 3, num_parallel_calls=hr.AUTOTUNE),
    "failing map": lambda ds: ds.map(fail_on_three),
    "skipping map": lambda ds: ds.map(fail_on_three, on_error="skip"),
    "filter": lambda ds: ds.filter(is_odd),
    "batch": lambda ds: ds.batch(3).map(lambda x: int(x[0])),
    "parallel batch": lambda ds: ds.batch(2, num_parallel_calls=2).map(lambda x: int(x[0])),
    "unbatch": lambda ds: ds.batch(4).unbatch(),
    "shuffle": lambda ds: ds.shuffle(5, seed=3),
    "enumerate": lambda ds: ds.enumerate().map(lambda _, x: x),
    "flat_map": lambda ds: ds.flat_map(up_to_two),
    "interleave": lambda ds: ds.interleave(up_to_two, cycle_length=2),
    "parallel interleave": lambda ds: ds.interleave(up_to_two, cycle_length=2, num_parallel_calls=2),
    "prefetch": lambda ds: ds.prefetch(2),
    "repeat": lambda ds: ds.repeat(2),
}


@dataclasses.dataclass(frozen=True)
class Chain:
    """Operations of which each reads the whole of the one before."""

    elements: int
    names: tuple[str, ...]

    def build(self) -> hr.Dataset:
        dataset = hr.Dataset.range(self.elements)
        for name in self.names:
            dataset = STEPS[name](dataset)
        return dataset


def chains() -> st.SearchStrategy[Chain]:
    return st.builds(Chain, st.integers(0, 12), st.lists(st.sampled_from([*STEPS]), max_size=5).map(tuple))


def passed(root: Node) -> dict[int, int]:
    """How many elements each operation gives in an epoch, as the reference says of the plan that ends with it; by its id."""
    counts: dict[int, int] = {}
    turns = 1
    for node in reversed(list(nodes_of(root))):  # the last first, as all read one
        elements = elements_of(hr.Dataset(node), REFERENCE, limit=100_000)
        counts[id(node)] = turns * sum(not isinstance(one, hr.errors.HeadraceError) for one in elements)
        assert not isinstance(node, Cache)
        turns *= 2 if isinstance(node, Repeat) else 1
    return counts


def drained(dataset: hr.Dataset, way: Way) -> tuple[IteratorStats, list[Any]]:
    with running(dataset, way) as iterator:
        elements = list(delivered(iterator, 100_000))
        return iterator.stats(), elements


def written(way: Way) -> Way:
    """The same way, of the plan as it was written."""
    return dataclasses.replace(way, options=way.options.merged(hr.Options(optimize=False)), rules=())


@given(chains(), st.one_of(st.just(REFERENCE), ways().map(written)))
def test_each_stage_counts_what_the_reference_says_that_passes_it(chain: Chain, way: Way) -> None:
    dataset = chain.build()
    root = dataset.__headrace_plan__()
    expected = passed(root)
    stats, elements = drained(dataset, way)
    counted = dict(zip(nodes_of(root), stats.stages, strict=False))
    for node, stage in counted.items():
        if isinstance(node, Prefetch) and stage.elements < expected[id(node)]:
            assert "repeat" in chain.names  # whose short turns are made at once, with no prefetch within
        else:
            assert stage.elements == expected[id(node)], stage
    assert stats.elements == expected[id(root)] == sum(not isinstance(one, hr.errors.HeadraceError) for one in elements)


@pytest.mark.parametrize("executor", ["subprocess", "process"])
def test_each_stage_counts_the_same_in_other_processes(executor: Any) -> None:
    dataset = Chain(12, ("parallel map", "skipping map", "parallel batch", "flat_map", "prefetch")).build()
    root = dataset.__headrace_plan__()
    stats, _ = drained(dataset, Way(hr.Options(executor=executor, optimize=False, seed=7)))
    expected = passed(root)
    counted = dict(zip(nodes_of(root), stats.stages, strict=False))
    assert {id(node): stage.elements for node, stage in counted.items()} == expected
    for stage in stats.stages:
        assert_sound(stage, stats)


INNER_STEPS: dict[str, Step] = {
    "map": lambda ds: ds.map(lambda x: x),
    "batch": lambda ds: ds.batch(2),
    "skip": lambda ds: ds.skip(1),
    "twice": lambda ds: ds.repeat(2, name="twice"),
    "three times": lambda ds: ds.repeat(3, name="three times"),
}


@given(st.lists(st.sampled_from([*INNER_STEPS]), max_size=4), st.booleans(), ways())
def test_operations_of_small_datasets_count_what_passed_them_however_they_are_made(
    names: list[str], vary: bool, way: Way
) -> None:
    def opened(x: int) -> hr.Dataset:
        inner = hr.Dataset.range(4)
        for name in names:
            inner = INNER_STEPS[name](inner)
        return inner.repeat(x % 3 + 1) if vary else inner

    dataset = hr.Dataset.range(9).flat_map(opened)
    both = [drained(dataset, one)[0] for one in (REFERENCE, written(way))]
    expected, found = (sorted((stage.name, stage.elements) for stage in stats.stages) for stats in both)
    assert found == expected


@pytest.mark.parametrize("length", [4, 10_000], ids=["made at once", "of stages"])
def test_operations_of_one_name_in_what_a_function_makes_count_each_by_itself(length: int) -> None:
    def opened(_: int) -> hr.Dataset:
        one, other = hr.Dataset.range(length).filter(is_odd), hr.Dataset.range(length).filter(is_odd)
        return hr.Dataset.zip((one, other)).map(lambda x, _: x).filter(is_odd).filter(is_odd)

    for way in (REFERENCE, Way(hr.Options(optimize=False, seed=7), rules=())):
        stats, _ = drained(hr.Dataset.range(3).flat_map(opened), way)
        passed_by = [stage.elements for stage in stats.stages if stage.name.startswith("filter")]
        assert passed_by == 4 * [3 * length // 2], way


@given(chains())
def test_a_served_element_is_counted_once_where_nothing_is_lost(chain: Chain) -> None:
    stats, _ = drained(chain.build(), REFERENCE)
    for stage in stats.stages:
        assert stage.service.count >= stage.elements
        assert stage.service.total_s <= stage.busy_s + ROUNDING_S


@given(recipes(), st.one_of(st.just(REFERENCE), ways()))
def test_work_and_waits_fit_into_the_time_that_there_was(recipe: Recipe, way: Way) -> None:
    with running(recipe.build(), way) as iterator:
        count = sum(not isinstance(one, hr.errors.HeadraceError) for one in delivered(iterator, LIMIT))
        stats = iterator.stats()
    assert stats.elements == count
    assert 0 <= stats.wait_s <= stats.elapsed_s + ROUNDING_S
    step = stats.step
    assert step.waited.total_s + step.computed.total_s <= stats.elapsed_s + ROUNDING_S
    assert step.waited.count <= stats.elements  # those of the latest seconds, of a run that was longer by its clock
    assert step.waited.count == stats.elements or stats.elapsed_s > step.window_s
    for stage in stats.stages:
        assert_sound(stage, stats)


def assert_sound(stage: StageStats, stats: IteratorStats) -> None:
    """Fails where figures of one stage contradict each other."""
    times_s = [stage.busy_s, stage.wait_s, stage.input_wait_s, stage.room_wait_s]
    assert all(math.isfinite(value) and value >= 0 for value in times_s), stage
    service = stage.service
    assert service.p50_s <= service.p95_s <= service.p99_s <= service.max_s, stage
    assert stage.buffered_low <= stage.buffered <= stage.buffered_high, stage
    assert stage.buffered_low >= 0, stage
    assert stage.cpu_share is None or 0 <= stage.cpu_share <= 1, stage
    assert 0 <= stage.window_s <= stats.elapsed_s + ROUNDING_S, stage
    # It is read by one thread at a time, and so many work for it.
    assert stage.elements_per_s * stage.window_s <= stage.elements * (1 + ROUNDING_S) + ROUNDING_S


@given(chains(), ways().map(written))
def test_one_thread_works_or_waits_and_never_both(chain: Chain, way: Way) -> None:
    dataset = chain.build()
    stats, _ = drained(dataset, way)
    for node, stage in zip(nodes_of(dataset.__headrace_plan__()), stats.stages, strict=False):
        if isinstance(node, Prefetch):  # which has two
            assert stage.busy_s + stage.wait_s <= stats.elapsed_s + ROUNDING_S
            assert stage.input_wait_s + stage.room_wait_s <= stats.elapsed_s + ROUNDING_S
        elif getattr(node, "num_parallel_calls", None) is None:
            assert stage.busy_s + stage.wait_s + stage.input_wait_s <= stats.elapsed_s + ROUNDING_S
        else:
            workers = max(1, stats.workers)
            assert stage.busy_s <= (workers + 1) * stats.elapsed_s + ROUNDING_S
            assert stage.wait_s + stage.input_wait_s <= stats.elapsed_s + ROUNDING_S


# ------------------------------------------------------------------------------------------------- a clock by hand


@given(
    st.lists(st.floats(1e-6, 50.0), min_size=1, max_size=60),
    st.sampled_from(["inline", "thread"]),
    st.sampled_from([None, 1]),
)
def test_percentiles_are_those_of_planted_times(times_s: list[float], executor: Any, calls: int | None) -> None:
    with by_hand() as clock:

        def slow(index: int) -> int:
            clock.move(times_s[index])
            return index

        dataset = hr.Dataset.range(len(times_s)).map(slow, num_parallel_calls=calls)
        plan = dataset.with_options(hr.Options(executor=executor, optimize=False, stall_warning_s=0))
        with DatasetIterator(plan.__headrace_plan__(), policy=RunPolicy(pace=paced([1]), clock=clock)) as iterator:
            for _ in iterator:
                pass
            stage = iterator.stats().stages[1]
    in_window = stage.service
    # Of the time that is not noted a second is missing at most, and elements within it: the last are always there.
    exact_s = sorted(times_s[len(times_s) - in_window.count :])
    assert in_window.count == len(times_s) or sum(times_s) > 10
    for percent, told_s in [
        (50, in_window.p50_s),
        (95, in_window.p95_s),
        (99, in_window.p99_s),
        (100, in_window.max_s),
    ]:
        planted_s = exact_s[-(-percent * len(exact_s) // 100) - 1]
        assert planted_s / GROWTH <= told_s * (1 + 1e-6)
        assert told_s <= planted_s * GROWTH * (1 + 1e-6)
    if calls is None:  # else the thread that reads is at work on its own while the clock is moved
        assert stage.busy_s == pytest.approx(sum(times_s))


def test_figures_are_those_of_the_last_ten_seconds_and_totals_of_all() -> None:
    with by_hand() as clock:

        def slow(index: int) -> int:
            clock.move(2.0 if index < 20 else 0.5)
            return index

        plan = hr.Dataset.range(100).map(slow).with_options(hr.Options(optimize=False, stall_warning_s=0))
        with DatasetIterator(plan.__headrace_plan__(), policy=RunPolicy(pace=paced([1]), clock=clock)) as iterator:
            for _ in range(80):
                next(iterator)
                clock.move(0.5)
            stats = iterator.stats()
    stage = stats.stages[1]
    assert (stage.elements, stage.busy_s) == (80, 20 * 2.0 + 60 * 0.5)
    assert 10.0 <= stage.window_s <= 12.0
    assert stage.elements_per_s == pytest.approx(1.0, rel=0.1)
    assert stage.service.p99_s == stage.service.p50_s == pytest.approx(0.5, rel=GROWTH - 1)
    assert stage.parallelism == pytest.approx(0.5, rel=0.1)
    assert stats.step.wait_share == pytest.approx(0.5, rel=0.1)
    assert stats.step.computed.p50_s == pytest.approx(0.5, rel=GROWTH - 1)
    assert stats.elapsed_s == 20 * 2.5 + 60 * 1.0


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_what_stages_wait_for_is_what_others_work(executor: Any, on_error: Any) -> None:
    with by_hand() as clock:

        def slow(index: int) -> int:
            clock.move(1.0)
            return index

        def slower(index: int) -> int:
            clock.move(3.0)
            return index

        # No one loop.
        dataset = hr.Dataset.range(4).map(slow).shuffle(2, seed=1).map(slower, on_error=on_error).batch(2)
        plan = dataset.with_options(hr.Options(executor=executor, optimize=False, stall_warning_s=0))
        with DatasetIterator(plan.__headrace_plan__(), policy=RunPolicy(pace=paced([1]), clock=clock)) as iterator:
            count = sum(1 for _ in iterator)
            source, first, _, second, batch = iterator.stats().stages
    assert count == 2
    assert [source.busy_s, first.busy_s, second.busy_s, batch.busy_s] == pytest.approx([0.0, 4.0, 12.0, 0.0])
    waits_s = [source.input_wait_s, first.input_wait_s, second.input_wait_s, batch.input_wait_s]
    assert waits_s == pytest.approx([0.0, 0.0, 4.0, 16.0])


NESTINGS: dict[str, Callable[[hr.Dataset, Callable[[Any], hr.Dataset]], hr.Dataset]] = {
    "flat_map": lambda ds, opened: ds.flat_map(opened),
    "interleave": lambda ds, opened: ds.interleave(opened, cycle_length=2),
    "group_by_window": lambda ds, opened: ds.group_by_window(lambda x: x, lambda key, _: opened(key), window_size=1),
}


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("calls", ["nothing inside", "a function inside"])
def test_what_a_function_takes_that_makes_datasets_is_work_of_its_operation(
    executor: Any, nesting: str, calls: str
) -> None:
    with by_hand() as clock:

        def slow(x: int) -> int:
            clock.move(0.5)
            return x

        def opened(x: int) -> hr.Dataset:
            clock.move(4.0)
            inner = hr.Dataset.from_tensors(x)
            return inner if calls == "nothing inside" else inner.map(slow)

        dataset = NESTINGS[nesting](hr.Dataset.range(6), opened).batch(1)
        plan = dataset.with_options(hr.Options(executor=executor, optimize=False, stall_warning_s=0))
        with DatasetIterator(plan.__headrace_plan__(), policy=RunPolicy(pace=paced([1]), clock=clock)) as iterator:
            count = sum(1 for _ in iterator)
            stages = iterator.stats().stages
    (own,) = (stage for stage in stages if stage.name.startswith(nesting))
    inside_s = sum(stage.busy_s for stage in stages if stage.name.startswith("map"))
    assert count == 6
    assert own.busy_s == pytest.approx(24.0)
    assert own.input_wait_s == pytest.approx(inside_s) == pytest.approx(0.0 if calls == "nothing inside" else 3.0)


def test_what_stands_in_datasets_that_workers_read_may_be_worked_on_by_as_many_threads() -> None:
    plan = hr.Dataset.range(6).interleave(
        lambda _: hr.Dataset.range(3).map(lambda x: x), cycle_length=3, num_parallel_calls=3
    )
    with DatasetIterator(plan.__headrace_plan__()) as iterator:
        assert sum(1 for _ in iterator) == 18
        stages = iterator.stats().stages
    assert [stage.max_parallelism for stage in stages if stage.name.startswith(("map", "interleave"))] == [3, 3]


def test_steps_on_elements_that_come_at_once_are_told_one_by_one() -> None:
    with by_hand() as clock:
        plan = hr.Dataset.range(30).with_options(hr.Options(stall_warning_s=0)).__headrace_plan__()
        with DatasetIterator(plan, policy=RunPolicy(pace=paced([10]), clock=clock)) as iterator:
            for _ in iterator:
                clock.move(0.25)
                assert iterator.stats().step.computed.max_s in (0.0, 0.25)
            step = iterator.stats().step
    assert (step.computed.count, step.waited.count) == (30, 30)
    assert (step.computed.total_s, step.waited.total_s) == (7.5, 0.0)
    assert step.computed.max_s == step.computed.p50_s == 0.25


# ------------------------------------------------------------------------------------------------- what it costs


def test_a_stage_counts_once_a_block_and_not_once_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[str] = []
    add = Folded.add

    def noted(self: Folded[Any], record: tuple[Any, ...]) -> None:
        counts.append(type(self).__name__)
        add(self, record)

    monkeypatch.setattr(Folded, "add", noted)
    plan = hr.Dataset.range(100_000).map(lambda x: x + 1).batch(100).__headrace_plan__()
    with DatasetIterator(plan, policy=RunPolicy(pace=paced([1000]))) as iterator:
        blocks = sum(1 for _ in iterator.blocks())
        assert iterator.stats().stages[0].elements == 100_000
    assert blocks <= 1_000
    # Range, map and batch a record for each pull, and the consumer one for each block that it gets.
    assert len(counts) <= 4 * (blocks + 200)
