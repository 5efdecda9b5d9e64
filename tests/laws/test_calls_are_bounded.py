"""Law 4 for calls: of each operation no more run at once than it asked for, whatever stands beside it; and so many do."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import (
    Alone,
    AlwaysAhead,
    Beside,
    NeverHere,
    Restless,
    RestlessCalls,
    SteadyCalls,
    Way,
    in_blocks_of,
    running,
)

import headrace as hr
from headrace.machine import Share

LIMIT_S = 60.0
ELEMENTS = 24
CORES = 5  # of the machine on which the plans are run


class Counted:
    """A function that knows how many of its calls run at once.

    The first calls wait a moment for one too many, which comes at once where a worker is free for it. Where they are to
    meet, they wait before until as many are there as may be.
    """

    def __init__(self, limit: int, *, meets: bool = True) -> None:
        self.limit = limit
        self.most = self._now = self._begun = 0
        self._lock = threading.Lock()
        self._met, self._too_many = threading.Event(), threading.Event()
        if not meets:
            self._met.set()

    def __call__(self, *element: Any) -> Any:
        with self._lock:
            self._begun += 1
            is_early = self._begun <= 2 * self.limit
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now >= self.limit:
                self._met.set()
            if self._now > self.limit:
                self._too_many.set()
        assert self._met.wait(LIMIT_S), f"not {self.limit} calls at once, but {self.most}"
        if is_early:
            self._too_many.wait(0.003)
        with self._lock:
            self._now -= 1
        return element[0] if len(element) == 1 else element


def drawn(counted: Counted) -> Callable[..., Any]:
    """The function for a random_map."""
    return lambda rng, *element: counted(*element)


@dataclasses.dataclass
class Plan:
    """A dataset with the functions in it, and whether their calls can be had to meet."""

    dataset: hr.Dataset
    functions: list[Counted]
    meets: bool

    def counted(self, limit: int) -> Counted:
        if limit == hr.AUTOTUNE:  # it may have learned that one at a time is faster
            made = Counted(CORES, meets=False)
        else:
            made = Counted(limit, meets=self.meets and (2 * limit < ELEMENTS))
        self.functions.append(made)
        return made


Step = Callable[[Plan], hr.Dataset]
CALLS = st.sampled_from([1, 2, 3, 4, hr.AUTOTUNE])
ORDER = st.sampled_from([None, False])


def mapped(calls: int, order: bool | None) -> Step:
    return lambda plan: plan.dataset.map(plan.counted(calls), num_parallel_calls=calls, deterministic=order)


def mapped_at_random(calls: int, order: bool | None) -> Step:
    return lambda plan: plan.dataset.random_map(
        drawn(plan.counted(calls)), seed=1, num_parallel_calls=calls, deterministic=order
    )


def mapped_whole(calls: int, order: bool | None) -> Step:
    return lambda plan: plan.dataset.map(
        hr.vectorized(plan.counted(calls)), num_parallel_calls=calls, deterministic=order
    )


def mapped_in_batches(calls: int, batches: int) -> Step:
    """What keeps other workers busy beside a map."""

    def step(plan: Plan) -> hr.Dataset:
        made = plan.dataset.map(plan.counted(calls), num_parallel_calls=calls)
        return made.batch(2, num_parallel_calls=batches).unbatch()

    return step


def mapped_twice(calls: int) -> Step:
    """What the optimizer makes one task of."""
    return lambda plan: plan.dataset.map(plan.counted(calls), num_parallel_calls=calls).map(
        plan.counted(calls), num_parallel_calls=calls
    )


def opened(calls: int, order: bool | None) -> Step:
    """Datasets that are read at once, of which each calls the function once at a time."""

    def step(plan: Plan) -> hr.Dataset:
        counted = plan.counted(calls)
        open_one = lambda *element: hr.Dataset.from_tensors(element[0]).map(counted, num_parallel_calls=4)  # noqa: E731
        return plan.dataset.interleave(open_one, cycle_length=4, num_parallel_calls=min(calls, 4), deterministic=order)

    return step


def zipped_with_itself(plan: Plan) -> hr.Dataset:
    return hr.Dataset.zip((plan.dataset, plan.dataset)).map(lambda one, other: one)


def zipped_with_its_batches(plan: Plan) -> hr.Dataset:
    """The one branch is fused and stacked by the optimizer, the other is not."""
    beside = plan.dataset.map(plan.counted(2), num_parallel_calls=2).batch(2)
    return hr.Dataset.zip((plan.dataset, beside.unbatch())).map(lambda one, other: one)


def split(plan: Plan) -> hr.Dataset:
    return hr.Dataset.sample_from_datasets([plan.dataset.shard(2, 0), plan.dataset.shard(2, 1)], seed=3)


STEPS = st.one_of(
    st.builds(mapped, CALLS, ORDER),
    st.builds(mapped_at_random, CALLS, ORDER),
    st.builds(mapped_whole, CALLS, ORDER),
    st.builds(mapped_in_batches, CALLS, CALLS),
    st.builds(mapped_twice, CALLS),
    st.builds(opened, CALLS, ORDER),
    st.sampled_from([zipped_with_itself, zipped_with_its_batches, split]),
    st.sampled_from(
        [
            lambda plan: plan.dataset.prefetch(2),
            lambda plan: plan.dataset.shuffle(5, seed=1),
            lambda plan: plan.dataset.filter(lambda *element: True),
            lambda plan: plan.dataset.repeat(2),
            lambda plan: plan.dataset.concatenate(plan.dataset),
        ]
    ),
)


class Numbers:
    """A source by number, whose fetches are counted."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted

    def __len__(self) -> int:
        return ELEMENTS

    def __getitem__(self, number: int) -> int:
        result: int = self._counted(number)
        return result


