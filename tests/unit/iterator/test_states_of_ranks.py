"""What stands behind ``distributed_batch``: which states of ranks can be merged, and what is said of those that cannot."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr

STREAMS = 4


def filtered() -> hr.Dataset:
    return hr.Dataset.range(100).filter(lambda x: x % 3 > 0)


def dealt(steps: int = 6) -> hr.Dataset:
    return filtered().distributed_batch(8, num_streams=STREAMS, steps=steps)


def long(steps: int = 40) -> hr.Dataset:
    return filtered().repeat(9).distributed_batch(8, num_streams=STREAMS, steps=steps)


def of_ranks(dataset: hr.Dataset, ranks: int, **options: Any) -> list[hr.DatasetIterator]:
    return [
        iter(dataset.with_options(hr.Options(rank=rank, world_size=ranks, seed=7, **options))) for rank in range(ranks)
    ]


def batches(iterators: list[hr.DatasetIterator], steps: int | None = None) -> list[list[str]]:
    """Returns the rows of global batches, put together of those of all ranks."""
    given = []
    for _ in itertools.count() if steps is None else range(steps):
        parts = [next(iterator, None) for iterator in iterators]
        if parts[0] is None:
            break
        given.append([str(row) for rows in zip(*parts, strict=True) for row in rows])
    return given


def merged(iterators: list[hr.DatasetIterator], **options: Any) -> dict[str, Any]:
    states = [json.loads(json.dumps(iterator.state_dict())) for iterator in iterators]
    return hr.merge_states(states, **options)


BEHIND: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "map": lambda ds: ds.map(lambda batch: batch + 1),
    "parallel map": lambda ds: ds.map(lambda batch: batch + 1, num_parallel_calls=2),
    "unordered map": lambda ds: ds.map(lambda batch: batch + 1, num_parallel_calls=2, deterministic=False),
    "prefetch": lambda ds: ds.prefetch(2),
    "filter": lambda ds: ds.filter(lambda _: True),
    "take": lambda ds: ds.take(5),
    "skip": lambda ds: ds.skip(1),
    "enumerate": lambda ds: ds.enumerate().map(lambda step, batch: batch * step),
    "repeat": lambda ds: ds.repeat(2),
    "batch": lambda ds: ds.batch(2).map(lambda batch: batch.T),
}


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_what_goes_from_batch_to_batch_goes_on_with_any_number_of_ranks(
    behind: Callable[[hr.Dataset], hr.Dataset], executor: str
) -> None:
    dataset = behind(dealt(4))
    whole = batches(of_ranks(dataset, 2, executor=executor))
    for stop, ranks in itertools.product(range(len(whole)), (1, 4)):
        before = of_ranks(dataset, 2, executor=executor)
        assert batches(before, stop) == whole[:stop]
        after = of_ranks(dataset, ranks, executor=executor)
        for iterator in after:
            iterator.load_state_dict(merged(before))
        joined = [sorted(batch) for batch in batches(after)]
        assert joined == [sorted(batch) for batch in whole[stop:]]


HOLDING: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "shuffle": lambda ds: ds.shuffle(3),
    "flat_map": lambda ds: ds.flat_map(lambda batch: hr.Dataset.from_tensors(batch).repeat(2)),
    "zip": lambda ds: hr.Dataset.zip((hr.Dataset.counter(), ds)).map(lambda _, batch: batch),
    "shard": lambda ds: ds.shard(2, 0),
    "concatenate": lambda ds: ds.concatenate(filtered().distributed_batch(4, num_streams=2, steps=3)),
}


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize(("operation", "behind"), HOLDING.items(), ids=HOLDING)
def test_what_holds_batches_of_a_rank_goes_on_as_that_rank_alone(
    operation: str, behind: Callable[[hr.Dataset], hr.Dataset], executor: str
) -> None:
    whole = batches(of_ranks(behind(dealt()), 2, executor=executor))
    for stop in range(len(whole)):
        before = of_ranks(behind(dealt()), 2, executor=executor)
        batches(before, stop)
        states = [json.loads(json.dumps(iterator.state_dict())) for iterator in before]
        with pytest.raises(hr.errors.InvalidArgumentError, match=f"{operation}.*, behind distributed_batch, holds"):
            hr.merge_states(states)
        after = of_ranks(behind(dealt()), 2, executor=executor)
        for iterator, state in zip(after, states, strict=True):
            iterator.load_state_dict(state)
        assert batches(after) == whole[stop:]
        (alone,) = of_ranks(behind(dealt()), 1)
        with pytest.raises(hr.errors.InvalidArgumentError, match=f"this is rank 0 of 1: {operation}"):
            alone.load_state_dict(states[1])


def test_a_cache_of_a_ranks_batches_is_refused() -> None:
    cached = dealt().cache()
    assert len(list(cached)) == 6
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"cache: behind distributed_batch .* put it before"):
        of_ranks(cached.map(lambda batch: batch), 2)


def test_ranks_some_steps_apart_go_on_from_the_lowest() -> None:
    whole = batches(of_ranks(dealt(), 1))
    before = of_ranks(dealt(), 2)
    batches(before, 1)
    for _ in range(4):
        next(before[1])
    with pytest.raises(hr.errors.InvalidArgumentError, match="state 1 was saved at step 5, and another at step 1"):
        merged(before)
    after = of_ranks(dealt(), 4)
    for iterator in after:
        iterator.load_state_dict(merged(before, align=True))
    assert batches(after) == whole[1:]


def test_ranks_that_went_on_from_others_some_steps_apart_may_be_some_steps_apart_again() -> None:
    whole = batches(of_ranks(dealt(), 1))
    ranks = of_ranks(dealt(), 2)
    batches(ranks, 1)
    batches(ranks[1:], 2)
    for number in (4, 2, 1):
        state = merged(ranks, align=True)
        ranks = of_ranks(dealt(), number)
        for iterator in ranks:
            iterator.load_state_dict(state)
        if number > 1:
            batches(ranks, 1)  # few, so that the others go back to where their streams read some again
            batches(ranks[1:], 2)
    assert batches(ranks) == whole[3:]


def test_ranks_in_different_turns_of_a_repeat_are_told_apart() -> None:
    def build() -> hr.Dataset:
        return dealt(3).repeat(9)

    whole = batches(of_ranks(build(), 1))
    before = of_ranks(build(), 2)
    batches(before, 2)
    batches(before[1:], 2)
    with pytest.raises(hr.errors.InvalidArgumentError, match="at step 1 of turn 1 of repeat, and another at step 2: "):
        merged(before)
    after = of_ranks(build(), 4)
    for iterator in after:
        iterator.load_state_dict(merged(before, align=True))
    assert batches(after) == whole[2:]


def test_ranks_that_are_a_turn_of_a_repeat_apart_go_on_from_the_lowest() -> None:
    def build() -> hr.Dataset:
        return dealt(3).repeat(3).repeat(9)

    whole = batches(of_ranks(build(), 1), 30)
    for lowest, more in [(2, 2), (4, 3), (3, 1), (8, 6), (9, 1), (11, 8)]:
        before = of_ranks(build(), 2)
        batches(before, lowest)
        batches(before[1:], more)
        state = merged(before, align=True)
        for number in (4, 1):
            after = of_ranks(build(), number)
            for iterator in after:
                iterator.load_state_dict(state)
            assert batches(after, 9) == whole[lowest : lowest + 9]


def test_ranks_that_run_inline_go_on_from_the_lowest() -> None:
    whole = batches(of_ranks(long(), 1))
    for executors in (("inline", "inline"), ("thread", "inline"), ("inline", "thread")):
        for lowest, more in [(1, 1), (2, 5), (9, 4), (11, 5), (12, 5)]:
            before = [of_ranks(long(), 2, executor=executor)[rank] for rank, executor in enumerate(executors)]
            batches(before, lowest)
            batches(before[1:], more)
            after = of_ranks(long(), 4, executor=executors[0])
            state = merged(before, align=True)
            for iterator in after:
                iterator.load_state_dict(state)
            assert batches(after, 3) == whole[lowest : lowest + 3]


@pytest.mark.parametrize("whole", [hr.Dataset.range(10), hr.Dataset.range(10).filter(lambda _: True)])
@pytest.mark.parametrize("asks_all", [True, False])
def test_ranks_of_an_uneven_end_are_merged_where_some_have_more_steps(whole: hr.Dataset, asks_all: bool) -> None:
    def build() -> hr.Dataset:
        return whole.distributed_batch(4, num_streams=4, end="uneven")

    before = of_ranks(build(), 4)
    counts = [
        len([batch for _ in range(4 if asks_all else 3) if (batch := next(iterator, None)) is not None])
        for iterator in before
    ]
    assert set(counts) == {2, 3}
    state = merged(before)
    assert state["step"] == 3
    feeds = [
        {"iterator": iterator.state_dict(), "ended": asks_all or steps < 3}
        for iterator, steps in zip(before, counts, strict=True)
    ]
    assert hr.merge_states(feeds) == {"iterator": state, "ended": asks_all}
    for number in (1, 2, 4):
        after = of_ranks(build(), number)
        for iterator in after:
            iterator.load_state_dict(state)
        assert [list(iterator) for iterator in after] == [[]] * number


def test_ranks_too_far_apart_say_how_far() -> None:
    before = of_ranks(long(), 2)
    batches(before, 9)
    batches(before[1:], 9)
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"at step 18 and reaches back to step 10, but another .* step 9: .*nearer"
    ):
        merged(before, align=True)
    after = of_ranks(long(), 2)
    batches(after, 1)
    batches(after[1:], 12)
    assert merged(after, align=True)["step"] == 1  # it is read from the start


def test_a_job_that_has_gone_on_with_another_global_batch_is_read_from_the_start_by_its_elements() -> None:
    def of(size: int) -> hr.Dataset:
        return filtered().repeat().distributed_batch(size, num_streams=STREAMS)

    before = of_ranks(of(8), 2)
    batches(before, 1)  # two elements of each stream, which are no batch of 12
    state = merged(before)
    alone, *ranks = of_ranks(of(12), 1) + of_ranks(of(12), 2)
    for iterator in (alone, *ranks):
        iterator.load_state_dict(state, allow={"batch_size"})
    batches(ranks[:1], 1)
    batches(ranks[1:], 2)
    ranks[1].load_state_dict(ranks[1].state_dict())  # which reaches back no further
    (after,) = of_ranks(of(12), 1)
    after.load_state_dict(merged(ranks, align=True))
    assert batches([after], 4) == batches([alone], 5)[1:]


def test_a_repeat_before_the_dealing_is_aligned_across_its_turns() -> None:
    whole = filtered().repeat(9).distributed_batch(8, num_streams=STREAMS, steps=40)
    expected = batches(of_ranks(whole, 1))
    before = of_ranks(whole, 2)
    batches(before, 7)
    batches(before[1:], 3)  # there are eight steps in a turn, more or less
    after = of_ranks(whole, 4)
    for iterator in after:
        iterator.load_state_dict(merged(before, align=True))
    assert batches(after) == expected[7:]


def test_a_state_reaches_back_over_batches_that_failed() -> None:
    def build() -> hr.Dataset:
        return filtered().map(lambda x: 1 // int(x != 19) * x).distributed_batch(4, num_streams=2, steps=9)

    def delivered(iterator: hr.DatasetIterator) -> list[Any]:
        given = []
        while True:
            try:
                given.append(next(iterator).tolist())
            except StopIteration:
                return given
            except hr.errors.DataError:
                given.append("failed")

    (alone,) = of_ranks(build(), 1)
    before = of_ranks(build(), 2)
    next(before[0])
    assert "failed" in delivered(before[1])[1:]
    (after,) = of_ranks(build(), 1)
    after.load_state_dict(merged(before, align=True))
    assert delivered(after) == delivered(alone)[1:]


def test_every_rank_counts_its_own_epochs() -> None:
    dataset = hr.Dataset.range(16).shuffle(16).distributed_batch(8, num_streams=4)
    alone = [batches(of_ranks(dataset, 1)) for _ in range(3)]
    assert len({str(epoch) for epoch in alone}) == 3
    assert [batches(of_ranks(dataset, 2)) for _ in range(3)] == alone
    (resumed,) = of_ranks(dataset, 4)[:1]
    before = of_ranks(dataset, 2)
    resumed.load_state_dict(merged(before))
    assert resumed.state_dict()["epoch"] == 3
    np.testing.assert_equal([iterator.state_dict()["epoch"] for iterator in of_ranks(dataset, 4)], [4, 1, 1, 1])


def test_a_stream_of_a_shard_read_by_number_stands_where_it_was_on_any_executor() -> None:
    def build(executor: str) -> hr.DatasetIterator:
        tail = hr.Dataset.range(4).filter(lambda x: x > 2)
        dataset = hr.Dataset.range(69).shard(3, 2).concatenate(tail).distributed_batch(4, num_streams=4)
        return iter(dataset.with_options(hr.Options(executor=executor, rank=0, world_size=1)))

    first, second = build("thread"), build("inline")
    batches([first], 2)
    second.load_state_dict(first.state_dict())
    assert batches([second], 2) == batches([first], 2)
