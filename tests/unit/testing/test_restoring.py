"""The public checker finds what breaks exact resume, and says where."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.testing import check_every_restore_point
from headrace.testing.restoring import same, unmatched

data = hr.Dataset


def test_it_counts_its_restore_points() -> None:
    assert check_every_restore_point(data.range(5)) == 6
    assert check_every_restore_point(data.range(0)) == 1
    assert check_every_restore_point(data.counter(), max_elements=4) == 5
    assert check_every_restore_point(data.range(9).shuffle(4).batch(2), executors=("thread", "inline")) == 6


def test_it_accepts_errors_that_come_back_at_the_same_place() -> None:
    assert check_every_restore_point(data.range(5).map(lambda x: 6 // (x - 2))) == 6


def test_it_finds_a_function_that_remembers() -> None:
    counter = itertools.count()
    with pytest.raises(AssertionError, match=r"restored after \d elements, element \d is \d+ instead of \d+"):
        check_every_restore_point(data.range(5).map(lambda x: next(counter)))


def test_it_finds_elements_that_are_lost() -> None:
    runs = itertools.count()

    def shrink() -> Any:
        return iter(range(5 - next(runs)))

    with pytest.raises(AssertionError, match="follow instead of"):
        check_every_restore_point(data.from_generator(shrink))


def test_it_finds_randomness_that_is_not_the_plans() -> None:
    draw = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="instead of"):
        check_every_restore_point(data.range(5).map(lambda x: draw.random()))


def test_out_of_order_it_compares_what_came_and_not_when() -> None:
    unordered = data.range(20).map(lambda x: x, num_parallel_calls=3, deterministic=False)
    assert check_every_restore_point(unordered, in_order=False) == 21


class Nameless:
    """Its text is its address, which says nothing of the order of two."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nameless) and self.number == other.number

    __hash__ = None  # type: ignore[assignment]  # nobody asks


def long_array(number: int) -> np.ndarray:
    """An array whose text leaves out where it differs from others."""
    array = np.zeros(5_000)
    array[2_500] = number
    return array


@pytest.mark.parametrize(
    "made",
    [Nameless, long_array, lambda x: {"a": Nameless(-x)}],
    ids=["an address", "a long array", "an address inside"],
)
def test_out_of_order_elements_are_told_apart_by_what_they_are_and_not_by_their_text(made: Any) -> None:
    first = [made(number) for number in range(6)]
    assert unmatched(first, [made(number) for number in (3, 5, 0, 4, 2, 1)]) == ([], [])
    lost, added = unmatched([*first, made(2)], [made(number) for number in (3, 7, 0, 2, 4, 1, 5)])
    assert (len(lost), len(added)) == (1, 1)
    assert same(lost[0], made(2))
    assert same(added[0], made(7))


def test_out_of_order_it_finds_elements_that_come_twice_and_those_that_are_lost() -> None:
    runs = itertools.count()

    def another() -> Any:
        return iter([1, 2, 3, next(runs)])

    with pytest.raises(AssertionError, match=r"restored after 0 elements, \[0\] do not come and \[1\] come instead"):
        check_every_restore_point(data.from_generator(another), in_order=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(1, 1.0, id="types of numbers"),
        pytest.param(1, np.int64(1), id="a Python number and NumPy's"),
        pytest.param(1, True, id="a number and a bool"),
        pytest.param(np.zeros(2), np.zeros(3), id="shapes"),
        pytest.param(np.zeros(2), np.zeros(2, np.float32), id="dtypes"),
        pytest.param(np.zeros(2), np.array([0.0, -0.0]), id="signs of zero"),
        pytest.param((1, 2), (1, (2,)), id="structures"),
        pytest.param({"a": 1}, {"b": 1}, id="keys"),
        pytest.param(hr.errors.DataError("a"), hr.errors.DataError("b"), id="messages"),
        pytest.param(hr.errors.DataError("a"), hr.errors.DataLossError("a"), id="kinds of errors"),
        pytest.param(hr.errors.DataError("a"), 1, id="an error and a number"),
    ],
)
def test_what_differs_is_not_the_same(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)
    assert same(one, one)
    assert same(other, other)


def test_nan_is_the_same_as_itself() -> None:
    assert same(float("nan"), float("nan"))
    assert same(np.array([np.nan, 1]), np.array([np.nan, 1]))
    assert same((float("nan"), {"a": None}), (float("nan"), {"a": None}))


def test_tensors_are_compared_by_their_values() -> None:
    torch = pytest.importorskip("torch", reason="pip install torch")
    one = torch.tensor([1.0, float("nan")])
    assert same({"x": one}, {"x": one.clone()})
    assert not same(one, one + 1)
    assert not same(one, one.double())
    assert not same(one, one[:1])
    assert same(torch.zeros(0), torch.zeros(0))
    assert check_every_restore_point(hr.Dataset.range(4).map(lambda x: (torch.full((2,), x), x))) == 5
