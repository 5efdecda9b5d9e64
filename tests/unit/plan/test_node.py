"""What a plan's nodes promise: they are frozen and valid, and say what they are."""

from __future__ import annotations

import dataclasses
import functools
from collections import abc
from pathlib import Path

import pytest

import headrace as hr
from headrace.plan.node import Node, function_name, function_place, nodes_of, plan_of

HERE = Path(__file__).name
TEN = hr.Dataset.range(10)


def named(x: int) -> int:
    return x


class Callable:
    def __call__(self, x: int) -> int:
        return x

    def method(self, x: int) -> int:
        return x


def labels(dataset: hr.Dataset) -> list[str]:
    return [node.label for node in nodes_of(dataset.__headrace_plan__())]


def test_nodes_come_sources_first() -> None:
    other = hr.Dataset.range(3).skip(1)
    assert labels(hr.Dataset.zip(TEN.take(5), other).batch(2)) == ["range", "take", "range", "skip", "zip", "batch"]


def test_a_node_is_called_by_its_operation_its_name_and_its_functions_place() -> None:
    def local(x: int) -> int:
        return x

    def label(function: object, name: str | None = None) -> str:
        return labels(TEN.map(function, name=name))[-1]  # type: ignore[arg-type]  # any callable

    line = named.__code__.co_firstlineno
    assert label(named) == f"map 'named' ({HERE}:{line})"
    assert label(named, "decode") == f"map 'decode' ({HERE}:{line})"
    assert label(functools.partial(named)) == f"map 'named' ({HERE}:{line})"
    assert label(local) == f"map 'local' ({HERE}:{local.__code__.co_firstlineno})"
    assert label(abs) == "map 'abs'"
    assert label(Callable()) == f"map 'Callable' ({HERE}:{Callable.__call__.__code__.co_firstlineno})"
    assert label(Callable().method) == f"map 'Callable.method' ({HERE}:{Callable.method.__code__.co_firstlineno})"
    assert labels(TEN.batch(2, name="steps"))[-1] == "batch 'steps'"


def test_functions_of_every_kind_have_a_name() -> None:
    assert function_name(lambda x: x) == "<lambda>"
    assert function_name(int.from_bytes) == "int.from_bytes"
    assert function_place(len) is None


def test_a_node_is_frozen_and_goes_into_a_new_one_with_other_inputs() -> None:
    plan = TEN.batch(2).__headrace_plan__()
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.batch_size = 3  # type: ignore[attr-defined]  # what is tested
    (source,) = plan.inputs
    assert plan.with_inputs((source,)) is plan
    other = hr.Dataset.range(3).__headrace_plan__()
    assert plan.with_inputs((other,)).inputs == (other,)


def test_sources_are_those_that_read_nothing() -> None:
    waiting: list[type[Node]] = [Node]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        assert kind.is_source is (kind.inputs is Node.inputs), kind


def all_nodes() -> list[Node]:
    whole = hr.Dataset.zip(TEN.map(named).filter(bool).batch(2).unbatch().shuffle(2).repeat(2).enumerate(), TEN.skip(1))
    whole = whole.flat_map(lambda *x: TEN).interleave(lambda x: TEN).take(3).shard(2, 0).cache().prefetch(1)
    return list(nodes_of(whole.concatenate(whole).with_options(hr.Options()).__headrace_plan__()))


def test_the_same_inputs_give_the_very_same_node() -> None:
    for node in all_nodes():
        assert node.with_inputs(node.inputs) is node


def test_only_a_dataset_has_a_plan() -> None:
    assert plan_of(TEN) is TEN.__headrace_plan__()
    assert plan_of([1]) is None
    with pytest.raises(hr.errors.DataError, match=r"TypeError: the function must return a Dataset, but returned list$"):
        list(TEN.flat_map(lambda n: [n]))


@pytest.mark.parametrize("start", [(1 << 62) + 1, 1 << 63, -(1 << 63) - 1])
def test_an_enumerate_that_could_not_count_in_64_bits_is_refused(start: int) -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"enumerate: start must be from .* fit int64"):
        hr.Dataset.range(1).enumerate(start)


PICKS: dict[str, abc.Callable[[hr.Dataset], hr.Dataset]] = {
    "skip": lambda ds: ds.skip(1),
    "skip more than there are numbers": lambda ds: ds.skip(1 << 70),
    "shard": lambda ds: ds.shard(2, 1),
    "of more shards than there are numbers": lambda ds: ds.shard(1 << 70, 1),
    "a shard after all numbers": lambda ds: ds.shard(1 << 64, 1 << 63),
    "take more than there are numbers": lambda ds: ds.take(1 << 70),
}


@pytest.mark.parametrize("start", [0, 1 << 62])
@pytest.mark.parametrize("pick", PICKS)
def test_numbers_of_64_bits_are_the_same_by_number_and_one_by_one(pick: str, start: int) -> None:
    dataset = PICKS[pick](hr.Dataset.source("abcd").enumerate(start))
    reference = list(dataset.with_options(hr.Options(executor="inline", optimize=False)))
    assert list(dataset) == reference
    assert [dataset[index] for index in range(len(reference))] == reference
