"""Law 3: a restored iterator delivers what the first one would have, to the element."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import Step, add_one, flat_map_to_one_cache, shuffled_few
from tests.laws.jumping import jumping
from tests.laws.plans import Recipe, recipes, unordered_recipes
from tests.laws.running import (
    REFERENCE,
    Way,
    assert_same,
    elements_of,
    history,
    in_blocks_of,
    policy_of,
    resumed,
    running,
    through_json,
    unordered_ways,
    ways,
)

import headrace as hr
from headrace.blocks.block import Failure
from headrace.engine import Run
from headrace.plan.buffering import options_of
from headrace.semantics.generator_runs import OwnState
from headrace.semantics.run_context import Seeds
from headrace.testing import check_every_restore_point
from headrace.testing.restoring import delivered

ROOT = Path(__file__).parents[2]

# Every state of every plan is loaded, so few elements do: what goes wrong, goes wrong early, or at an end.
POINTS = 14


def check(recipe: Recipe, first: Way, second: Way, *, limit: int = POINTS) -> None:
    """Stops the first way after each element, and lets the second go on in a dataset built anew."""
    expected, states = history(recipe.build(), first, limit=limit)
    for count, state in enumerate(states):
        assert_same(expected[count:], resumed(recipe.build(), state, second, limit=limit - count))


@pytest.mark.usefixtures("some_orders_are_computed")
@given(recipes(), ways(), ways())
def test_threads_go_on_where_other_threads_stopped(recipe: Recipe, first: Way, second: Way) -> None:
    check(recipe, first, second)


@pytest.mark.usefixtures("some_orders_are_computed")
@given(recipes(), ways())
def test_the_reference_goes_on_where_threads_stopped(recipe: Recipe, first: Way) -> None:
    check(recipe, first, REFERENCE)


@pytest.mark.usefixtures("some_orders_are_computed")
@given(recipes(), ways())
def test_threads_go_on_where_the_reference_stopped(recipe: Recipe, second: Way) -> None:
    check(recipe, REFERENCE, second)


@given(recipes(), ways())
def test_endless_plans_are_resumed_as_well(recipe: Recipe, way: Way) -> None:
    endless = Recipe(f"{recipe}.repeat()", recipe.source, (*recipe.steps, lambda ds: ds.repeat()))
    check(endless, way, way, limit=9)


@pytest.mark.usefixtures("some_orders_are_computed")
@given(recipes(max_steps=4), ways(), ways(), st.data())
def test_what_was_resumed_can_be_resumed_again(recipe: Recipe, first: Way, second: Way, data: st.DataObject) -> None:
    expected, states = history(recipe.build(), first, limit=30)
    done, state = 0, states[0]
    while done < len(expected):
        with running(recipe.build(), second) as iterator:
            iterator.load_state_dict(state)
            done += len(list(delivered(iterator, data.draw(st.integers(1, 9), label="elements until the next stop"))))
            state = through_json(iterator.state_dict())
        assert_same(expected[done:], resumed(recipe.build(), state, first, limit=max(0, len(expected) - done)))


OTHER_ORDER = dataclasses.replace(REFERENCE, options=REFERENCE.options.merged(hr.Options(seed=8)))


def read_before(recipe: Recipe, epochs: int) -> hr.Dataset:
    """The dataset, and its caches filled by epochs of other random numbers."""
    dataset = recipe.build()
    for _ in range(epochs):
        elements_of(dataset, OTHER_ORDER)
    return dataset


CACHES: dict[str, Step] = {
    "cache": lambda ds: ds.cache(),
    "cache.repeat(2)": lambda ds: ds.cache().repeat(2),
    "shuffle.cache.repeat(2)": lambda ds: ds.shuffle(9).cache().repeat(2),
    "shuffle.cache.shuffle.cache": lambda ds: ds.shuffle(9).cache().shuffle(9).cache(),
    "random_map.cache": lambda ds: ds.random_map(lambda rng, *_: int(rng.integers(1 << 30))).cache(),
    "flat_map to shuffles.cache": lambda ds: ds.flat_map(shuffled_few(4)).cache().repeat(2),
    "flat_map to one cache": flat_map_to_one_cache,
}


@given(recipes(max_steps=3), st.sampled_from(sorted(CACHES)), ways(), ways(), st.integers(0, 1), st.data())
def test_what_filled_a_cache_meanwhile_does_not_show(
    recipe: Recipe, cache: str, first: Way, second: Way, before: int, data: st.DataObject
) -> None:
    cached = Recipe(f"{recipe}.{cache}", recipe.source, (*recipe.steps, CACHES[cache]))
    expected, states = history(read_before(cached, before), first, limit=POINTS)
    # Before its first element a run has read no cache, so that what is inside of functions may be filled by others.
    count = data.draw(st.integers(1, max(1, len(expected))), label="elements until the state")
    if expected:
        resumer = read_before(cached, data.draw(st.integers(1, 2), label="epochs meanwhile"))
        assert_same(expected[count:], resumed(resumer, states[count], second, limit=len(expected) - count))


@given(unordered_recipes(), unordered_ways(), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_in_any_order_nothing_is_lost_and_nothing_comes_twice(recipe: Recipe, way: Way, stops: list[int]) -> None:
    expected = elements_of(recipe.build(), limit=1_000)
    came: list[Any] = []
    state: dict[str, Any] | None = None
    for stop in itertools.cycle(stops):
        # Now and then it is the reference that goes on: it, too, must leave out what threads delivered out of order.
        worst = dataclasses.replace(REFERENCE if stop == 9 else way, last_ones_first=True)
        with running(recipe.build(), worst) as iterator:
            if state is not None:
                iterator.load_state_dict(state)
            fresh = list(delivered(iterator, stop))
            state = through_json(iterator.state_dict())
        came += fresh
        if len(fresh) < stop or len(came) > len(expected):
            break
    assert_same(expected, came, in_order=False)


@given(recipes(max_steps=4))
def test_the_public_checker_agrees(recipe: Recipe) -> None:
    checked = check_every_restore_point(recipe.build(), max_elements=6, executors=(None, "inline"))
    assert 1 <= checked <= 7


# ----------------------------------------------------------------------- positions that are kept


@contextlib.contextmanager
def opened(recipe: Recipe, way: Way, state: dict[str, Any] | None = None) -> Iterator[Run]:
    """A run of the plan itself, that begins at a position of its stages."""
    plan = recipe.build().with_options(way.options).__headrace_plan__()
    with jumping(way.jumps):
        run = Run(plan, options_of(plan), seeds=Seeds.of(plan, seed=7, entropy=1), epoch=0, policy=policy_of(way))
        try:
            run.open(state)
            yield run
        finally:
            run.close()


def positions(run: Run, limit: int) -> tuple[list[Any], list[tuple[int, dict[str, Any]]]]:
    """What a run gives, and the positions before and after each block and failure, each with how many elements come before it."""
    elements: list[Any] = []
    found = []
    while len(elements) < limit and (item := run.pull(limit - len(elements))) is not None:
        found.append((len(elements), _written(item.cursor.state())))
        elements += [item.error] if isinstance(item, Failure) else item.payload.rows()
        found.append((len(elements), _written(item.after.state())))
    return elements, found


def _written(position: Any) -> Any:
    """A position as a state has it: what a generator says of itself is written down when somebody asks."""
    return json.loads(json.dumps(position, default=OwnState.value))


@pytest.mark.usefixtures("some_orders_are_computed")
@given(recipes(), ways(), ways())
def test_the_position_before_a_block_is_the_one_after_the_block_before(recipe: Recipe, first: Way, second: Way) -> None:
    with opened(recipe, first) as run:
        expected, found = positions(run, POINTS)
    for count, state in found:
        with opened(recipe, second, state) as run:
            assert_same(expected[count:], positions(run, POINTS - count)[0])


# --------------------------------------------------------------------------- what a state is


@given(recipes(), ways())
def test_a_state_is_plain_json_and_the_same_when_taken_twice(recipe: Recipe, way: Way) -> None:
    with running(recipe.build(), way) as iterator:
        for _ in delivered(iterator, 5):
            state = iterator.state_dict()
            assert state == iterator.state_dict() == through_json(state)
            assert json.loads(json.dumps(state, sort_keys=True)) == state


@given(recipes())
def test_a_state_does_not_change_while_the_iterator_goes_on(recipe: Recipe) -> None:
    with running(recipe.build(), Way(hr.Options())) as iterator:
        list(delivered(iterator, 3))
        state = iterator.state_dict()
        before = copy.deepcopy(state)
        list(delivered(iterator, 9))
        assert state == before


@given(st.lists(st.sampled_from([1, 2, 3, 7, 1000]), min_size=1, max_size=3), st.integers(0, 20))
def test_a_state_does_not_tell_what_was_read_ahead(sizes: list[int], count: int) -> None:
    dataset = hr.Dataset.range(40).filter(lambda x: x % 3 != 0).map(add_one, 2).batch(2).prefetch(3).repeat(2)

    def state_after(block_sizes: list[int]) -> dict[str, Any]:
        with in_blocks_of(block_sizes, dataset) as iterator:
            list(delivered(iterator, count))
            return iterator.state_dict()

    in_ones, in_blocks = state_after([1]), state_after(sizes)
    assert in_blocks["delivered"] == in_ones["delivered"] == min(count, 28)
    # A filter stands behind the last element that it judged: what it left out may or may not be judged again.
    way = Way(hr.Options())
    assert_same(resumed(dataset, in_ones, way, limit=50), resumed(dataset, in_blocks, way, limit=50))


@given(recipes(max_steps=3), ways())
def test_the_state_after_the_end_is_the_end(recipe: Recipe, way: Way) -> None:
    finite = Recipe(f"{recipe}.take(20)", recipe.source, (*recipe.steps, lambda ds: ds.take(20)))
    with running(finite.build(), way) as iterator:
        ended = len(list(delivered(iterator, 40))) < 40
        if not ended:  # nothing but errors, without end
            return
        state = iterator.state_dict()
        iterator.close()
        assert iterator.state_dict() == state
    assert resumed(finite.build(), state, way, limit=5) == []


def test_closing_in_the_middle_keeps_the_state() -> None:
    shuffled = hr.Dataset.range(20).map(add_one, num_parallel_calls=2).shuffle(5, 1, reshuffle_each_iteration=False)
    dataset = shuffled.batch(3)
    expected = [batch.tolist() for batch in dataset]
    for count in range(7):
        iterator = iter(dataset)
        for _ in range(count):
            next(iterator)
        iterator.close()
        again = iter(dataset)
        again.load_state_dict(iterator.state_dict())
        assert [batch.tolist() for batch in again] == expected[count:]


def test_an_iterator_can_go_back_to_a_state_of_its_own() -> None:
    with iter(hr.Dataset.range(9).shuffle(9).map(add_one, num_parallel_calls=2)) as iterator:
        start = iterator.state_dict()
        whole = list(iterator)
        iterator.load_state_dict(start)
        assert list(iterator) == whole
        iterator.load_state_dict(start)
        assert [next(iterator) for _ in range(3)] == whole[:3]


def test_a_state_after_an_error_goes_on_behind_it() -> None:
    def fragile(x: int) -> int:
        if x == 2:
            raise ValueError("no twos")
        return x

    dataset = hr.Dataset.range(5).map(fragile, num_parallel_calls=2)
    with iter(dataset) as iterator:
        assert [next(iterator), next(iterator)] == [0, 1]
        with pytest.raises(hr.errors.DataError):
            next(iterator)
        state = iterator.state_dict()
    again = iter(dataset)
    again.load_state_dict(state)
    assert list(again) == [3, 4]


# ---------------------------------------------------------------------- randomness and epochs


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_unseeded_shuffles_go_on_exactly_also_in_inner_datasets(executor: str) -> None:
    def build() -> hr.Dataset:
        inner = hr.Dataset.range(6).shuffle(6).flat_map(shuffled_few(5)).shuffle(4)
        return inner.repeat(2).with_options(hr.Options(executor=executor))

    expected, states = history(build(), Way(hr.Options()), limit=100)
    for count, state in enumerate(states):
        assert resumed(build(), state, Way(hr.Options()), limit=100) == expected[count:]


RANDOM_PLANS: dict[str, Callable[[], hr.Dataset]] = {
    "shuffle of all": lambda: hr.Dataset.range(30).shuffle(30, seed=1),
    "shuffle of some": lambda: hr.Dataset.range(30).shuffle(7, seed=1).map(add_one, num_parallel_calls=2),
    "inner shuffles": lambda: hr.Dataset.range(10).flat_map(lambda x: hr.Dataset.range(4).shuffle(4, seed=2)),
    "random numbers": lambda: hr.Dataset.random(seed=1, rerandomize_each_iteration=True).take(30),
}


@pytest.mark.parametrize("plan", sorted(RANDOM_PLANS))
def test_epochs_after_a_resumed_one_are_those_of_an_unbroken_run(plan: str) -> None:
    build = RANDOM_PLANS[plan]
    unbroken = build()
    epochs = [list(unbroken) for _ in range(4)]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[3]
    stopped = build()
    assert list(stopped) == epochs[0]
    iterator = iter(stopped)
    begun = [next(iterator) for _ in range(11)]
    state = through_json(iterator.state_dict())
    iterator.close()
    fresh = build()
    restored = iter(fresh)
    restored.load_state_dict(state)
    assert begun + list(restored) == epochs[1]
    assert [list(fresh), list(fresh)] == epochs[2:]


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_two_shuffles_with_one_seed_keep_features_and_labels_together(executor: str) -> None:
    features = hr.Dataset.range(20).shuffle(5, seed=3)
    labels = hr.Dataset.range(20).map(lambda x: -x).shuffle(5, seed=3)
    options = hr.Options(executor=executor)
    assert all(x == -y for x, y in hr.Dataset.zip(features, labels).with_options(options))


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_the_same_shuffle_twice_in_a_plan_gives_two_orders(executor: str) -> None:
    shuffled = hr.Dataset.range(50).shuffle(50, seed=1)
    options = hr.Options(executor=executor)
    pairs = list(hr.Dataset.zip(shuffled, shuffled).with_options(options))
    assert any(one != other for one, other in pairs)
    both = list(shuffled.concatenate(shuffled).with_options(options))
    assert sorted(both[:50]) == sorted(both[50:])
    assert both[:50] != both[50:]


def test_a_cache_of_a_shuffle_is_filled_again_in_the_order_that_was_kept() -> None:
    def build() -> hr.Dataset:
        return hr.Dataset.range(8).shuffle(8).cache().repeat(3)

    with iter(build()) as first:
        whole = list(first)
    assert whole[:8] == whole[8:16] == whole[16:]
    expected, states = history(build(), Way(hr.Options()), limit=24)
    for count, state in enumerate(states):
        assert resumed(build(), state, Way(hr.Options()), limit=24) == expected[count:]


# ------------------------------------------------------------------------------- another process

PROCESS_PLANS: dict[str, Callable[[], hr.Dataset]] = {
    "shuffled batches": lambda: hr.Dataset.range(40).shuffle(10).repeat(2).batch(4),
    "nested": lambda: hr.Dataset.range(9).shuffle(4).interleave(shuffled_few(5), cycle_length=3).enumerate(),
    "parallel": lambda: hr.Dataset.random().take(40).map(add_one, num_parallel_calls=2).shuffle(7),
    "cached": lambda: hr.Dataset.range(10).shuffle(10).cache().repeat(3).map(add_one, num_parallel_calls=2),
    "zipped": lambda: hr.Dataset.zip({"a": hr.Dataset.range(30).shuffle(30), "b": hr.Dataset.random()}),
    "unbatched": lambda: hr.Dataset.range(30).batch(7).map(lambda x: -x).unbatch().filter(lambda x: x % 3 != 0),
}


def test_another_process_goes_on_where_this_one_stopped() -> None:
    work, expected = [], []
    for name, build in PROCESS_PLANS.items():
        elements, states = history(build(), Way(hr.Options()), limit=30)
        for count in (0, 1, 7, 15, len(elements)):
            for executor in ("thread", "inline"):
                work.append({"plan": name, "state": states[count], "executor": executor, "limit": 30 - count})
                expected.append(shown(elements[count:]))
    ran = subprocess.run(
        [sys.executable, "-c", "from tests.laws import test_exact_resume as t; t.resume_in_this_process()"],
        input=json.dumps(work),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == expected


def shown(elements: list[Any]) -> list[str]:
    return [repr(element) for element in elements]


def resume_in_this_process() -> None:
    """What ``test_another_process_goes_on_where_this_one_stopped`` runs elsewhere."""
    results = [
        shown(
            resumed(
                PROCESS_PLANS[item["plan"]](),
                item["state"],
                Way(hr.Options(executor=item["executor"])),
                limit=item["limit"],
            )
        )
        for item in json.load(sys.stdin)
    ]
    json.dump(results, sys.stdout)