def begun(calls: int | None, *, meets: bool) -> Plan:
    plan = Plan(hr.Dataset.range(ELEMENTS), [], meets)
    if calls is not None:
        plan.dataset = hr.Dataset.source(Numbers(plan.counted(calls)), num_parallel_calls=calls)
    return plan


def run(plan: Plan, sizes: list[int] | None, options: hr.Options | None = None) -> None:
    share = Share(CORES, 1 << 30)
    with mock.patch("headrace.engine.run.current_share", return_value=share):
        dataset = plan.dataset.with_options(options or hr.Options())
        for _ in in_blocks_of(sizes, dataset, calls=SteadyCalls):
            pass


SIZES = st.sampled_from([None, [1], [1, 3]])
BEGINNINGS = st.one_of(st.none(), CALLS)


@given(BEGINNINGS, st.lists(STEPS, min_size=1, max_size=4), SIZES, st.booleans())
def test_no_more_calls_run_at_once_than_were_asked_for(
    first: int | None, steps: list[Step], sizes: list[int] | None, optimize: bool
) -> None:
    plan = begun(first, meets=False)
    for step in steps:
        plan.dataset = step(plan)
    run(plan, sizes, hr.Options(optimize=optimize))
    assert [counted.limit for counted in plan.functions if counted.most > counted.limit] == []


MAPS = st.one_of(
    st.builds(mapped, CALLS, ORDER),
    st.builds(mapped_at_random, CALLS, ORDER),
    st.builds(mapped_in_batches, CALLS, CALLS),
    st.builds(mapped_twice, CALLS),
    st.just(lambda plan: plan.dataset.prefetch(1)),
    st.sampled_from([zipped_with_itself, zipped_with_its_batches, split]),
)


@given(BEGINNINGS, st.lists(MAPS, min_size=1, max_size=3), st.booleans())
def test_as_many_calls_run_at_once_as_were_asked_for_and_no_more(
    first: int | None, steps: list[Step], optimize: bool
) -> None:
    plan = begun(first, meets=True)
    for step in steps:
        plan.dataset = step(plan)
    run(plan, [1], hr.Options(optimize=optimize))
    for counted in plan.functions:
        assert counted.most <= counted.limit
        assert counted.limit in (counted.most, CORES)  # AUTOTUNE may find that one at a time is faster


