"""Every law holds for a pipeline in a process beside the trainer, for maps in processes, and for those that are killed at any moment."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.laws.elements import shuffled_few
from tests.laws.hosts import Hosts, one_process_for_plans
from tests.laws.jumping import QuickClock
from tests.laws.plans import Recipe, recipe_of, recipes, unordered_recipes
from tests.laws.running import (
    LIMIT,
    REFERENCE,
    Way,
    assert_same,
    elements_of,
    history,
    resumed,
    running,
    through_json,
    unordered_ways,
    ways,
)
from tests.laws.steps_nesting import openers

import headrace as hr
from headrace.testing.restoring import delivered

if TYPE_CHECKING:
    from tests.laws.elements import Named

HOSTS = Hosts()


@pytest.fixture(autouse=True)
def one_process_for_all_plans() -> Iterator[None]:
    with one_process_for_plans(HOSTS):
        yield
    HOSTS.end()


def elsewhere(way: Way, executor: str = "subprocess") -> Way:
    """The same in processes."""
    return dataclasses.replace(way, options=way.options.merged(hr.Options(executor=executor, max_restarts=1_000)))


executors = st.sampled_from(["subprocess", "process"])


def is_in_files(recipe: Recipe) -> bool:
    """Whether another process can read what the plan reads: a file system in memory is this process's own."""
    return "in memory" not in str(recipe)


@given(recipe=recipes(), way=ways(), executor=executors)
def test_the_elements_are_those_of_the_reference(recipe: Recipe, way: Way, executor: str) -> None:
    assume(is_in_files(recipe))
    assert_same(elements_of(recipe.build()), elements_of(recipe.build(), elsewhere(way, executor)))


# A buffer in a dataset that a process opened: the run there is as lenient as the run here.
BUFFER_ELSEWHERE = recipe_of(
    ("range(4)", lambda: hr.Dataset.range(4)),
    [("interleave(shuffled few 4)", lambda ds: ds.interleave(shuffled_few(4), 1, num_parallel_calls=1))],
)


@example(recipe=BUFFER_ELSEWHERE, way=Way(hr.Options(executor="thread", seed=7, ram_budget=1)), executor="process")
@given(recipe=unordered_recipes(), way=unordered_ways(), executor=executors)
def test_in_any_order_the_elements_are_those_of_the_reference(recipe: Recipe, way: Way, executor: str) -> None:
    assume(is_in_files(recipe))
    expected = elements_of(recipe.build(), limit=1_000)
    assert_same(expected, elements_of(recipe.build(), elsewhere(way, executor), limit=1_000), in_order=False)


@given(
    recipe=recipes(max_steps=4),
    way=ways(),
    other=ways(),
    first=executors,
    second=executors,
    here=st.sampled_from([0, 1, 2]),
)
def test_it_goes_on_from_any_state_there_and_here(
    recipe: Recipe, way: Way, other: Way, first: str, second: str, here: int
) -> None:
    assume(is_in_files(recipe))
    one = way if here == 1 else elsewhere(way, first)
    two = other if here == 2 else elsewhere(other, second)
    expected, states = history(recipe.build(), one, limit=5)
    for count, state in enumerate(states):
        assert_same(expected[count:], resumed(recipe.build(), state, two, limit=5 - count))


# Each death costs the start of an interpreter.
@settings(max_examples=(settings().max_examples + 5) // 6)
@given(
    opener=openers(),
    cycle=st.integers(1, 4),
    block=st.integers(1, 3),
    calls=st.integers(1, 2),
    way=ways(),
    other=ways(),
    dies_at=st.none() | st.integers(0, 9),
)
def test_datasets_that_processes_open_and_read_go_on_from_any_state_there_and_here_and_after_a_death(
    opener: Named, cycle: int, block: int, calls: int, way: Way, other: Way, dies_at: int | None
) -> None:
    def built() -> hr.Dataset:
        return hr.Dataset.range(5).interleave(opener[1], cycle, block, num_parallel_calls=min(calls, cycle))

    expected = elements_of(built())
    came: list[Any] = []
    states: list[Any] = []
    with running(built(), elsewhere(way, "process")) as iterator:
        while len(came) < LIMIT:
            if len(came) == dies_at and (own := iterator._run) is not None:
                for worker in list(getattr(own, "_elsewhere")._all):  # noqa: B009 - of a run of threads
                    worker.kill()
            states.append(through_json(iterator.state_dict()))
            try:
                came.append(next(iterator))
            except StopIteration:
                break
            except hr.errors.HeadraceError as error:
                came.append(error)
    assert_same(expected, came)
    for count, state in enumerate(states):
        assert_same(came[count:], resumed(built(), state, other, limit=LIMIT - count))


@settings(max_examples=(settings().max_examples + 5) // 6)
@given(
    recipe=recipes(),
    way=ways(),
    other=ways(),
    dice=st.randoms(use_true_random=False),
    are_positions_told=st.booleans(),  # before a process dies, as in runs that last
)
def test_what_a_killed_process_had_made_comes_once_and_in_its_place(
    recipe: Recipe, way: Way, other: Way, dice: random.Random, are_positions_told: bool
) -> None:
    assume(is_in_files(recipe))
    way = dataclasses.replace(way, clock=QuickClock() if are_positions_told else None)
    came: list[Any] = []
    states: list[tuple[int, Any]] = []
    with running(recipe.build(), elsewhere(way)) as iterator:
        while len(came) < LIMIT:
            # It has given at least one element before it dies again: twice at one place is an error.
            may_die = HOSTS.now is not None and len(states) < 2 and len(came) > (states[-1][0] if states else 0)
            if may_die and HOSTS.now is not None and dice.random() < 0.2:
                HOSTS.now.kill()
                states.append((len(came), through_json(iterator.state_dict())))
            try:
                came.append(next(iterator))
            except StopIteration:
                break
            except hr.errors.HeadraceError as error:
                came.append(error)
    assert_same(elements_of(recipe.build()), came)
    for count, state in states:
        assert_same(came[count:], resumed(recipe.build(), state, other, limit=LIMIT - count))


@settings(max_examples=(settings().max_examples + 5) // 6)
@given(recipe=unordered_recipes(), way=unordered_ways(), dice=st.randoms(use_true_random=False))
def test_in_any_order_what_a_killed_process_had_made_comes_once(recipe: Recipe, way: Way, dice: random.Random) -> None:
    assume(is_in_files(recipe))
    expected = elements_of(recipe.build(), limit=1_000)
    worst = dataclasses.replace(elsewhere(way), last_ones_first=True, block_sizes=(2,))
    came: list[Any] = []
    died_at = 0
    with running(recipe.build(), worst) as iterator:
        for element in delivered(iterator, 1_000):
            came.append(element)
            if HOSTS.now is not None and len(came) > died_at + 2 and dice.random() < 0.2:
                HOSTS.now.kill()
                died_at = len(came)
    assert_same(expected, came, in_order=False)


@given(recipe=recipes(max_steps=3))
def test_epochs_are_those_of_threads(recipe: Recipe) -> None:
    assume(is_in_files(recipe))
    one, two = recipe.build(), recipe.build()
    for _ in range(2):
        assert_same(elements_of(one, REFERENCE), elements_of(two, elsewhere(Way(hr.Options(seed=7)))))
