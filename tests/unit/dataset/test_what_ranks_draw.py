"""What is random behind ``distributed_batch``: numbers of each rank's own for its batches, and one order for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as hr

executors = pytest.mark.parametrize("executor", ["thread", "inline"])


def noise(rng: np.random.Generator, batch: Any) -> np.ndarray:
    return rng.integers(1 << 30, size=len(batch))


def of_rank(dataset: hr.Dataset, rank: int, ranks: int, executor: str) -> list[Any]:
    options = hr.Options(rank=rank, world_size=ranks, seed=3, executor=executor)
    return [np.asarray(batch).tolist() for batch in dataset.with_options(options)]


def numbered(*, whole: bool) -> hr.Dataset:
    numbers = hr.Dataset.range(24)
    return numbers if whole else numbers.filter(lambda _: True)


@executors
@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("whole", [True, False])
def test_ranks_draw_numbers_of_their_own_for_their_batches(whole: bool, calls: int | None, executor: str) -> None:
    dealt = numbered(whole=whole).distributed_batch(8, num_streams=4, steps=3)
    drawn = [of_rank(dealt.random_map(noise, num_parallel_calls=calls), rank, 4, executor) for rank in range(4)]
    numbers = [number for batches in drawn for batch in batches for number in batch]
    assert len(set(numbers)) == len(numbers) == 24
    # A rank has the numbers of its first stream, however many ranks there are.
    assert [batch[:2] for batch in of_rank(dealt.random_map(noise), 1, 2, executor)] == drawn[1]


@executors
def test_a_plan_that_a_function_opens_for_a_batch_draws_numbers_of_the_ranks_own(executor: str) -> None:
    def opened(batch: np.ndarray) -> hr.Dataset:
        return hr.Dataset.from_tensor_slices(batch).batch(4).random_map(noise, seed=5)

    dealt = numbered(whole=True).distributed_batch(8, num_streams=4).flat_map(opened)
    assert of_rank(dealt, 0, 2, executor) != of_rank(dealt, 1, 2, executor)


@executors
def test_what_is_kept_for_all_ranks_is_drawn_alike(executor: str) -> None:
    def of_process(rank: int, ranks: int, *, behind: bool) -> list[Any]:
        kept = hr.Dataset.from_tensor_slices([1, 2, 3, 4]).batch(4).random_map(noise, seed=5).cache()
        numbers = numbered(whole=False)
        if behind:
            return of_rank(
                numbers.distributed_batch(8, num_streams=4, steps=2).flat_map(lambda _: kept), rank, ranks, executor
            )
        return of_rank(
            numbers.flat_map(lambda _: kept).distributed_batch(8, num_streams=4, steps=2), rank, ranks, executor
        )

    assert of_process(0, 2, behind=True) == of_process(1, 2, behind=True)
    assert [batch[1::2] for batch in of_process(0, 1, behind=False)] == of_process(1, 2, behind=False)


@executors
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_drawn_before_the_dealing_is_the_same_on_any_number_of_ranks(whole: bool, executor: str) -> None:
    def drawn(rng: np.random.Generator, x: int) -> int:
        return int(x) * 1_000 + int(rng.integers(1_000))

    dealt = numbered(whole=whole).random_map(drawn).distributed_batch(8, num_streams=4, steps=3)
    parts = [of_rank(dealt, rank, 4, executor) for rank in range(4)]
    rows = [row for step in zip(*parts, strict=True) for places in zip(*step, strict=True) for row in places]
    assert rows == [row for batch in of_rank(dealt, 0, 1, executor) for row in batch]


@executors
def test_ranks_shuffle_their_batches_in_one_order(executor: str) -> None:
    dealt = numbered(whole=True).distributed_batch(4, num_streams=4).shuffle(6)
    steps = [[batch[0] // 4 for batch in of_rank(dealt, rank, 4, executor)] for rank in range(4)]
    assert steps == [steps[0]] * 4
    assert steps[0] != sorted(steps[0])
