"""Law 1: every way of running a plan gives what the reference gives. Law 2: nobody sees where a block ends."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.plans import Recipe, recipes, unordered_recipes
from tests.laws.running import LIMIT, REFERENCE, Way, assert_same, elements_of, unordered_ways, ways

import headrace as hr
from headrace.plan.node import nodes_of

pytestmark = pytest.mark.usefixtures("some_orders_are_computed")


@given(recipes(), ways())
def test_every_way_of_running_a_plan_gives_the_elements_of_the_reference(recipe: Recipe, way: Way) -> None:
    assert_same(elements_of(recipe.build()), elements_of(recipe.build(), way))


@given(unordered_recipes(), unordered_ways())
def test_in_any_order_the_elements_are_those_of_the_reference(recipe: Recipe, way: Way) -> None:
    expected = elements_of(recipe.build(), limit=1_000)
    assert_same(expected, elements_of(recipe.build(), way, limit=1_000), in_order=False)
    worst = dataclasses.replace(way, last_ones_first=True)
    assert_same(expected, elements_of(recipe.build(), worst, limit=1_000), in_order=False)


@given(recipes(), st.lists(st.sampled_from([1, 2, 3, 7, 1000]), min_size=1, max_size=4))
def test_no_block_size_shows(recipe: Recipe, sizes: list[int]) -> None:
    options = hr.Options(seed=7)
    assert_same(
        elements_of(recipe.build(), Way(options, block_sizes=(1,))),
        elements_of(recipe.build(), Way(options, block_sizes=tuple(sizes))),
    )


@given(recipes())
def test_a_plan_gives_as_many_elements_as_its_cardinality_says(recipe: Recipe) -> None:
    dataset = recipe.build()
    elements = elements_of(dataset)
    counts = [node.cardinality() for node in nodes_of(dataset.__headrace_plan__())]
    # As in tf.data, what repeats an unknown number counts as endless, and may be empty all the same.
    surprises = hr.UNKNOWN_CARDINALITY in counts or any(isinstance(one, hr.errors.HeadraceError) for one in elements)
    if counts[-1] >= 0 and not surprises:
        assert len(elements) == min(LIMIT, counts[-1])


@given(recipes(max_steps=3))
def test_epochs_are_the_same_in_every_way_of_running(recipe: Recipe) -> None:
    one, other = recipe.build(), recipe.build()
    for _ in range(3):
        assert_same(elements_of(one, REFERENCE), elements_of(other, Way(hr.Options(seed=7))))
