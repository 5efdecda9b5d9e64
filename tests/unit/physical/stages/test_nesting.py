"""Datasets that functions make of elements: what is made at once, what is joined, and how far is read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.laws.jumping import Jumps, jumping

import headrace as hr
from headrace.blocks.block import Block, Failure
from headrace.engine import Run
from headrace.physical.pace import Pace
from headrace.physical.stages.nesting_openers import NestingPaces
from headrace.plan.options import Options
from headrace.semantics.run_context import Seeds
from headrace.testing import check_every_restore_point


def pulled(ds: hr.Dataset, limit: int) -> Iterator[Block | Failure]:
    plan = ds.__headrace_plan__()
    run = Run(plan, Options(optimize=False), seeds=Seeds.of(plan, seed=1, entropy=1), epoch=0)
    run.open(None)
    try:
        while (item := run.pull(limit)) is not None:
            yield item
    finally:
        run.close()


def with_known_costs(ds: hr.Dataset, limit: int = 1_000) -> list[Block | Failure]:
    """What comes once the stages have measured that elements cost little."""
    return list(pulled(ds, limit))[8:]


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: hr.Dataset.range(x, x + 3),
        lambda x: hr.Dataset.from_tensor_slices({"a": np.arange(3), "b": np.zeros((3, 2))}),
        lambda x: hr.Dataset.range(6).map(lambda y: x + y).filter(lambda y: y % 2 == 0).batch(2),
        lambda x: hr.Dataset.from_generator(lambda: iter(range(3))),
    ],
    ids=["range", "slices", "functions", "a generator"],
)
@pytest.mark.parametrize("cycle_length", [1, 4])
def test_many_small_datasets_are_one_block(inner: object, cycle_length: int) -> None:
    blocks = with_known_costs(hr.Dataset.range(4_000).interleave(inner, cycle_length=cycle_length))  # type: ignore[arg-type]  # each is a function
    assert blocks
    assert max(len(block) for block in blocks if isinstance(block, Block)) > 6


def test_a_large_dataset_is_joined_to_nothing() -> None:
    rows = np.zeros((4, 100_000))
    blocks = list(pulled(hr.Dataset.range(20).flat_map(lambda _: hr.Dataset.from_tensor_slices(rows)), 1_000))
    elements = [row for block in blocks if isinstance(block, Block) for row in block.payload.rows()]
    assert len(elements) == 80
    assert all(np.shares_memory(row, rows) for row in elements)


def test_a_function_inside_is_called_for_no_more_elements_than_are_asked_for() -> None:
    called: list[int] = []

    def noted(number: int) -> int:
        called.append(number)
        return number

    with iter(hr.Dataset.range(3).flat_map(lambda _: hr.Dataset.range(1_000).map(noted))) as iterator:
        next(iterator)
        assert called == [0]


def test_what_is_ready_waits_for_no_element_that_is_still_to_be_read() -> None:
    read: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    with iter(hr.Dataset.from_generator(numbers).flat_map(lambda x: hr.Dataset.range(10))) as iterator:
        next(iterator)
        assert read == [0]


def test_the_counts_of_operations_inside_are_those_of_all_datasets() -> None:
    ds = hr.Dataset.range(50).flat_map(lambda x: hr.Dataset.range(4, name="numbers").map(abs, name="abs").batch(3))
    with iter(ds) as iterator:
        assert len(list(iterator)) == 100
        counts = {stage.name.split()[-1].strip("'"): stage.elements for stage in iterator.stats().stages}
    assert (counts["numbers"], counts["abs"], counts["batch"]) == (200, 200, 100)


def test_a_failure_inside_names_its_element_and_takes_no_other() -> None:
    def fails_on_two(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return number

    items = list(pulled(hr.Dataset.range(40).flat_map(lambda x: hr.Dataset.range(4).map(fails_on_two)), 1_000))
    failures = [item.error.origin for item in items if isinstance(item, Failure)]
    assert failures == [f"element 2 of element {index}" for index in range(40)]
    assert sum(len(item) for item in items if isinstance(item, Block)) == 120


def test_datasets_of_stages_that_begin_in_no_time_make_room_until_they_are_made_at_once() -> None:
    paces = NestingPaces(Pace)
    before = paces.room
    for _ in range(3):  # as of batches, of which fewer come out than functions are called on elements
        paces.begun(1e-5, at_once=False)
    assert paces.room == 8 * before
    paces.begun(1e-5, at_once=True)
    assert paces.room == 8 * before
    for _ in range(20):
        paces.begun(1e-5, at_once=False)
    most = paces.room
    assert most <= 64 * before
    paces.begun(1e-3, at_once=True)
    assert paces.room == most // 2
    for _ in range(20):
        paces.begun(1e-3, at_once=False)
    assert paces.room == before


@pytest.mark.parametrize("datasets", [1, 3, 7])
@pytest.mark.parametrize("block_length", [1, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_slots_that_no_dataset_fills_any_more_cut_no_run(datasets: int, block_length: int, whole: bool) -> None:
    def inner(x: int) -> hr.Dataset:
        numbers = hr.Dataset.range(10_000 * x, 10_000 * x + 3_000)
        return numbers if whole else hr.Dataset.from_generator(lambda: iter(numbers))

    ds = hr.Dataset.range(datasets).interleave(inner, cycle_length=5, block_length=block_length)
    blocks = list(pulled(ds, 2_000))
    assert len(blocks) < 3_000 * datasets / 20
    given = [row for block in blocks if isinstance(block, Block) for row in block.payload.rows()]
    assert given == list(ds.with_options(Options(executor="inline")))


def test_a_state_between_datasets_that_took_long_has_none_open_that_is_still_to_be_opened() -> None:
    dataset = hr.Dataset.range(12).flat_map(lambda x: hr.Dataset.range(x, x + 2))
    dealt = dataset.distributed_batch(4, num_streams=2).with_options(hr.Options(rank=0, world_size=1, seed=7))
    with jumping(Jumps(seed=0, share=1.0)):  # so that each dataset is a block of its own, of which several are joined
        assert check_every_restore_point(dealt) == 7
