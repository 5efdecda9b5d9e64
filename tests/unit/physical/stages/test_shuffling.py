"""Which orders a shuffle gives: in which epoch, with which seed."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr

data = hr.Dataset
BOTH = pytest.mark.parametrize("executor", ["thread", "inline"])


def given_by(dataset: hr.Dataset, executor: str = "thread") -> list[Any]:
    return list(dataset.with_options(hr.Options(executor=executor)))


@BOTH
def test_a_seeded_shuffle_has_the_same_sequence_of_epochs_in_every_program(executor: str) -> None:
    one, other = data.range(20).shuffle(7, seed=3), data.range(20).shuffle(7, seed=3)
    epochs = [given_by(one, executor) for _ in range(3)]
    assert epochs == [given_by(other, executor) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]


@BOTH
def test_without_reshuffling_every_epoch_is_the_same_also_without_a_seed(executor: str) -> None:
    orders = []
    for seed in (5, None, None):
        dataset = data.range(20).shuffle(20, seed=seed, reshuffle_each_iteration=False)
        orders.append(given_by(dataset, executor))
        assert orders[-1] == given_by(dataset, executor) != list(range(20))
        twice = given_by(dataset.repeat(2), executor)
        assert twice[:20] == twice[20:] == orders[-1]
    assert orders[1] != orders[2]


@BOTH
def test_repeat_behind_a_shuffle_keeps_epochs_apart_and_reshuffles(executor: str) -> None:
    thrice = given_by(data.range(10).shuffle(10, seed=1).repeat(3), executor)
    turns = [thrice[:10], thrice[10:20], thrice[20:]]
    assert all(sorted(turn) == list(range(10)) for turn in turns)
    assert turns[0] != turns[1] != turns[2]


def test_seeds_of_options_make_unseeded_operations_reproducible() -> None:
    def build(seed: int) -> hr.Dataset:
        nested = data.range(8).shuffle(8).flat_map(lambda x: data.range(3).shuffle(3))
        return data.zip(nested, data.random()).with_options(hr.Options(seed=seed))

    assert list(build(1)) == list(build(1)) != list(build(2))


def test_random_numbers_are_the_same_in_every_epoch_unless_told_otherwise() -> None:
    for seed in (None, 1):
        stable = data.random(seed).take(5)
        assert list(stable) == list(stable)
        fresh = data.random(seed, rerandomize_each_iteration=True).take(5)
        assert list(fresh) != list(fresh)
    assert list(data.random(1).take(5)) != list(data.random(2).take(5))
    assert list(data.random().take(5)) != list(data.random().take(5))
