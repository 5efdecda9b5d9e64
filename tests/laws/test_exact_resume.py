"""Law 3: a restored iterator delivers what the first one would have, to the element."""

from __future__ import annotations

import copy
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.plans import Recipe, Resumable, add_one, few, recipes, shuffled_few, unordered_recipes
from tests.laws.running import (
    REFERENCE,
    Way,
    assert_same,
    elements_of,
    history,
    in_blocks_of,
    last_ones_first,
    resumed,
    running,
    through_json,
    unordered_ways,
    ways,
)

import headrace as hr
from headrace.physical import sources
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


@given(recipes(), ways(), ways())
def test_threads_go_on_where_other_threads_stopped(recipe: Recipe, first: Way, second: Way) -> None:
    check(recipe, first, second)


@given(recipes(), ways())
def test_the_reference_goes_on_where_threads_stopped(recipe: Recipe, first: Way) -> None:
    check(recipe, first, REFERENCE)


@given(recipes(), ways())
def test_threads_go_on_where_the_reference_stopped(recipe: Recipe, second: Way) -> None:
    check(recipe, REFERENCE, second)


@given(recipes(), ways())
def test_endless_plans_are_resumed_as_well(recipe: Recipe, way: Way) -> None:
    endless = Recipe(f"{recipe}.repeat()", recipe.source, (*recipe.steps, lambda ds: ds.repeat()))
    check(endless, way, way, limit=9)


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


