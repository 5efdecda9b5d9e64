"""The state of a job in shards, one for each stream."""

from __future__ import annotations

import json

import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError


def dealt(rank: int, ranks: int, *, batch: int = 8, length: int = 100) -> hr.DatasetIterator:
    """A plan that runs once per stream."""
    ds = hr.Dataset.range(length).filter(lambda x: x % 5 != 0).repeat().distributed_batch(batch)
    return iter(ds.with_options(hr.Options(rank=rank, world_size=ranks, seed=1)))


def whole(rank: int, ranks: int) -> hr.DatasetIterator:
    """A plan that every rank reads whole."""
    return iter(
        hr.Dataset.range(100)
        .shuffle(100, seed=1)
        .distributed_batch(8)
        .with_options(hr.Options(rank=rank, world_size=ranks))
    )


def test_a_rank_saves_the_streams_that_it_reads_under_the_same_keys_before_and_after_the_first_step() -> None:
    with dealt(1, 4) as iterator:
        sharded = hr.ShardedState(iterator)
        assert list(sharded.state_dict()) == ["stream_1", "stream_5"]
        next(iterator)
        assert list(sharded.state_dict()) == ["stream_1", "stream_5"]
    with whole(1, 4) as iterator:
        sharded = hr.ShardedState(iterator)
        assert list(sharded.state_dict()) == ["stream_all"]
        next(iterator)
        assert list(sharded.state_dict()) == ["stream_all"]


def test_what_all_ranks_read_whole_is_loaded_from_any_of_them() -> None:
    shards = []
    for rank in range(4):
        with whole(rank, 4) as iterator:
            next(iterator)
            shards.append(hr.ShardedState(iterator).state_dict())
    with whole(0, 2) as undisturbed:
        next(undisturbed)
        expected = next(undisturbed)
    for shard in shards:
        with whole(0, 2) as iterator:
            hr.ShardedState(iterator).load_state_dict(shard)
            assert next(iterator).tolist() == expected.tolist()


def test_the_shards_of_one_step_are_loaded_and_no_others() -> None:
    with dealt(0, 2) as iterator, dealt(1, 2) as other:
        next(iterator)
        own = hr.ShardedState(iterator).state_dict()
        further = hr.ShardedState(other)
        with dealt(0, 1) as alone:
            with pytest.raises(InvalidArgumentError, match="saved at step 1, and another at step 0"):
                hr.ShardedState(alone).load_state_dict(own | further.state_dict())
            with pytest.raises(InvalidArgumentError, match="no streams 1, 3, 5, 7"):
                hr.ShardedState(alone).load_state_dict(own)
            next(other)
            hr.ShardedState(alone).load_state_dict(own | further.state_dict())
            assert next(alone).tolist()[::2] == next(iterator).tolist()


def test_what_is_no_shard_is_refused() -> None:
    with dealt(0, 1) as iterator:
        sharded = hr.ShardedState(iterator)
        saved = sharded.state_dict()
        with pytest.raises(InvalidArgumentError, match="no state of a ShardedState"):
            sharded.load_state_dict({})
        with pytest.raises(InvalidArgumentError, match="a shard is damaged"):
            sharded.load_state_dict(saved | {"stream_3": saved["stream_3"][:-5]})
        with pytest.raises(InvalidArgumentError, match="damaged"):
            sharded.load_state_dict(saved | {"stream_3": saved["stream_3"].replace('"step": 0', '"step": 1')})
        with pytest.raises(InvalidArgumentError, match="it holds a list"):
            sharded.load_state_dict(saved | {"stream_3": json.dumps([1])})
    holding = hr.Dataset.range(8).distributed_batch(4).window(2)
    with iter(holding) as iterator, pytest.raises(InvalidArgumentError, match="window"):
        hr.ShardedState(iterator).state_dict()
    with iter(hr.Dataset.range(3)) as iterator, pytest.raises(InvalidArgumentError, match="distributed_batch"):
        hr.ShardedState(iterator).state_dict()


def test_a_shard_is_a_few_hundred_bytes() -> None:
    with dealt(0, 1, batch=64, length=1000) as iterator:
        next(iterator)
        shards = hr.ShardedState(iterator).state_dict()
    assert len(shards) == 64
    assert max(map(len, shards.values())) < 2_000


def test_what_may_change_on_purpose_is_named_where_the_state_is_made() -> None:
    def of(batch: int) -> hr.DatasetIterator:
        return iter(hr.Dataset.range(96).filter(lambda x: x % 5 != 0).distributed_batch(batch, num_streams=4, steps=4))

    with of(4) as iterator:
        expected = [x for batch in iterator for x in batch.tolist()]
    with of(4) as iterator:
        batches = [next(iterator), next(iterator)]
        saved = hr.ShardedState(iterator).state_dict()
    with of(8) as iterator:
        with pytest.raises(InvalidArgumentError, match="batch_size"):
            hr.ShardedState(iterator).load_state_dict(saved)
        hr.ShardedState(iterator, allow={"batch_size"}).load_state_dict(saved)
        assert [x for batch in batches for x in batch.tolist()] + next(iterator).tolist() == expected
