"""One run of a dataset, as its user sees it."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.laws.running import in_blocks_of

import headrace as hr
from headrace.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from headrace.iterator import phases

data = hr.Dataset
BOTH = pytest.mark.parametrize("executor", ["thread", "inline"])


def run_on(dataset: hr.Dataset, executor: str, block_sizes: list[int] | None = None) -> hr.DatasetIterator:
    return in_blocks_of(block_sizes, dataset.with_options(hr.Options(executor=executor)))


@BOTH
def test_next_raises_stop_iteration_and_get_next_out_of_range_for_ever(executor: str) -> None:
    with run_on(data.range(2), executor) as iterator:
        assert iterator.get_next() == 0
        assert next(iterator) == 1
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(iterator)
            with pytest.raises(OutOfRangeError, match="no more elements"):
                iterator.get_next()


def test_it_is_its_own_iterator_and_a_context_manager() -> None:
    iterator = iter(data.range(3))
    assert isinstance(iterator, hr.DatasetIterator)
    assert iter(iterator) is iterator
    with iterator as entered:
        assert entered is iterator
        assert next(iterator) == 0
    assert list(iterator) == []


def test_nothing_runs_before_the_first_element_is_asked_for() -> None:
    calls: list[int] = []
    with iter(data.range(9).map(calls.append, num_parallel_calls=2).prefetch(2)) as iterator:
        assert calls == []
        assert iterator.stats().elements == 0
        assert iterator.stats().stages == ()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("headrace")]


@BOTH
def test_iterators_over_one_dataset_know_nothing_of_each_other(executor: str) -> None:
    dataset = data.range(6).batch(2).unbatch().map(lambda x: x, num_parallel_calls=2)
    with run_on(dataset, executor) as one, run_on(dataset, executor) as other:
        assert [next(one), next(one), next(other), next(one), next(other)] == [0, 1, 0, 2, 1]


@BOTH
@pytest.mark.parametrize("calls", [None, 2])
def test_a_function_cannot_read_from_the_iterator_that_calls_it(executor: str, calls: int | None) -> None:
    holder: list[hr.DatasetIterator] = []
    dataset = data.range(3).map(lambda x: x or next(holder[0]), num_parallel_calls=calls)
    holder.append(run_on(dataset, executor))
    with holder[0] as iterator:
        with pytest.raises(FailedPreconditionError, match="that is calling it"):
            next(iterator)
        assert list(iterator) == [1, 2]
    holder.clear()


# ------------------------------------------------------------------------------------- state


@BOTH
def test_a_state_says_what_it_is_and_counts_what_was_delivered(executor: str) -> None:
    with run_on(data.range(9).map(abs, num_parallel_calls=2), executor) as iterator:
        for count in range(5):
            state = iterator.state_dict()
            assert (state["version"], state["delivered"]) == (1, count)
            json.dumps(state)
            next(iterator)


@BOTH
def test_an_element_that_failed_is_passed_and_not_counted(executor: str) -> None:
    with run_on(data.range(1, 4).map(lambda x: 6 // (x - 1)), executor) as iterator:
        with pytest.raises(hr.errors.DataError):
            next(iterator)
        assert iterator.state_dict()["delivered"] == 0
        assert next(iterator) == 6
        assert iterator.state_dict()["delivered"] == 1


def test_what_was_delivered_before_a_state_counts_on() -> None:
    dataset = data.range(9)
    with iter(dataset) as first:
        for _ in range(4):
            next(first)
        state = first.state_dict()
    with iter(dataset) as second:
        second.load_state_dict(state)
        assert second.state_dict() == state
        next(second)
        assert second.state_dict()["delivered"] == 5
        assert second.stats().elements == 1


def test_a_closed_iterator_can_be_loaded_again() -> None:
    with iter(data.range(4)) as iterator:
        next(iterator)
        state = iterator.state_dict()
    assert list(iterator) == []
    iterator.load_state_dict(state)
    assert list(iterator) == [1, 2, 3]


class Unspeakable:
    """An iterator whose state is no plain data."""

    def __init__(self) -> None:
        self.numbers = iter(range(9))

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        return next(self.numbers)

    def state_dict(self) -> Any:
        return {"at": {1, 2}}

    def load_state_dict(self, state: Any) -> None:
        raise AssertionError


@BOTH
def test_a_generators_state_that_json_cannot_hold_is_refused_when_it_is_taken(executor: str) -> None:
    with run_on(data.from_generator(Unspeakable), executor, [1]) as iterator:
        next(iterator)
        next(iterator)
        with pytest.raises(InvalidArgumentError, match="what JSON can hold"):
            iterator.state_dict()


# ------------------------------------------------------------------------------------- stats


def test_stats_are_a_frozen_picture_of_every_stage_sources_first() -> None:
    dataset = data.range(10).map(abs, num_parallel_calls=2).batch(2).prefetch(1)
    with iter(dataset) as iterator:
        for _ in range(3):
            next(iterator)
        stats = iterator.stats()
    assert stats.elements == 3
    assert [stage.name for stage in stats.stages] == ["range", "map 'abs'", "batch", "prefetch"]
    assert stats.stages[-1].elements >= 3
    assert stats.stages[0].elements >= 6
    assert all(stage.busy_s >= 0 and stage.wait_s >= 0 and stage.buffered >= 0 for stage in stats.stages)
    assert 0 <= stats.wait_s <= stats.elapsed_s
    assert 0 <= stats.wait_share <= 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.elements = 0  # type: ignore[misc]  # what is tested
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats.stages[0].elements = 0  # type: ignore[misc]  # what is tested


def test_stats_of_a_whole_run_count_every_element_of_every_stage_once() -> None:
    dataset = (
        data.range(12)
        .filter(lambda x: x % 3 != 0)
        .map(lambda x: x, num_parallel_calls=2)
        .map(lambda x: x, num_parallel_calls=2)
        .interleave(lambda x: data.range(2).map(lambda y: y), cycle_length=2, num_parallel_calls=2)
        .batch(4)
    )
    with iter(dataset) as iterator:
        batches = list(iterator)
        # From the end, because the datasets inside have a range and a map as well.
        counts = {stage.name.partition(" ")[0]: stage.elements for stage in reversed(iterator.stats().stages)}
    assert len(batches) == 4
    assert (counts["range"], counts["filter"], counts["interleave"], counts["batch"]) == (12, 8, 16, 4)


@BOTH
def test_stats_count_what_was_delivered_inside_a_block_too(executor: str) -> None:
    with run_on(data.range(100), executor, [100]) as iterator:
        for count in range(1, 8):
            next(iterator)
            assert iterator.stats().elements == count


def test_options_that_meet_decide_together() -> None:
    threads = set[str]()

    def note(x: int) -> int:
        threads.add(threading.current_thread().name)
        return x

    plan = data.range(50).map(note, num_parallel_calls=8)
    assert list(plan.with_options(hr.Options(num_workers=1))) == list(range(50))
    assert threads == {"headrace-worker-0"}
    threads.clear()
    inline = plan.with_options(hr.Options(executor="inline")).batch(2).with_options(hr.Options(num_workers=3))
    assert len(list(inline)) == 25
    assert threads == {threading.main_thread().name}


def test_elements_of_a_large_block_are_all_its_own() -> None:
    with in_blocks_of([1000], data.from_tensor_slices(np.arange(10)).shuffle(10).batch(3)) as iterator:
        batches = list(iterator)
    for batch in batches:
        batch[...] = -1
    assert sorted(np.concatenate(batches).tolist()) == [-1] * 10


def test_only_a_state_brings_an_ended_iterator_back() -> None:
    over = {phases.ENDED, phases.LOST}
    for old in phases.Phase:
        assert phases.NEXT[old, phases.LOAD] is phases.NEW
        assert phases.NEXT[old, phases.END] in over
        assert phases.NEXT[old, phases.LOSE] is phases.LOST
    kept = {event: new for (old, event), new in phases.NEXT.items() if old is phases.LOST}
    assert {event for event, new in kept.items() if new is not phases.LOST} == {phases.LOAD}


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_one_that_was_closed_before_it_began_delivers_nothing_and_knows_where_it_stands(executor: str) -> None:
    iterator = iter(hr.Dataset.range(3).with_options(hr.Options(executor=executor)))
    iterator.close()
    assert list(iterator) == []
    iterator.load_state_dict(iterator.state_dict())
    assert list(iterator) == [0, 1, 2]


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_blocks_are_the_remaining_elements_and_an_error_comes_in_its_place(executor: str) -> None:
    ds = hr.Dataset.range(500).map(lambda x: 1 // (x - 300)).with_options(hr.Options(executor=executor))
    with iter(ds) as iterator:
        assert next(iterator) == -1
        came: list[int] = []
        with pytest.raises(hr.errors.DataError, match="element 300"):
            for block in iterator.blocks():
                assert block
                came += block
        assert len(came) == 299
        assert sum(map(len, iterator.blocks())) == 199
        assert list(iterator.blocks()) == []


@pytest.mark.parametrize("plan", ["parallel map", "shuffle", "batch", "window"])
def test_a_closed_iterator_holds_nothing_that_nobody_took_and_needs_no_garbage_collection(plan: str) -> None:
    made: list[weakref.ref[Any]] = []

    def row(x: Any) -> Any:
        made.append(weakref.ref(array := np.full(10, x)))
        return array

    rows = hr.Dataset.range(60).map(row, num_parallel_calls=2)
    plans: dict[str, hr.Dataset] = {
        "parallel map": rows,
        "shuffle": rows.shuffle(6),
        "batch": rows.unbatch().batch(7),
        "window": rows.window(6, shift=1),
    }
    gc.collect()
    gc.disable()
    try:
        iterator = iter(plans[plan])
        next(iterator)
        iterator.close()
        assert [one for one in made if one() is not None] == []
    finally:
        gc.enable()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_iterator_cannot_be_copied_and_says_what_can_be(copied: Callable[[object], object]) -> None:
    with iter(hr.Dataset.range(3)) as iterator:
        next(iterator)
        with pytest.raises(TypeError, match=r"DatasetIterator cannot be copied or pickled: save its state_dict\(\)"):
            copied(iterator)
        assert list(iterator) == [1, 2]


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (None, "not a NoneType$"),
        ([1], "not a list$"),
        ({}, "not a dict with the keys none$"),
        ({"model": {}, "optimizer": 1}, "not a dict with the keys 'model', 'optimizer'$"),
    ],
)
def test_what_is_no_state_is_refused_and_the_iterator_is_as_it_was(state: Any, shown: str) -> None:
    with iter(hr.Dataset.range(3)) as iterator:
        next(iterator)
        with pytest.raises(InvalidArgumentError, match=rf"is what its state_dict\(\) returned, {shown}"):
            iterator.load_state_dict(state)
        assert list(iterator) == [1, 2]
