"""take_while, scan, unique, ignore_errors, assert_cardinality, random_map, vectorized functions: their edges."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import DataError, FailedPreconditionError, HeadraceError, InvalidArgumentError
from headrace.testing.restoring import check_every_restore_point, same

INLINE = hr.Options(executor="inline", optimize=False)


def given(dataset: hr.Dataset) -> list[Any]:
    """What both backends give, from any place on."""
    found = list(dataset.with_options(INLINE))
    assert same(list(dataset), found)
    check_every_restore_point(dataset)
    return found


def broken_at(*numbers: int) -> Any:
    def function(x: int) -> int:
        if x in numbers:
            raise ValueError(f"{x} is wrong")
        return x

    return function


def everything(dataset: hr.Dataset) -> list[Any]:
    """Elements, and the words of errors in their places."""
    found: list[Any] = []
    with iter(dataset) as iterator:
        while True:
            try:
                found.append(next(iterator))
            except StopIteration:
                return found
            except HeadraceError as error:
                found.append(type(error))


# ------------------------------------------------------------------------- take_while


@pytest.mark.parametrize(("stop", "expected"), [(0, []), (1, [0]), (3, [0, 1, 2]), (9, [0, 1, 2, 3])])
def test_elements_are_taken_before_the_first_that_does_not_suit(stop: int, expected: list[int]) -> None:
    assert given(hr.Dataset.range(4).take_while(lambda x: x < stop)) == expected


def test_nothing_comes_behind_the_first_that_does_not_suit() -> None:
    dataset = hr.Dataset.from_tensor_slices([1, 2, 9, 1])
    assert given(dataset.take_while(lambda x: x < 5)) == [1, 2]
    assert given(dataset.take_while(lambda x: x < 5).repeat(2)) == [1, 2, 1, 2]


def test_a_predicate_that_returns_no_bool_is_an_error_in_its_place() -> None:
    assert everything(hr.Dataset.range(2).take_while(lambda x: x)) == [InvalidArgumentError] * 2


# ------------------------------------------------------------------------- scan


def running_sum(state: int, x: int) -> tuple[int, int]:
    return state + x, state + x


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_state_goes_from_element_to_element(count: int) -> None:
    assert given(hr.Dataset.range(count).scan(0, running_sum)) == np.cumsum(range(count)).tolist()


def test_states_may_be_structures_of_arrays_and_texts() -> None:
    def step(state: Any, x: int) -> Any:
        return {"seen": np.append(state["seen"][1:], x), "name": state["name"] + "."}, (state["seen"], state["name"])

    found = given(hr.Dataset.range(3).scan({"seen": [7, 7], "name": ""}, step))
    assert [(array.tolist(), name) for array, name in found] == [([7, 7], ""), ([7, 0], "."), ([0, 1], "..")]


def test_each_epoch_of_a_scan_begins_anew() -> None:
    assert given(hr.Dataset.range(3).scan(0, running_sum).repeat(2)) == [0, 1, 3, 0, 1, 3]


@hypothesis.given(st.sets(st.integers(0, 99)), st.sampled_from([1, 7, 32]))
def test_outputs_of_a_scan_that_are_of_other_types_are_stacked_as_they_are(others: set[int], size: int) -> None:
    def step(state: int, x: int) -> tuple[int, Any]:
        return state + x, x + 0.5 if x in others else state

    dataset = hr.Dataset.range(100).scan(0, step).batch(size)
    found = everything(dataset.with_options(INLINE))
    assert same(everything(dataset), found)


def test_an_element_on_which_a_scan_fails_leaves_its_state_as_it_was() -> None:
    dataset = hr.Dataset.range(4).scan(0, lambda state, x: running_sum(state, broken_at(1)(x)))
    assert everything(dataset) == [0, DataError, 2, 5]


@pytest.mark.parametrize(
    ("initial", "other"),
    [
        (0, 0.5),
        (0, (0,)),
        ((0, 0.5), (0, 0)),
        ((0, 0.5), (0, 0.5, 1)),
        ({"a": 0, "b": 0.5}, {"a": 0, "c": 0.5}),
        ({"a": 0, "b": 0.5}, {"a": 0, "b": 0}),
        (np.zeros(2), np.zeros(2, np.int64)),
        ({"x": (0, np.zeros(1))}, {"x": (0, np.zeros(1, np.float32))}),
    ],
)
@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_state_that_became_another_is_refused_in_its_place_and_the_one_before_stays(
    initial: Any, other: Any, executor: Any
) -> None:
    handed = []

    def step(state: Any, x: int) -> Any:
        handed.append(state)
        return (other if x % 5 == 3 else state), x

    found = everything(hr.Dataset.range(20).scan(initial, step).with_options(hr.Options(executor=executor)))
    assert found == [DataError if x % 5 == 3 else x for x in range(20)]
    assert all(same(state, initial) for state in handed)


class Sums(NamedTuple):
    n: int
    text: str


@pytest.mark.parametrize("initial", [{"n": 0, "text": ""}, Sums(0, ""), (0, ""), {"n": (0, ""), "text": np.zeros(1)}])
def test_a_function_may_change_a_state_that_it_was_handed_and_one_that_it_gave(initial: Any) -> None:
    kept: list[Any] = []

    def step(state: Any, x: int) -> Any:
        if not isinstance(state, dict):
            return state, {"x": x, "n": str(state)}
        for given_back in kept[-1:]:
            given_back["n"] = "changed later"
        new = dict(state)
        state["n"] = "changed"
        kept.append(new)
        return new, {"x": x, "n": str(new["n"])}

    found = given(hr.Dataset.range(30).scan(initial, step))
    assert [one["x"] for one in found] == list(range(30))
    assert len({one["n"] for one in found}) == 1


@pytest.mark.parametrize("result", [3, (1, 2, 3), None])
def test_a_scan_that_returns_no_pair_is_told_so(result: Any) -> None:
    with pytest.raises(HeadraceError, match="scan"):
        list(hr.Dataset.range(2).scan(0, lambda state, x: result))


# ------------------------------------------------------------------------- unique


@pytest.mark.parametrize(
    ("elements", "expected"), [([1], [1]), ([1, 1], [1]), ([3, 1, 3, 2, 1], [3, 1, 2]), (["b", "a", "b"], ["b", "a"])]
)
def test_each_element_comes_once_in_the_order_of_the_first(elements: list[Any], expected: list[Any]) -> None:
    assert given(hr.Dataset.from_tensor_slices(elements).unique()) == expected
    assert given(hr.Dataset.from_tensor_slices(elements).unique().repeat(2)) == expected * 2


def test_what_stood_behind_a_failure_is_seen_again_when_a_state_is_loaded() -> None:
    numbers = [0.5, 1, 2, 0.5, 1, 2, 3, 0.5, 4, 3, 1, 5]
    dataset = hr.Dataset.range(len(numbers)).map(numbers.__getitem__).unique().ignore_errors()
    assert given(dataset) == [1, 2, 3, 4, 5]


def test_nothing_is_unique_in_an_empty_dataset() -> None:
    assert given(hr.Dataset.range(0).unique()) == []


def test_structures_and_vectors_are_refused_by_unique() -> None:
    with pytest.raises(TypeError):
        hr.Dataset.from_tensor_slices(([1], [2])).unique()
    assert everything(hr.Dataset.range(2).map(lambda x: [x, x]).unique()) == [DataError] * 2


# ------------------------------------------------------------------------- ignore_errors, on_error


@pytest.mark.parametrize("broken", [(), (0,), (3,), (0, 1, 2, 3), (1, 2)])
def test_failures_are_left_out_wherever_they_are(broken: tuple[int, ...]) -> None:
    good = [x for x in range(4) if x not in broken]
    assert given(hr.Dataset.range(4).map(broken_at(*broken)).ignore_errors()) == good
    for calls in (None, 2):
        mapped = hr.Dataset.range(4).map(broken_at(*broken), num_parallel_calls=calls, on_error="skip")
        assert given(mapped) == good


def test_each_failure_is_named_in_the_log_when_asked(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="headrace"):
        list(hr.Dataset.range(3).map(broken_at(1)).ignore_errors())
        assert not caplog.messages
        list(hr.Dataset.range(3).map(broken_at(1)).ignore_errors(log_warning=True))
    (message,) = caplog.messages
    assert "1 is wrong" in message
    assert "element 1" in message


def test_what_a_function_makes_of_an_error_comes_in_its_place() -> None:
    dataset = hr.Dataset.range(3).map(broken_at(1), on_error=lambda error: -1)
    assert given(dataset) == [0, -1, 2]
    unhelpful = hr.Dataset.range(3).map(broken_at(1), on_error=lambda error: 1 // 0)
    assert everything(unhelpful) == [0, DataError, 2]


def test_more_failures_than_are_allowed_are_an_error_and_counted() -> None:
    dataset = hr.Dataset.range(5).map(broken_at(0, 2, 4), on_error="skip").with_options(hr.Options(max_failures=2))
    assert everything(dataset) == [1, 3, DataError]
    with iter(dataset) as iterator, pytest.raises(DataError, match="failure 3, and max_failures is 2"):
        list(iterator)


def test_an_unknown_word_for_on_error_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="on_error must be 'raise', 'skip' or a function"):
        hr.Dataset.range(3).map(broken_at(), on_error="ignore")


# ------------------------------------------------------------------------- assert_cardinality


def test_a_number_that_is_right_changes_nothing_but_what_is_known() -> None:
    dataset = hr.Dataset.range(6).filter(lambda x: x % 2 == 0)
    assert dataset.cardinality() == hr.UNKNOWN_CARDINALITY
    assert len(dataset.assert_cardinality(3)) == 3
    assert given(dataset.assert_cardinality(3)) == [0, 2, 4]


@pytest.mark.parametrize(("expected", "found"), [(2, 3), (4, 3), (0, 1), (1, 0)])
def test_a_number_that_is_wrong_is_an_error_that_says_both(expected: int, found: int) -> None:
    dataset = hr.Dataset.range(found).assert_cardinality(expected)
    for options in (INLINE, hr.Options()):
        with pytest.raises(FailedPreconditionError, match=str(expected)):
            list(dataset.with_options(options))


def test_an_end_where_there_must_be_none_is_an_error() -> None:
    endless = hr.Dataset.range(3).repeat().assert_cardinality(hr.INFINITE_CARDINALITY)
    assert list(endless.take(4)) == [0, 1, 2, 0]
    with pytest.raises(FailedPreconditionError):
        list(hr.Dataset.range(3).assert_cardinality(hr.INFINITE_CARDINALITY))
    assert list(hr.Dataset.range(3).assert_cardinality(hr.UNKNOWN_CARDINALITY)) == [0, 1, 2]
    with pytest.raises(InvalidArgumentError):
        hr.Dataset.range(3).assert_cardinality(-3)


# ------------------------------------------------------------------------- random_map


def drawn(rng: np.random.Generator, x: int) -> tuple[int, int]:
    return x, int(rng.integers(1_000_000))


@pytest.mark.parametrize("count", [0, 1, 7])
def test_random_numbers_depend_on_the_element_alone(count: int) -> None:
    plain = list(hr.Dataset.range(count).random_map(drawn, seed=3).with_options(INLINE))
    for calls in (None, 1, 3):
        assert list(hr.Dataset.range(count).random_map(drawn, seed=3, num_parallel_calls=calls)) == plain
    check_every_restore_point(hr.Dataset.range(count).random_map(drawn, seed=3, num_parallel_calls=2))


def test_epochs_seeds_and_elements_have_numbers_of_their_own() -> None:
    dataset = hr.Dataset.range(20).random_map(drawn, seed=3)
    first, second = list(dataset), list(dataset)
    other = list(hr.Dataset.range(20).random_map(drawn, seed=4))
    assert len({number for _, number in first + second + other}) == 60


def test_a_failure_shifts_the_numbers_of_no_other_element() -> None:
    good = list(hr.Dataset.range(5).random_map(drawn, seed=1))
    failing = hr.Dataset.range(5).random_map(lambda rng, x: drawn(rng, broken_at(2)(x)), seed=1)
    assert everything(failing) == [*good[:2], DataError, *good[3:]]


# ------------------------------------------------------------------------- vectorized


@pytest.mark.parametrize("count", [0, 1, 8, 1000])
@pytest.mark.parametrize("calls", [None, 2])
def test_a_vectorized_function_gives_what_it_would_one_by_one(count: int, calls: int | None) -> None:
    function = hr.vectorized(lambda x: {"double": 2 * x, "rows": np.stack([x, -x], axis=1)})
    dataset = hr.Dataset.range(count).map(function, num_parallel_calls=calls)
    found = list(dataset)
    assert same(found, [{"double": 2 * x, "rows": np.array([x, -x])} for x in range(count)])
    if count < 10:
        check_every_restore_point(dataset)


def test_only_the_elements_fail_on_which_a_vectorized_function_fails() -> None:
    def strict(x: np.ndarray) -> np.ndarray:
        if (x == 2).any():
            raise ValueError("2 is wrong")
        return x

    assert everything(hr.Dataset.range(5).map(hr.vectorized(strict))) == [0, 1, DataError, 3, 4]


@pytest.mark.parametrize(
    "wrong", [lambda x: x[:-1], lambda x: 3, lambda x: None, lambda x: x.sum()], ids=["short", "int", "none", "scalar"]
)
def test_what_is_no_array_of_as_many_elements_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a vectorized function returns"):
        next(iter(hr.Dataset.range(4).map(hr.vectorized(wrong))))


def test_a_vectorized_predicate_filters() -> None:
    assert given(hr.Dataset.range(7).filter(hr.vectorized(lambda x: x % 3 == 0))) == [0, 3, 6]


def test_nothing_is_lost_behind_failures_that_are_asked_for_one_by_one() -> None:
    def fails(state: int, number: int) -> tuple[int, int]:
        if number in {0, 1, 4}:
            raise ValueError("no luck")
        return state + 1, number

    dataset = hr.Dataset.range(12).scan(0, fails).batch(2)
    found = [batch.tolist() for batch in dataset.ignore_errors()]
    assert found == [[2, 3], [6, 7], [8, 9], [10, 11]]