@given(st.lists(MAPS, min_size=1, max_size=3), st.integers(1, 3))
def test_the_workers_bound_the_calls_of_all_operations_together(steps: list[Step], workers: int) -> None:
    plan = begun(None, meets=False)
    for step in steps:
        plan.dataset = step(plan)
    run(plan, [1], hr.Options(num_workers=workers))
    for counted in plan.functions:
        assert counted.most <= min(counted.limit, workers)


TWO: dict[str, Callable[[hr.Dataset, Counted, Counted], hr.Dataset]] = {
    "map and batch": lambda ds, f, g: ds.map(f, num_parallel_calls=2).batch(5, num_parallel_calls=4),
    "map and map": lambda ds, f, g: ds.map(f, num_parallel_calls=2).map(g, num_parallel_calls=4),
    "zip": lambda ds, f, g: hr.Dataset.zip((ds.map(f, num_parallel_calls=2), ds.map(g, num_parallel_calls=4))),
    "prefetch between": lambda ds, f, g: ds.map(f, num_parallel_calls=2).prefetch(2).map(g, num_parallel_calls=4),
    "interleave behind": lambda ds, f, g: ds.map(f, num_parallel_calls=2).interleave(
        lambda x: hr.Dataset.from_tensors(x).map(g), cycle_length=4, num_parallel_calls=4
    ),
    "an epoch behind another": lambda ds, f, g: ds.map(f, num_parallel_calls=2).map(g, num_parallel_calls=4).repeat(2),
    "beside AUTOTUNE": lambda ds, f, g: (
        ds.map(f, num_parallel_calls=2).map(g, num_parallel_calls=4).map(abs, num_parallel_calls=hr.AUTOTUNE)
    ),
}


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("name", sorted(TWO))
def test_neighbours_lend_an_operation_no_workers(name: str, order: bool) -> None:
    f, g = Counted(2), Counted(4, meets="batch" not in name)
    dataset = TWO[name](hr.Dataset.range(ELEMENTS), f, g)
    run(Plan(dataset, [f, g], meets=True), [1], hr.Options(deterministic=order))
    assert f.most == 2
    assert g.most == (0 if "batch" in name else 4)


def test_autotune_begins_with_the_cores_of_the_process_beside_an_operation_that_asked_for_more() -> None:
    f = Counted(CORES, meets=False)
    g = Counted(16)
    dataset = hr.Dataset.range(64).map(g, num_parallel_calls=16).map(f, num_parallel_calls=hr.AUTOTUNE)
    run(Plan(dataset, [f, g], meets=True), [1])
    assert (g.most, f.most <= CORES) == (16, True)


def test_maps_that_are_fused_here_and_read_alone_there_are_bounded_together() -> None:
    f, g = Counted(2), Counted(2)
    one = hr.Dataset.range(ELEMENTS).map(f, num_parallel_calls=2)
    both = hr.Dataset.zip((one.prefetch(3), one.map(g, num_parallel_calls=2).prefetch(3), one.shuffle(3, seed=1)))
    run(Plan(both, [f, g], meets=True), [1])
    assert (f.most, g.most) == (2, 2)


@pytest.mark.parametrize("calls", [1, 3])
def test_an_iterator_that_was_closed_or_resumed_in_the_middle_keeps_the_bound(calls: int) -> None:
    f = Counted(calls, meets=False)
    dataset = hr.Dataset.range(100).map(f, num_parallel_calls=calls).take(9).repeat().map(abs, num_parallel_calls=4)
    with in_blocks_of([1], dataset) as iterator:
        assert [next(iterator) for _ in range(40)] == 4 * [*range(9)] + [0, 1, 2, 3]
        state = iterator.state_dict()
    with in_blocks_of([1], dataset) as iterator:
        iterator.load_state_dict(state)
        assert [next(iterator) for _ in range(20)] == [4, 5, 6, 7, 8, *range(9), 0, 1, 2, 3, 4, 5]
    assert f.most <= calls


