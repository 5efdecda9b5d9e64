"""How many elements a plan has, as far as that is known without running it; as TensorFlow 2.21 answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import headrace as hr

data = hr.Dataset
UNKNOWN, INFINITE = hr.UNKNOWN_CARDINALITY, hr.INFINITE_CARDINALITY
TEN = data.range(10)
UNKNOWN_FIVE = data.range(5).filter(lambda x: True)
ENDLESS = data.range(5).repeat()


def two(x: int) -> hr.Dataset:
    return data.range(2)


CASES: dict[str, tuple[Callable[[], hr.Dataset], int]] = {
    "tensors": (lambda: data.from_tensors(3), 1),
    "slices": (lambda: data.from_tensor_slices([1, 2]), 2),
    "no slices": (lambda: data.from_tensor_slices([]), 0),
    "range": (lambda: data.range(1, 10, 4), 3),
    "range backwards": (lambda: data.range(10, 0, -3), 4),
    "counter": (data.counter, INFINITE),
    "counter that stands": (lambda: data.counter(0, 0), INFINITE),
    "random": (data.random, INFINITE),
    "generator": (lambda: data.from_generator(lambda: iter([])), UNKNOWN),
    "text": (lambda: hr.TextLineDataset("absent"), UNKNOWN),
    "csv": (lambda: hr.CsvDataset("absent", [1]), UNKNOWN),
    "map": (lambda: TEN.map(abs, num_parallel_calls=2), 10),
    "filter": (lambda: TEN.filter(bool), UNKNOWN),
    "filter of nothing": (lambda: data.range(0).filter(bool), UNKNOWN),
    "filter of the endless": (lambda: ENDLESS.filter(bool), UNKNOWN),
    "enumerate": (TEN.enumerate, 10),
    "flat_map": (lambda: TEN.flat_map(two), UNKNOWN),
    "flat_map of nothing": (lambda: data.range(0).flat_map(two), UNKNOWN),
    "interleave of the endless": (lambda: ENDLESS.interleave(two), UNKNOWN),
    "parallel interleave of the endless": (lambda: ENDLESS.interleave(two, num_parallel_calls=1), INFINITE),
    "parallel interleave": (lambda: TEN.interleave(two, num_parallel_calls=hr.AUTOTUNE), UNKNOWN),
    "flat_map of the endless": (lambda: ENDLESS.flat_map(two), UNKNOWN),
    "groups of the endless": (lambda: ENDLESS.group_by_window(abs, lambda key, group: group, 2), INFINITE),
    "groups": (lambda: TEN.group_by_window(abs, lambda key, group: group, 2), UNKNOWN),
    "groups of nothing": (lambda: data.range(0).group_by_window(abs, lambda key, group: group, 2), UNKNOWN),
    "buckets of the endless": (lambda: ENDLESS.bucket_by_sequence_length(len, [3], [2, 2]), INFINITE),
    "buckets": (lambda: TEN.bucket_by_sequence_length(len, [3], [2, 2]), UNKNOWN),
    "batch": (lambda: TEN.batch(4), 3),
    "whole batches": (lambda: TEN.batch(4, drop_remainder=True), 2),
    "batch of the endless": (lambda: ENDLESS.batch(3), INFINITE),
    "batch of the unknown": (lambda: UNKNOWN_FIVE.batch(3), UNKNOWN),
    "unbatch of a known length": (lambda: data.range(4).batch(2, drop_remainder=True).unbatch(), 4),
    "unbatch of an unknown length": (lambda: data.range(4).batch(2).unbatch(), UNKNOWN),
    "unbatch of the endless": (lambda: data.range(4).batch(2).repeat().unbatch(), INFINITE),
    "shuffle": (lambda: TEN.shuffle(3), 10),
    "repeat": (lambda: TEN.repeat(3), 30),
    "repeat without end": (TEN.repeat, INFINITE),
    "repeat none": (lambda: UNKNOWN_FIVE.repeat(0), 0),
    "repeat nothing without end": (lambda: data.range(0).repeat(), 0),
    "repeat the unknown without end": (UNKNOWN_FIVE.repeat, INFINITE),
    "repeat the unknown": (lambda: UNKNOWN_FIVE.repeat(2), UNKNOWN),
    "repeat the endless": (lambda: ENDLESS.repeat(2), INFINITE),
    "take": (lambda: TEN.take(3), 3),
    "take more": (lambda: TEN.take(30), 10),
    "take all": (lambda: TEN.take(-1), 10),
    "take of the endless": (lambda: ENDLESS.take(2), 2),
    "take all of the endless": (lambda: ENDLESS.take(-1), INFINITE),
    "take of the unknown": (lambda: UNKNOWN_FIVE.take(2), UNKNOWN),
    "take none of the unknown": (lambda: UNKNOWN_FIVE.take(0), UNKNOWN),
    "skip": (lambda: TEN.skip(3), 7),
    "skip more": (lambda: TEN.skip(30), 0),
    "skip all": (lambda: TEN.skip(-1), 0),
    "skip all of the endless": (lambda: ENDLESS.skip(-1), INFINITE),
    "skip of the unknown": (lambda: UNKNOWN_FIVE.skip(2), UNKNOWN),
    "shard": (lambda: TEN.shard(3, 0), 4),
    "another shard": (lambda: TEN.shard(3, 1), 3),
    "shard of the endless": (lambda: ENDLESS.shard(2, 0), INFINITE),
    "shard of the unknown": (lambda: UNKNOWN_FIVE.shard(2, 0), UNKNOWN),
    "zip": (lambda: data.zip(TEN, data.range(3)), 3),
    "zip with the endless": (lambda: data.zip(TEN, ENDLESS), 10),
    "zip of the endless": (lambda: data.zip(ENDLESS, ENDLESS), INFINITE),
    "zip of the unknown with nothing": (lambda: data.zip(UNKNOWN_FIVE, data.range(0)), UNKNOWN),
    "zip of the unknown with the endless": (lambda: data.zip(UNKNOWN_FIVE, ENDLESS), UNKNOWN),
    "concatenate": (lambda: TEN.concatenate(TEN), 20),
    "concatenate the endless with the unknown": (lambda: ENDLESS.concatenate(UNKNOWN_FIVE), INFINITE),
    "concatenate the unknown with the endless": (lambda: UNKNOWN_FIVE.concatenate(ENDLESS), INFINITE),
    "concatenate the unknown": (lambda: UNKNOWN_FIVE.concatenate(TEN), UNKNOWN),
    "cache": (TEN.cache, 10),
    "prefetch": (lambda: UNKNOWN_FIVE.prefetch(2), UNKNOWN),
    "with_options": (lambda: TEN.with_options(hr.Options()), 10),
    "apply": (lambda: TEN.apply(lambda ds: ds.take(2)), 2),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_plan_knows_how_many_elements_it_has(case: str) -> None:
    build, expected = CASES[case]
    assert build().cardinality() == expected
    if expected >= 0:
        assert len(build()) == expected
    else:
        with pytest.raises(TypeError, match="infinite" if expected == INFINITE else "unknown"):
            len(build())
