"""What an epoch has learned of how much to ask for at once, the next one begins with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.queues.background import HandClock

import headrace as hr
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.physical.lasting_paces import begun_like_latest
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.pace import Pace
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.physical.stages.nesting_openers import NestingPaces
from headrace.plan.node import Operation

ELEMENT_S: Final = 1e-6


def pace_that_knows(element_s: float) -> Pace:
    pace = Pace()
    for _ in range(3):
        pace.observe(10, 10 * element_s, 80)
    return pace


@given(st.floats(1e-7, 1e-2))
def test_an_operation_begins_with_what_its_latest_run_has_learned_each_role_by_itself(element_s: float) -> None:
    operations = (Operation(),)
    first = begun_like_latest(pace_that_knows(element_s), USUAL, operations, "one")
    other = begun_like_latest(Pace(), USUAL, operations, "other")
    another = begun_like_latest(Pace(), USUAL, (Operation(),), "one")
    second = begun_like_latest(Pace(), USUAL, operations, "one")
    assert (other.element_s, another.element_s) == (0.0, 0.0)
    assert second.element_s == first.element_s
    third = begun_like_latest(Pace(), USUAL, operations, "one")  # after a run that learned nothing itself
    assert third.element_s == first.element_s


def test_blocks_whose_sizes_are_given_are_learned_from_by_nobody() -> None:
    class Given(Pace):
        pass

    operations = (Operation(),)
    begun_like_latest(pace_that_knows(1e-6), USUAL, operations, None)
    assert begun_like_latest(Given(), RunPolicy(pace=Given), operations, None).size == 1


def sizes_of_blocks(dataset: hr.Dataset, clock: HandClock) -> list[int]:
    with DatasetIterator(
        dataset.__headrace_plan__(), policy=RunPolicy(clock=clock, loops=LoopPolicy(clock=clock))
    ) as iterator:
        return [len(block) for block in iterator.blocks()]


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_second_epoch_asks_for_many_at_once_from_the_start(repeats: int) -> None:
    clock = HandClock()

    def takes_a_microsecond(x: int) -> int:
        clock.move(ELEMENT_S)
        return x

    dataset = hr.Dataset.range(2_000 // repeats).map(takes_a_microsecond).repeat(repeats)
    first, second, third = (sizes_of_blocks(dataset, clock) for _ in range(3))
    assert sum(first) == sum(second) == sum(third) == 2_000
    assert first[0] == 1
    assert second[0] == third[0] == Pace.GROWTH**3  # few, as this epoch's elements may be others
    assert len(second) < len(first)


def test_elements_that_have_become_slow_are_few_at_once_again() -> None:
    clock = HandClock()
    element_s = ELEMENT_S

    def takes_so_long(x: int) -> int:
        clock.move(element_s)
        return x

    dataset = hr.Dataset.range(2_000).map(takes_so_long)
    sizes_of_blocks(dataset, clock)
    element_s = 1.0  # from the first element on
    policy = RunPolicy(clock=clock, loops=LoopPolicy(clock=clock))
    with DatasetIterator(dataset.__headrace_plan__(), policy=policy) as iterator:
        blocks: Iterator[list[Any]] = iterator.blocks()
        sizes = [len(next(blocks)) for _ in range(6)]
    assert (
        max(sizes) <= policy.loops.rows_a_look
    )  # as many as are made between two looks at the clock, as in the middle of an epoch
    assert sizes[2:] == [1, 1, 1, 1]


@given(st.integers(1, 50), st.integers(1, 200), st.floats(1e-7, 1e-3))
def test_paces_of_datasets_begin_where_others_were(opened: int, given_elements: int, seconds: float) -> None:
    before, after = NestingPaces(Pace), NestingPaces(Pace)
    before.let_through = 0.25
    for _ in range(4):
        before.observe(opened, given_elements, seconds)
        before.begun(1e-5, at_once=False)
        before.read_further(given_elements, seconds)
    after.begin_like(before)
    assert 1 <= after.room <= max(1, before.room)
    assert 1 <= after.most_openers <= max(1, before.most_openers)
    assert after.openers_for(1) <= before.openers_for(1)
    assert (after.further, after.let_through) == (before.further, 0.25)
