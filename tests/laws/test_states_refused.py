"""Law 3: a state of another plan, or a damaged one, is refused, and the iterator stays as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.laws.elements import add_one, few
from tests.laws.running import assert_same, through_json

import headrace as hr


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