@pytest.mark.parametrize("is_among_others", [False, True])
@pytest.mark.parametrize("concurrency", [Alone, Restless])
def test_calls_in_the_threads_that_read_count_with_those_in_workers(
    concurrency: type[Alone | Restless], is_among_others: bool
) -> None:
    f, g = Counted(1, meets=False), Counted(1, meets=False)
    one = hr.Dataset.range(ELEMENTS).map(f, num_parallel_calls=hr.AUTOTUNE)
    if is_among_others:
        one = one.filter(lambda x: x >= 0).map(g, num_parallel_calls=hr.AUTOTUNE)
    both = hr.Dataset.zip((one.prefetch(3), one.prefetch(3)))
    way = Way(hr.Options(num_workers=1), block_sizes=(1,), overlap=AlwaysAhead, concurrency=concurrency)
    with running(both, way) as iterator:
        assert list(iterator) == [(number, number) for number in range(ELEMENTS)]
    assert f.most == 1
    assert g.most == int(is_among_others)


@given(st.sampled_from([None, 1, 3]), st.lists(MAPS, min_size=1, max_size=3))
def test_no_more_calls_run_at_once_than_was_decided_last_however_often_it_is(
    workers: int | None, steps: list[Step]
) -> None:
    plan = begun(None, meets=False)
    for step in [*steps, mapped(hr.AUTOTUNE, None)]:
        plan.dataset = step(plan)
    way = Way(hr.Options(num_workers=workers), block_sizes=(1,), concurrency=Beside, calls=RestlessCalls)
    with (
        mock.patch("headrace.engine.run.current_share", return_value=Share(2, 1 << 30)),
        running(plan.dataset, way) as it,
    ):
        for _ in it:
            pass
    for counted in plan.functions:
        assert counted.most <= min(counted.limit, workers or RestlessCalls.most)


@pytest.mark.parametrize("round_", range(4))
def test_maps_that_are_fused_here_and_read_alone_there_have_one_number_of_calls(round_: int) -> None:
    f, g = Counted(5, meets=False), Counted(5, meets=False)
    one = hr.Dataset.range(3 * ELEMENTS + round_).map(f, num_parallel_calls=hr.AUTOTUNE)
    other = one.map(g, num_parallel_calls=hr.AUTOTUNE)
    both = hr.Dataset.zip((one.prefetch(3), other.prefetch(3), one.shuffle(3, seed=1).prefetch(3)))
    way = Way(hr.Options(), block_sizes=(1,), overlap=AlwaysAhead, concurrency=Beside, calls=RestlessCalls)
    with running(both, way) as iterator:
        assert len(list(iterator)) == 3 * ELEMENTS + round_
    assert max(f.most, g.most) <= RestlessCalls.most


def test_an_interleave_that_is_left_to_headrace_reads_no_more_datasets_at_once_than_its_cycle_is_long() -> None:
    counted = Counted(3, meets=False)
    dataset = hr.Dataset.range(ELEMENTS).interleave(
        lambda x: hr.Dataset.from_tensors(x).map(counted), cycle_length=3, num_parallel_calls=hr.AUTOTUNE
    )
    way = Way(hr.Options(), block_sizes=(1,), reading_place=NeverHere, calls=RestlessCalls)
    with mock.patch("headrace.engine.run.current_share", return_value=Share(2, 1 << 30)), running(dataset, way) as it:
        assert sorted(int(x) for x in it) == [*range(ELEMENTS)]
        decided = {one.after for one in it.stats().decisions if one.what == "workers"}
    assert decided <= {1, 2, 3}
    assert counted.most <= 3