@given(unordered_recipes(), unordered_ways(), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_in_any_order_nothing_is_lost_and_nothing_comes_twice(recipe: Recipe, way: Way, stops: list[int]) -> None:
    expected = elements_of(recipe.build(), limit=1_000)
    came: list[Any] = []
    state: dict[str, Any] | None = None
    for stop in itertools.cycle(stops):
        # Now and then it is the reference that goes on: it, too, must leave out what threads delivered out of order.
        with last_ones_first(), running(recipe.build(), REFERENCE if stop == 9 else way) as iterator:
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
        with in_blocks_of(block_sizes), iter(dataset) as iterator:
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


# ------------------------------------------------------------------------- what is refused


def plans_that_differ() -> dict[str, tuple[hr.Dataset, str]]:
    data = hr.Dataset
    two = (data.range(5), data.range(5))
    return {
        "another length": (data.range(6).batch(2), "range"),
        "another source": (data.from_tensor_slices(np.arange(5)).batch(2), "range"),
        "another size": (data.range(5).batch(3), "batch"),
        "one more": (data.range(5).batch(2).take(3), "take"),
        "one fewer": (data.range(5), "batch"),
        "another operation": (data.range(5).take(2), "batch"),
        "a zip": (data.zip(two).batch(2), "range"),
    }


@pytest.mark.parametrize("case", sorted(plans_that_differ()))
def test_a_state_of_another_plan_is_refused_and_the_first_difference_named(case: str) -> None:
    state = iter(hr.Dataset.range(5).batch(2)).state_dict()
    other, named = plans_that_differ()[case]
    with iter(other) as iterator:
        first = next(iterator)
        with pytest.raises(hr.errors.InvalidArgumentError, match=named) as caught:
            iterator.load_state_dict(state)
        assert "another plan" in str(caught.value)
        assert_same([first, *iterator], list(other))


def test_zips_of_another_structure_are_other_plans() -> None:
    one, two = hr.Dataset.range(5), hr.Dataset.range(5)
    state = iter(hr.Dataset.zip((one, two))).state_dict()
    for other in (hr.Dataset.zip({"a": one, "b": two}), hr.Dataset.zip(((one,), two))):
        with pytest.raises(hr.errors.InvalidArgumentError, match="zip"):
            iter(other).load_state_dict(state)


def test_what_only_makes_a_plan_faster_is_not_part_of_its_identity() -> None:
    state = iter(hr.Dataset.range(5).map(add_one).batch(2)).state_dict()
    faster = hr.Dataset.range(5).map(add_one, num_parallel_calls=4, deterministic=True).prefetch(2).batch(2).prefetch(9)
    iterator = iter(faster.with_options(hr.Options(num_workers=1)))
    iterator.load_state_dict(state)
    assert_same([np.array([1, 2]), np.array([3, 4]), np.array([5])], list(iterator))


def damages(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a state."""
    if path:
        yield path
    items = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list) else ()
    for key, value in items:
        yield from damages(value, (*path, key))


def damaged(state: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    broken: Any = copy.deepcopy(state)
    place = broken
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    whole: dict[str, Any] = broken
    return whole


@pytest.mark.parametrize("value", [..., None, "x", -1, [], {}], ids=repr)
def test_a_state_damaged_anywhere_is_refused_and_the_iterator_stays_as_it_was(value: Any) -> None:
    dataset = hr.Dataset.range(20).shuffle(4).interleave(few(6), cycle_length=2).batch(2).take(9)
    with iter(dataset) as iterator:
        given_before = [next(iterator), next(iterator)]
        state = through_json(iterator.state_dict())
        for path in damages(state):
            broken = damaged(state, path, value)
            if broken == state:
                continue
            with pytest.raises(hr.errors.InvalidArgumentError):
                iterator.load_state_dict(broken)
        rest = list(iterator)
        iterator.load_state_dict(state)
        assert_same(rest, list(iterator))
        assert len(given_before) == 2


@pytest.mark.parametrize("nonsense", [None, 3, "state", [], {}, {"version": 1}, {"version": 99}], ids=repr)
def test_what_is_no_state_is_refused(nonsense: Any) -> None:
    with iter(hr.Dataset.range(3)) as iterator:
        with pytest.raises(hr.errors.InvalidArgumentError):
            iterator.load_state_dict(nonsense)
        assert list(iterator) == [0, 1, 2]


def test_a_state_of_a_later_version_says_so() -> None:
    with iter(hr.Dataset.range(3)) as iterator, pytest.raises(hr.errors.InvalidArgumentError, match="version 99"):
        iterator.load_state_dict({**iterator.state_dict(), "version": 99})


# --------------------------------------------------------------------------------- index space


class CountedReads:
    """Counts how many rows are fetched from arrays, whoever fetches them."""

    def __init__(self) -> None:
        self.rows = 0

    def __enter__(self) -> Self:
        self._patches = [
            mock.patch.object(sources.ArraysSource, name, self._counting(getattr(sources.ArraysSource, name)))
            for name in ("rows", "columns")
        ]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()

    def _counting(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def counting(source: Any, indices: Any) -> Any:
            self.rows += len(indices)
            return read(source, indices)

        return counting


LENGTH = 100_000


INDEX_SPACE: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "source": lambda ds: ds,
    "batch": lambda ds: ds.batch(10),
    "shuffle of all": lambda ds: ds.shuffle(LENGTH, seed=1).batch(10),
    "shuffle of some": lambda ds: ds.shuffle(50, seed=1).batch(10),
    "endless": lambda ds: ds.repeat().shuffle(50, seed=1).batch(10),
    "choices": lambda ds: ds.skip(7).shard(3, 1).take(LENGTH).enumerate().batch(2),
    "zip": lambda ds: hr.Dataset.zip((ds, ds.shuffle(100))).batch(10),
    "two": lambda ds: ds.concatenate(ds).batch(10).prefetch(2),
}


@pytest.mark.parametrize("plan", sorted(INDEX_SPACE))
def test_in_index_space_a_late_state_is_as_small_and_as_cheap_as_an_early_one(plan: str) -> None:
    dataset = INDEX_SPACE[plan](hr.Dataset.from_tensor_slices(np.arange(LENGTH)))

    def cost_after(count: int) -> tuple[int, int]:
        with in_blocks_of([7]), iter(dataset) as iterator:
            for _ in range(count):
                next(iterator)
            state = iterator.state_dict()
            expected = next(iterator)
        with CountedReads() as reads, in_blocks_of([1]), iter(dataset) as restored:
            restored.load_state_dict(state)
            assert_same([expected], [next(restored)])
        return len(json.dumps(state["position"])), reads.rows

    early_size, early_rows = cost_after(20)
    late_size, late_rows = cost_after(900)
    assert late_size <= early_size + 40  # longer numbers, no more of them
    assert late_rows <= early_rows + 60  # what a buffer or a batch holds, however far the position


def test_a_shuffled_source_is_gathered_in_batches_and_never_row_by_row() -> None:
    dataset = hr.Dataset.from_tensor_slices(np.arange(1000)).shuffle(1000, seed=1).batch(50)
    row_by_row = mock.patch.object(sources.ArraysSource, "rows", side_effect=AssertionError("read row by row"))
    with row_by_row, CountedReads() as reads:
        batches = list(dataset)
    assert reads.rows == 1000
    assert sorted(np.concatenate(batches).tolist()) == list(range(1000))


# ------------------------------------------------------------------------- generators of its own


def test_a_generator_that_saves_its_own_place_is_not_run_again() -> None:
    dataset = hr.Dataset.from_generator(Resumable, args=(500,))
    for executor in ("thread", "inline"):
        chosen = dataset.with_options(hr.Options(executor=executor))
        with in_blocks_of([7]):
            expected, states = history(chosen, Way(hr.Options()), limit=400)
            Resumable.asked = 0
            assert_same(expected[300:310], resumed(chosen, states[300], Way(hr.Options()), limit=10))
        assert Resumable.asked < 40  # what was read ahead of the place, never the 300 before it


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
