"""Batches that workers stack: the same arrays as the driver's, in memory of their own, used again when nobody holds it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.elements import Named, add_one, fail_on, halves
from tests.laws.running import Way, assert_same, elements_of, ways

import headrace as hr
from headrace import reused_memory
from headrace.blocks.batch_buffer import BatchBufferView
from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.joining import join
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.stages import grouping_batches
from headrace.physical.workers import batch_memory
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.testing.restoring import check_every_restore_point


@pytest.fixture(autouse=True)
def _however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_memory, "_FEWEST_BYTES", 0)
    monkeypatch.setattr(grouping_batches, "_HEAVY_BYTES", 0)
    monkeypatch.setattr(grouping_batches, "_FEW_ELEMENTS", 1)


def pages(nbytes: int) -> reused_memory.Pages:
    return reused_memory.Pages(np.empty(nbytes, np.uint8), are_own=False)


def block_of(rows: list[Any], start: int = 0) -> Block:
    return Block(Rows(rows), IndexCursor(start), IndexOrigin(range(start, start + len(rows))))


def varied(x: int) -> Any:
    """Arrays and scalars, and for some another structure, shape or dtype."""
    shape, dtype = ((3,), np.float32) if x % 11 != 7 else ((2,), np.float32)
    array = np.full(shape, x, np.int8 if x % 13 == 12 else dtype)
    return (array, x, f"{x}") if x % 17 != 16 else {"array": array}


MAPS: list[Named] = [
    ("arrays", lambda ds: ds.map(lambda x: np.full((4, 2), x), num_parallel_calls=2)),
    ("varied", lambda ds: ds.map(varied, num_parallel_calls=2)),
    ("scalars", lambda ds: ds.map(add_one, num_parallel_calls=2)),
    ("dicts", lambda ds: ds.map(lambda x: {"a": np.arange(x, x + 2), "b": [x]}, num_parallel_calls=hr.AUTOTUNE)),
    ("failing", lambda ds: ds.map(fail_on(3, 5), num_parallel_calls=2)),
    ("chain", lambda ds: ds.map(halves, num_parallel_calls=2).map(halves, num_parallel_calls=2)),
    ("random", lambda ds: ds.random_map(lambda rng, x: rng.integers(0, 9, 3) + x, seed=1, num_parallel_calls=2)),
    ("vectorized", lambda ds: ds.map(hr.vectorized(lambda x: np.outer(x, np.ones(3))), num_parallel_calls=2)),
    ("serial", lambda ds: ds.map(varied)),
    ("failing alone", lambda ds: ds.map(fail_on(3, 5)).map(lambda x: np.full(2, x))),
    ("generator", lambda ds: ds.map(varied).ignore_errors().prefetch(2)),
    ("nothing", lambda ds: ds.map(lambda x: (), num_parallel_calls=2)),
]


@settings(deadline=None)
@given(st.sampled_from(MAPS), st.integers(0, 40), st.integers(1, 9), st.booleans(), ways())
def test_batches_are_those_of_the_reference(made: Named, length: int, size: int, drop: bool, way: Way) -> None:
    def build() -> hr.Dataset:
        return made[1](hr.Dataset.range(length)).batch(size, drop_remainder=drop)

    assert_same(elements_of(build()), elements_of(build(), way))


@pytest.mark.parametrize("made", MAPS, ids=[name for name, _ in MAPS])
def test_every_place_can_be_resumed(made: Named) -> None:
    check_every_restore_point(made[1](hr.Dataset.range(11)).batch(3))


def test_what_lies_side_by_side_is_joined_without_a_copy() -> None:
    memory = BatchMemory(4, 1 << 20)
    parts: list[Block | Failure] = []
    for start in (2, 0):  # in whatever order the workers come
        parts = memory.place(start, [block_of([np.full(5, start), np.full(5, start + 1)], start)]) + parts
    first, second = parts
    assert isinstance(first, Block)
    assert isinstance(second, Block)
    whole = join([first.payload, second.payload])
    assert isinstance(whole, BatchBufferView)
    assert np.shares_memory(whole.arrays[0], first.payload.columns().arrays[0])
    assert whole.arrays[0][:, 0].tolist() == [0, 1, 2, 3]


def test_a_block_over_several_batches_is_cut_between_them() -> None:
    placed = BatchMemory(4, 1 << 20).place(3, [block_of([np.arange(3) + n for n in range(7)], 3)])
    assert [len(part) for part in placed if isinstance(part, Block)] == [1, 4, 2]


def test_what_comes_stacked_ends_with_a_batch_where_that_makes_it_little_longer() -> None:
    memory = BatchMemory(8, 1 << 20, 3, stacked=True)
    asked = [(0, 8), (5, 6), (5, 17), (7, 17), (5, 3)]
    assert [memory.count_to_end(start, count, 100, 8) for start, count in asked] == [5, 8, 16, 14, 3]
    assert memory.count_to_end(5, 6, 7, 8) == 6  # no more fit
    assert memory.count_to_end(5, 17, 100, 1 << 20) == 8  # one that is kept keeps no other large one


def test_only_what_comes_stacked_into_memory_of_this_process_ends_with_a_batch() -> None:
    assert BatchMemory(8, 1 << 20).count_to_end(0, 6, 100, 8) == 6
    assert BatchMemory(8, 1 << 20, shared=lambda _: None, stacked=True).count_to_end(0, 6, 100, 8) == 6


def test_no_memory_is_kept_for_batches_that_are_complete() -> None:
    memory = BatchMemory(3, 1 << 20)
    for start in range(0, 12, 2):
        memory.place(start, [block_of([np.zeros(2), np.ones(2)], start)])
    assert not memory._batches


def test_a_batch_that_would_be_too_large_is_left_to_the_driver() -> None:
    (block,) = BatchMemory(1 << 20, 1 << 20).place(0, [block_of([np.zeros(2)])])
    assert isinstance(block, Block)
    assert not isinstance(block.payload, BatchBufferView)


@pytest.fixture
def addresses() -> Callable[[Any], int]:
    gc.collect()  # what other tests left must not be freed in between
    return lambda array: array.__array_interface__["data"][0]


def test_memory_is_used_again_only_when_nobody_holds_it(addresses: Callable[[Any], int]) -> None:
    dataset = hr.Dataset.range(64).map(lambda x: np.full(1024, x), num_parallel_calls=2).batch(4)
    dataset = dataset.with_options(hr.Options(ram_budget=1 << 18))  # so that not all batches are in flight at once
    kept = list(dataset)
    assert len({addresses(batch) for batch in kept}) == len(kept)
    assert [batch[:, 0].tolist() for batch in kept] == np.arange(64).reshape(16, 4).tolist()
    views = [batch[1:, :7] for batch in dataset]  # a view holds the whole
    assert [view[:, 0].tolist() for view in views] == np.arange(64).reshape(16, 4)[:, 1:].tolist()
    seen = {addresses(batch) for batch in dataset}
    assert len(seen) < len(kept)


def test_the_next_epoch_begins_with_the_memory_of_the_last(addresses: Callable[[Any], int]) -> None:
    dataset = hr.Dataset.range(64).map(lambda x: np.full(1024, x), num_parallel_calls=2).batch(32)
    assert {addresses(batch) for batch in dataset} & {addresses(batch) for batch in dataset}


def test_what_waits_to_be_used_again_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reused_memory, "_MOST_SPARE_BYTES", 1000)
    monkeypatch.setattr(reused_memory, "_MOST_SPARE", 3)
    spare = reused_memory._Spare()
    for nbytes in (500, 400, 300, 1, 1001):
        spare.give(pages(nbytes), 2_000)
    assert [piece.bytes.nbytes for piece in spare._pieces] == [400, 300, 1]
    for nbytes in (2, 3):
        spare.give(pages(nbytes), 2_000)
    assert [piece.bytes.nbytes for piece in spare._pieces] == [1, 2, 3]
    assert spare.take(4) is None
    assert spare.take(2) is not None
    assert spare.take(2) is None


def test_a_run_with_a_small_budget_leaves_no_more_than_that_to_be_used_again() -> None:
    spare = reused_memory._Spare()
    for nbytes in (500, 400, 300, 601):
        spare.give(pages(nbytes), 600)
    assert [piece.bytes.nbytes for piece in spare._pieces] == [300]


def test_large_elements_that_one_thread_makes_are_freed_as_they_come() -> None:
    made: list[weakref.ref[np.ndarray]] = []
    alive: list[int] = []

    def fresh(x: int) -> np.ndarray:
        alive.append(sum(array() is not None for array in made))
        array = np.full(200, x)  # smaller ones are taken apart
        made.append(weakref.ref(array))
        return array

    slow = LoopPolicy(probed=1, patience_s=-1.0, rows_a_look=1)  # as of elements that take long: each is a block
    batches = elements_of(hr.Dataset.range(40).map(fresh).batch(8), Way(hr.Options(), loops=slow))
    assert_same(elements_of(hr.Dataset.range(40).map(lambda x: np.full(200, x)).batch(8)), batches)
    assert max(alive) < 4


def test_what_comes_after_a_failure_lies_in_its_batch_as_well() -> None:
    slow = LoopPolicy(probed=1, patience_s=-1.0, rows_a_look=1)
    dataset = hr.Dataset.range(24).map(fail_on(3, 100)).map(lambda x: np.full(200, x)).batch(8)
    batches = [batch for batch in elements_of(dataset, Way(hr.Options(), loops=slow)) if isinstance(batch, np.ndarray)]
    assert len(batches) == 2
    for batch in batches:
        owner: Any = batch
        while isinstance(owner, np.ndarray):
            owner = owner.base
        assert isinstance(owner, reused_memory._Lease)


def test_a_batch_may_be_changed_by_whoever_gets_it() -> None:
    dataset = hr.Dataset.range(20).map(lambda x: np.full(600, x), num_parallel_calls=2).batch(5)
    for number, batch in enumerate(dataset):
        assert batch[:, 0].tolist() == list(range(5 * number, 5 * number + 5))
        batch[:] = -1


def test_the_memory_of_a_last_batch_that_is_not_whole_waits_for_no_garbage_collection() -> None:
    def leases() -> int:
        return sum(type(thing) is reused_memory._Lease for thing in gc.get_objects())

    gc.collect()
    before = leases()
    gc.disable()
    try:
        ds = hr.Dataset.range(10).map(lambda x: np.full(100, x), num_parallel_calls=2).batch(4)
        assert [len(batch) for batch in ds] == [4, 4, 2]
        assert leases() == before
    finally:
        gc.enable()
