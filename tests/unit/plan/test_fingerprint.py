"""Which plan a state belongs to: every difference that changes elements tells, and none that only changes speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError
from headrace.plan.fingerprint import fingerprint_of

data = hr.Dataset
TEN = data.range(10)


def decode(x: int) -> int:
    return x


def augment(x: int) -> int:
    return x


def two(x: int) -> hr.Dataset:
    return data.range(2)


DIFFERENT: dict[str, Callable[[], hr.Dataset]] = {
    "range": lambda: TEN,
    "start": lambda: data.range(1, 10),
    "step": lambda: data.range(0, 10, 2),
    "dtype": lambda: data.range(10, output_type=np.int32),
    "slices": lambda: data.from_tensor_slices(np.arange(10)),
    "longer slices": lambda: data.from_tensor_slices(np.arange(11)),
    "slices of another shape": lambda: data.from_tensor_slices(np.zeros((10, 2), int)),
    "tensors": lambda: data.from_tensors(1),
    "tensors of another shape": lambda: data.from_tensors([1]),
    "random": lambda: data.random(1),
    "random with another seed": lambda: data.random(2),
    "random anew": lambda: data.random(1, rerandomize_each_iteration=True),
    "generator": lambda: data.from_generator(two),
    "signed generator": lambda: data.from_generator(two, hr.TensorSpec((), int)),
    "text": lambda: hr.TextLineDataset("a"),
    "other text": lambda: hr.TextLineDataset("b"),
    "compressed text": lambda: hr.TextLineDataset("a", "GZIP"),
    "csv": lambda: hr.CsvDataset("a", [1]),
    "csv with a header": lambda: hr.CsvDataset("a", [1], header=True),
    "csv with semicolons": lambda: hr.CsvDataset("a", [1], field_delim=";"),
    "map": lambda: TEN.map(decode),
    "another map": lambda: TEN.map(augment),
    "two maps": lambda: TEN.map(decode).map(augment),
    "two maps the other way": lambda: TEN.map(augment).map(decode),
    "filter": lambda: TEN.filter(decode),
    "enumerate": TEN.enumerate,
    "enumerate from 1": lambda: TEN.enumerate(1),
    "flat_map": lambda: TEN.flat_map(two),
    "interleave": lambda: TEN.interleave(two),
    "interleave of 2": lambda: TEN.interleave(two, cycle_length=2),
    "interleave in blocks": lambda: TEN.interleave(two, block_length=2),
    "batch": lambda: TEN.batch(2),
    "batch of 3": lambda: TEN.batch(3),
    "whole batches": lambda: TEN.batch(2, drop_remainder=True),
    "unbatch": lambda: TEN.batch(2).unbatch(),
    "shuffle": lambda: TEN.shuffle(2),
    "shuffle of 3": lambda: TEN.shuffle(3),
    "seeded shuffle": lambda: TEN.shuffle(2, seed=1),
    "another seed": lambda: TEN.shuffle(2, seed=2),
    "one order": lambda: TEN.shuffle(2, reshuffle_each_iteration=False),
    "repeat": TEN.repeat,
    "repeat 2": lambda: TEN.repeat(2),
    "take": lambda: TEN.take(2),
    "skip": lambda: TEN.skip(2),
    "shard": lambda: TEN.shard(2, 0),
    "another shard": lambda: TEN.shard(2, 1),
    "cache": TEN.cache,
    "zip": lambda: data.zip((TEN, TEN)),
    "zip of a dict": lambda: data.zip({"a": TEN, "b": TEN}),
    "zip of other names": lambda: data.zip({"a": TEN, "c": TEN}),
    "zip of zips": lambda: data.zip((data.zip((TEN, TEN)), TEN)),
    "zip to the right": lambda: data.zip((TEN, data.zip((TEN, TEN)))),
    "zip nested": lambda: data.zip(((TEN, TEN), TEN)),
    "zip of three": lambda: data.zip((TEN, TEN, TEN)),
    "concatenate": lambda: TEN.concatenate(TEN),
    "concatenate of three": lambda: TEN.concatenate(TEN).concatenate(TEN),
    "concatenate of a map": lambda: TEN.concatenate(TEN).map(abs).concatenate(TEN),
}


def test_plans_that_give_other_elements_have_other_fingerprints() -> None:
    digests = {name: fingerprint_of(build().__headrace_plan__()).digest for name, build in DIFFERENT.items()}
    by_digest: dict[str, list[str]] = {}
    for name, digest in digests.items():
        by_digest.setdefault(digest, []).append(name)
    assert [names for names in by_digest.values() if len(names) > 1] == []


def test_a_concatenation_of_concatenations_is_one_from_whichever_side_it_grew() -> None:
    from_the_left = TEN.concatenate(TEN).concatenate(TEN)
    from_the_right = TEN.concatenate(TEN.concatenate(TEN))
    plans = [dataset.__headrace_plan__() for dataset in (from_the_left, from_the_right)]
    assert [len(plan.inputs) for plan in plans] == [3, 3]
    assert fingerprint_of(plans[0]).digest == fingerprint_of(plans[1]).digest
    assert len(TEN.concatenate(TEN, name="a").concatenate(TEN, name="b").__headrace_plan__().inputs) == 2


@pytest.mark.parametrize("case", sorted(DIFFERENT))
def test_a_plan_that_was_built_again_has_the_same_fingerprint(case: str) -> None:
    one, other = (fingerprint_of(DIFFERENT[case]().__headrace_plan__()) for _ in range(2))
    assert one == other
    one.check(other.to_json())


SAME: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "prefetch": lambda ds: ds.prefetch(3),
    "options": lambda ds: ds.with_options(hr.Options(seed=3)),
    "both": lambda ds: ds.prefetch(hr.AUTOTUNE).with_options(hr.Options()).prefetch(1),
}


@pytest.mark.parametrize("case", sorted(SAME))
def test_what_only_changes_speed_does_not_tell(case: str) -> None:
    def build(faster: Callable[[hr.Dataset], hr.Dataset], calls: int | None) -> Any:
        numbers = faster(TEN).map(decode, num_parallel_calls=calls, deterministic=None if calls is None else False)
        whole = faster(data.zip((faster(numbers), TEN))).interleave(two, num_parallel_calls=calls and 2)
        return fingerprint_of(faster(whole).__headrace_plan__())

    assert build(SAME[case], 4) == build(lambda ds: ds, None)


def test_the_first_node_that_differs_is_named_from_the_source_on() -> None:
    mine = fingerprint_of(TEN.map(decode).batch(2).take(3).__headrace_plan__())
    theirs = fingerprint_of(TEN.map(decode).batch(3).take(4).__headrace_plan__())
    with pytest.raises(InvalidArgumentError, match=r"node 2 is batch\(batch_size=3.*this plan has batch\(batch_size=2"):
        mine.check(theirs.to_json())
    shorter = fingerprint_of(TEN.map(decode).__headrace_plan__())
    with pytest.raises(InvalidArgumentError, match=r"only the present one has batch"):
        mine.check(shorter.to_json())
    with pytest.raises(InvalidArgumentError, match=r"only the saved one has batch"):
        shorter.check(mine.to_json())
