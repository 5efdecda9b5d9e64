"""What window gives, at every edge as TensorFlow 2.21 was seen to give it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import DataError, HeadraceError, InvalidArgumentError
from headrace.physical.made import MOST_BYTES
from headrace.testing import check_every_restore_point
from headrace.testing.restoring import delivered

EXECUTORS = ("inline", "thread")


def failing_on(*bad: int) -> Callable[[int], int]:
    def give(number: int) -> int:
        if number in bad:
            raise ValueError("bad")
        return number

    return give


def windows(dataset: hr.Dataset, *arguments: Any, executor: str = "thread", **named: Any) -> list[Any]:
    """The contents of each window; None where it failed."""
    built = dataset.window(*arguments, **named).with_options(hr.Options(executor=executor))
    with iter(built) as iterator:
        return [None if isinstance(one, HeadraceError) else list(one) for one in delivered(iterator, 100)]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("arguments", "expected", "whole"),
    [
        ((3, 1, 2), [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5], [4, 6], [5], [6]], 3),
        ((3, 5, 1), [[0, 1, 2], [5, 6]], 1),
        ((2, 3, 1), [[0, 1], [3, 4], [6]], 2),
        ((2, 3, 2), [[0, 2], [3, 5], [6]], 2),
        ((3, 2, 1), [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]], 3),
        ((3, None, 2), [[0, 2, 4], [3, 5], [6]], 1),
        ((7,), [[0, 1, 2, 3, 4, 5, 6]], 1),
        ((10,), [[0, 1, 2, 3, 4, 5, 6]], 0),
        ((1,), [[0], [1], [2], [3], [4], [5], [6]], 7),
    ],
)
def test_windows_begin_every_shift_elements_and_the_last_ones_are_shorter(
    executor: str, arguments: tuple[Any, ...], expected: list[list[int]], whole: int
) -> None:
    numbers = hr.Dataset.range(7)
    assert windows(numbers, *arguments, executor=executor) == expected
    assert windows(numbers, *arguments, executor=executor, drop_remainder=True) == expected[:whole]
    assert len(numbers.window(*arguments)) == len(expected)
    whole_ones: Any = numbers.window(*arguments, drop_remainder=True)  # type: ignore[misc]  # at most three come before it
    assert len(whole_ones) == whole


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("arguments", "bad", "expected"),
    [
        ((3,), [2, 3], [None, None, [6, 7, 8]]),
        ((3,), [3, 4, 5], [[0, 1, 2], None, [6, 7, 8]]),
        ((3,), [8], [[0, 1, 2], [3, 4, 5], None]),
        ((3, 3, 2), [1], [[0, 2, 4], [3, 5, 7], [6, 8]]),
        ((2, 4), [2, 3], [[0, 1], [4, 5], [8]]),
        ((2, 5, 2), [3, 4, 5], [[0, 2], None]),
    ],
)
def test_a_failure_takes_the_windows_with_it_that_would_hold_the_element(
    executor: str, arguments: tuple[int, ...], bad: list[int], expected: list[Any]
) -> None:
    assert windows(hr.Dataset.range(9).map(failing_on(*bad)), *arguments, executor=executor) == expected


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_failure_in_a_window_that_is_dropped_is_dropped_with_it(executor: str) -> None:
    numbers = hr.Dataset.range(8).map(failing_on(6))
    assert windows(numbers, 3, executor=executor, drop_remainder=True) == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("field", ["size", "shift", "stride"])
@pytest.mark.parametrize("value", [0, -1])
def test_numbers_below_one_are_refused(field: str, value: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{field} must be at least 1"):
        arguments: dict[str, Any] = {"size": 2, field: value}
        hr.Dataset.range(3).window(**arguments)


def test_there_are_no_windows_of_nothing() -> None:
    assert windows(hr.Dataset.range(0), 3) == []
    assert hr.Dataset.range(3).repeat().window(2).cardinality() == hr.INFINITE_CARDINALITY


@pytest.mark.parametrize("executor", EXECUTORS)
def test_each_component_is_a_dataset_in_the_structure_of_the_elements(executor: str) -> None:
    data = {"a": [1, 2, 3], "b": ([4, 5, 6], ["x", "y", "z"])}
    dataset = hr.Dataset.from_tensor_slices(data).window(2).with_options(hr.Options(executor=executor))
    found = [(list(window["a"]), list(window["b"][0]), list(window["b"][1])) for window in dataset]
    assert found == [([1, 2], [4, 5], ["x", "y"]), ([3], [6], ["z"])]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_window_can_be_read_twice_and_knows_its_length(executor: str) -> None:
    for window in hr.Dataset.range(5).window(3).with_options(hr.Options(executor=executor)):
        assert list(window) == list(window)
        assert len(window) == len(list(window))
        assert window.element_spec == hr.TensorSpec((), np.int64)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_overlapping_windows_share_cannot_be_written_to(executor: str) -> None:
    rows = hr.Dataset.range(3).map(lambda n: np.full(2, n)).with_options(hr.Options(executor=executor))
    for window in rows.window(2, 1):
        for row in window:
            assert not row.flags.writeable
    for batch in rows.window(2, 1).flat_map(lambda window: window.batch(2)):
        batch[:] = 0


def test_an_error_inside_a_window_says_which_element_of_which_window() -> None:
    numbers = hr.Dataset.range(9).window(3).flat_map(lambda window: window.map(failing_on(4)))
    with pytest.raises(DataError, match="element 4 of elements 3 … 5"):
        list(numbers)


def test_elements_of_two_structures_have_no_window_in_common() -> None:
    mixed = hr.Dataset.range(4).map(lambda n: (n, n) if n == 3 else n)
    assert windows(mixed, 2) == [[0, 1], None]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_state_of_windows_goes_on_everywhere(executor: str) -> None:
    dataset = hr.Dataset.range(11).map(failing_on(4)).window(3, 2).flat_map(lambda w: w.shuffle(3).batch(2))
    options = hr.Options(executor=executor)
    assert check_every_restore_point(dataset.with_options(options), executors=EXECUTORS) > 9


def test_a_window_that_is_read_can_be_resumed() -> None:
    window = next(iter(hr.Dataset.range(9).window(5)))
    assert check_every_restore_point(window.map(lambda x: -x), executors=EXECUTORS) == 6


def test_a_state_is_the_place_of_a_window_and_nothing_else() -> None:
    with iter(hr.Dataset.range(10_000).window(1_000, 1)) as iterator:
        next(iterator)
        assert len(str(iterator.state_dict())) < 1_000


class _Element:
    """Something that can tell whether it is still there."""


@pytest.mark.parametrize(("shift", "every"), [(1, 50), (50, 2)])
def test_a_window_that_is_kept_keeps_few_elements_beside_its_own(shift: int, every: int) -> None:
    alive: weakref.WeakSet[_Element] = weakref.WeakSet()

    def made(number: int) -> np.ndarray:
        array = np.empty(MOST_BYTES // np.dtype(object).itemsize + 1, object)  # a block of less is kept whole
        array[0] = _Element()
        alive.add(array[0])
        return array

    iterator = iter(hr.Dataset.range(300).map(made).window(2, shift))
    kept = [window for number, window in enumerate(iterator) if number % every == 0]
    iterator.close()
    del iterator
    gc.collect()
    assert len(kept) >= 1
    assert len(alive) < 3 * len(kept)


@given(
    st.integers(0, 20),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 3),
    st.booleans(),
    st.sets(st.integers(0, 19), max_size=3),
)
def test_windows_are_slices_of_the_list_of_elements(
    count: int, size: int, shift: int, stride: int, drop: bool, bad: set[int]
) -> None:
    numbers = list(range(count))
    slices = [numbers[begin : begin + (size - 1) * stride + 1 : stride] for begin in range(0, count, shift)]
    expected = [None if bad & set(one) else one for one in slices if len(one) == size or not drop]
    dataset = hr.Dataset.range(count).map(failing_on(*bad))
    for executor in EXECUTORS:
        assert windows(dataset, size, shift, stride, executor=executor, drop_remainder=drop) == expected
