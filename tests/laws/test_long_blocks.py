"""Laws 1 to 3 where blocks are long: operations that keep a state, that group, or that call functions, with failures in the middle of a block."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.elements import SHAPES, Named, fail_on, shaped, text
from tests.laws.plans import Recipe, recipe_of, sources
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, history, resumed
from tests.laws.steps_elementwise import maps
from tests.laws.steps_grouping import grouping
from tests.laws.steps_mixing import class_of, mixing
from tests.laws.steps_packing import packing
from tests.laws.steps_sequencing import sequencing
from tests.laws.steps_skipping import skipping
from tests.laws.steps_stateful import stateful
from tests.laws.steps_windowing import windowing

import headrace as hr

# More than any of a law's plans gives; and so many that a state in the middle of a block is one of many.
LIMIT = 150
LONG = st.integers(20, 45)
# One block for all, blocks that end somewhere, and such that grow.
SIZES = st.sampled_from([(1000,), (7,), (3, 1000), (1, 2, 1000), (16, 5)])


def _before() -> st.SearchStrategy[list[Named]]:
    """What gives elements a shape, or has some of them fail."""
    shapes = st.sampled_from(sorted(SHAPES)).map(lambda shape: (f"map to {shape}", lambda ds: ds.map(shaped(shape))))
    failures = st.integers(4, 9).map(lambda m: (text("fail_on", 3, m), lambda ds: ds.map(fail_on(3, m))))
    return st.lists(st.one_of(shapes, failures), max_size=2)


def _after() -> st.SearchStrategy[list[Named]]:
    """What reads on otherwise than block by block."""
    steps = [
        ("batch(4)", lambda ds: ds.batch(4)),
        ("take(17)", lambda ds: ds.take(17)),
        ("repeat(2)", lambda ds: ds.repeat(2)),
        ("prefetch(2)", lambda ds: ds.prefetch(2)),
    ]
    return st.lists(st.sampled_from(steps), max_size=1)


def long_recipes() -> st.SearchStrategy[Recipe]:
    families = (stateful, skipping, sequencing, grouping, windowing, packing, mixing)
    functions = st.lists(maps(), min_size=2, max_size=4)
    family = st.one_of(functions, *(steps().map(lambda step: [step]) for steps in families))
    return st.builds(
        lambda source, *parts: recipe_of(source, [step for part in parts for step in part]),
        sources(LONG),
        _before(),
        family,
        _after(),
    )


def blocks_of(sizes: tuple[int, ...]) -> Way:
    return Way(hr.Options(executor="thread", seed=7), sizes)


@given(long_recipes(), SIZES)
def test_long_blocks_give_the_elements_of_the_reference(recipe: Recipe, sizes: tuple[int, ...]) -> None:
    assert_same(elements_of(recipe.build(), limit=LIMIT), elements_of(recipe.build(), blocks_of(sizes), limit=LIMIT))


@given(long_recipes(), SIZES, SIZES, st.integers(0, 6))
def test_every_step_within_a_long_block_is_resumed(
    recipe: Recipe, first: tuple[int, ...], second: tuple[int, ...], offset: int
) -> None:
    expected, states = history(recipe.build(), blocks_of(first), limit=LIMIT)
    for count, state in list(enumerate(states))[offset::7]:
        for way in (blocks_of(second), REFERENCE):
            assert_same(expected[count:], resumed(recipe.build(), state, way, limit=LIMIT - count))


@given(long_recipes(), SIZES, st.integers(0, 6))
def test_the_states_of_the_reference_are_taken_up_in_long_blocks(
    recipe: Recipe, sizes: tuple[int, ...], offset: int
) -> None:
    expected, states = history(recipe.build(), REFERENCE, limit=LIMIT)
    for count, state in list(enumerate(states))[offset::7]:
        assert_same(expected[count:], resumed(recipe.build(), state, blocks_of(sizes), limit=LIMIT - count))


# Each goes on from a seventh of up to a hundred steps, twice.
@settings(max_examples=max(1, settings().max_examples // 4))
@given(
    st.integers(1, 100),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([None, [5, 4, 1], [1, 1, 1], [1, 0, 0]]),
    st.tuples(SIZES, SIZES),
    st.integers(0, 6),
)
def test_every_step_of_a_resampling_is_resumed_before_and_after_failures(
    count: int,
    failing: tuple[bool, bool],
    initial: list[float] | None,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
    offset: int,
) -> None:
    def build() -> hr.Dataset:
        elements = hr.Dataset.range(count).map(fail_on(3, 7)) if failing[0] else hr.Dataset.range(count)
        return elements.rejection_resample(class_of(3, wrong=failing[1]), [0.4, 0.4, 0.2], initial, seed=1)

    expected, states = history(build(), blocks_of(sizes[0]), limit=LIMIT)
    assert_same(elements_of(build(), limit=LIMIT), expected)
    for done, state in list(enumerate(states))[offset::7]:
        for way in (blocks_of(sizes[1]), REFERENCE):
            assert_same(expected[done:], resumed(build(), state, way, limit=LIMIT - done))
