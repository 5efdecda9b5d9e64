"""Epochs: every iterator over a random operation is a new one, whatever plan it stands in."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.plan.randomness import Randomness, claim_epoch, continue_after_epoch

TEN = hr.Dataset.range(10)


def test_every_iterator_is_a_new_epoch_of_all_that_is_random_in_the_plan() -> None:
    shuffled = TEN.shuffle(10, seed=1)
    plan, longer = shuffled.__headrace_plan__(), shuffled.batch(2).__headrace_plan__()
    assert [claim_epoch(plan), claim_epoch(longer), claim_epoch(plan)] == [0, 1, 2]
    both = hr.Dataset.zip(shuffled, TEN.shuffle(10, seed=2)).__headrace_plan__()
    assert claim_epoch(both) == 3
    assert claim_epoch(both.inputs[1]) == 4
    assert claim_epoch(TEN.__headrace_plan__()) == 0


def test_epochs_go_on_behind_one_that_was_resumed() -> None:
    plan = TEN.shuffle(10).__headrace_plan__()
    continue_after_epoch(plan, 5)
    assert claim_epoch(plan) == 6
    continue_after_epoch(plan, 2)
    assert claim_epoch(plan) == 7


def test_every_unseeded_operation_has_entropy_of_its_own() -> None:
    assert len({Randomness().entropy for _ in range(100)}) == 100


@pytest.mark.parametrize("seed", [1.5, "1", True])
def test_a_seed_is_an_int(seed: object) -> None:
    with pytest.raises(TypeError, match="shuffle: seed must be an int or None"):
        Randomness.of(seed, stage="shuffle")  # type: ignore[arg-type]  # what is tested


def test_any_int_is_a_seed_and_counts_by_its_64_bits() -> None:
    seeds = (0, 1, -1, 2**31, 2**63)
    orders = [tuple(TEN.shuffle(10, seed=seed)) for seed in seeds]
    assert len(set(orders)) == len(seeds)
    assert [tuple(TEN.shuffle(10, seed=seed + 2**64)) for seed in seeds] == orders
