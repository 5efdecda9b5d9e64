"""``dataset[i]`` is what the first epoch gives there, and computes nothing else."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest
from hypothesis import assume, given
from tests.laws.plans import Recipe, recipes
from tests.laws.running import LIMIT, REFERENCE, assert_same, elements_of
from tests.laws.test_only_what_comes_out_is_fetched import Chosen, assert_as_numbered, plans

import headrace as hr
from headrace.backends.access import element_access
from headrace.errors import HeadraceError
from headrace.plan.by_number import numbers_first
from headrace.plan.combining import Zip
from headrace.plan.node import Node, nodes_of
from headrace.plan.sequencing import Shard, Skip, Take
from headrace.plan.stateful import AssertCardinality


def by_number(dataset: hr.Dataset, count: int) -> list[Any]:
    """The first elements, each asked for by its number, the last one first; an error in place of one that fails."""
    given_back = []
    for number in reversed(range(count)):
        try:
            given_back.append(dataset[number])
        except HeadraceError as error:
            given_back.append(error)
    return given_back[::-1]


def has_access(dataset: hr.Dataset) -> bool:
    try:
        element_access(dataset.__headrace_plan__())
    except TypeError:
        return False
    return True


def numbered(recipe: Recipe) -> Recipe:
    """The recipe without what has no numbers."""
    source = recipe.source if has_access(recipe.source()) else functools.partial(hr.Dataset.range, 9)
    kept = Recipe(f"numbered {recipe}", source, ())
    for step in recipe.steps:
        more = Recipe(kept.text, source, (*kept.steps, step))
        kept = more if has_access(more.build()) else kept
    return kept


def counts_elements(plan: Node) -> bool:
    """Whether an operation counts elements behind a function, whose failures are none; a zip has one more at its end."""
    counting = [node for node in nodes_of(plan) if isinstance(node, (Take, Skip, Shard, AssertCardinality, Zip))]
    return any(above.functions() for node in counting for read in node.inputs for above in nodes_of(read))


def reads_a_remainder(plan: Node) -> bool:
    """Whether an operation reads a batch that drops its remainder: an error in that has no number, and comes in order alone."""
    return any(getattr(node, "drop_remainder", False) for node in nodes_of(plan) if node is not plan)


@given(recipes(max_steps=9).map(numbered))
def test_an_element_by_its_number_is_that_of_the_first_epoch(recipe: Recipe) -> None:
    dataset = recipe.build().with_options(hr.Options(seed=7))
    expected = elements_of(recipe.build(), REFERENCE)
    if any(isinstance(element, HeadraceError) for element in expected):
        assume(not counts_elements(numbers_first(dataset.__headrace_plan__())))
        length = dataset.cardinality()
        assume(not reads_a_remainder(recipe.build().__headrace_plan__()))
        expected = expected if length < 0 else expected[:length]
    elif dataset.cardinality() >= 0:
        assert min(LIMIT, len(dataset)) == len(expected)
    assert_same(expected, by_number(dataset, len(expected)))


@given(plans())
def test_only_what_an_element_needs_is_fetched(plan: Chosen) -> None:
    for number, group in enumerate(plan.groups()):
        source = plan.source()
        dataset = plan.over(source)
        assert_as_numbered(plan, source, [group], by_number_at(dataset, number))
        assert source.asked == group


def by_number_at(dataset: hr.Dataset, number: int) -> list[Any]:
    try:
        return [dataset[number]]
    except HeadraceError as error:
        return [error]


@given(recipes(max_steps=4).map(numbered))
def test_there_is_nothing_behind_the_last_element(recipe: Recipe) -> None:
    dataset = recipe.build()
    assume(dataset.cardinality() >= 0)
    for outside in (len(dataset), len(dataset) + 5, -len(dataset) - 1):
        with pytest.raises(IndexError, match=f"there is no element {outside}: the dataset has {len(dataset)} elements"):
            dataset[outside]


@pytest.mark.parametrize("reshuffle", [True, False])
@pytest.mark.parametrize("size", [1, 3, 7, 100, -2])
@pytest.mark.parametrize("seed", [4, None])
def test_a_shuffle_is_in_its_first_order_however_often_it_was_read(
    reshuffle: bool,
    size: int,
    seed: int | None,
) -> None:
    dataset = hr.Dataset.range(7).shuffle(size, seed=seed, reshuffle_each_iteration=reshuffle).repeat(3)
    first = list(dataset)
    list(dataset)
    assert [dataset[number] for number in range(21)] == first


def test_an_endless_shuffle_is_read_by_number_as_well() -> None:
    dataset = hr.Dataset.range(7).repeat().shuffle(5, seed=2)
    assert [dataset[number] for number in range(40)] == list(itertools.islice(dataset, 40))
