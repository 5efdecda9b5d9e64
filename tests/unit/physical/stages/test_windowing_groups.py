"""What group_by_window gives, at every edge as TensorFlow 2.21 was seen to give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import DataError, DataLossError, HeadraceError, InvalidArgumentError
from headrace.testing import check_every_restore_point
from headrace.testing.restoring import delivered

EXECUTORS = ("inline", "thread")


def batched(key: int, group: hr.Dataset) -> hr.Dataset:
    return group.batch(10)


def failing_on(*bad: int, give: Callable[[int], int] = lambda number: number) -> Callable[[int], int]:
    def fail(number: int) -> int:
        if number in bad:
            raise ValueError("bad")
        return give(number)

    return fail


def groups(executor: str, dataset: hr.Dataset, key: Any, reduce: Any = batched, **sizes: Any) -> list[Any]:
    """What comes, as lists; None where it failed."""
    built = dataset.group_by_window(key, reduce, **sizes).with_options(hr.Options(executor=executor))
    with iter(built) as iterator:
        return [None if isinstance(one, HeadraceError) else np.asarray(one).tolist() for one in delivered(iterator, 40)]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_full_groups_come_at_once_and_the_others_at_the_end_by_key(executor: str) -> None:
    def gathered(numbers: list[int], size: int) -> list[Any]:
        return groups(executor, hr.Dataset.from_tensor_slices(np.array(numbers)), lambda x: x, window_size=size)

    assert groups(executor, hr.Dataset.range(10), lambda x: x % 3, window_size=3) == [
        [0, 3, 6],
        [1, 4, 7],
        [2, 5, 8],
        [9],
    ]
    assert gathered([7, -3, 100, 2, 7, -50, 2], 100) == [[-50], [-3], [2, 2], [7, 7], [100]]
    assert gathered([7, 7, 3, 2, 7, 3, 1], 2) == [[7, 7], [3, 3], [1], [2], [7]]
    assert gathered([5], 2) == [[5]]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_nothing_makes_no_groups(executor: str) -> None:
    assert groups(executor, hr.Dataset.range(0), lambda x: x, window_size=3) == []


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_size_below_one_fails_in_place_of_the_element(executor: str) -> None:
    numbers = hr.Dataset.range(4)
    assert groups(executor, numbers, lambda x: x % 2, window_size=0) == [None] * 4
    assert groups(executor, numbers, lambda x: x % 2, window_size_func=lambda key: key) == [None, [1], None, [3]]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_failures_of_input_key_size_and_contents_take_what_tensorflow_loses(executor: str) -> None:
    nine, twelve = hr.Dataset.range(9), hr.Dataset.range(12)
    parity = failing_on(give=lambda x: x % 2)
    assert groups(executor, nine.map(failing_on(2, 3)), parity, window_size=2) == [
        None,
        None,
        [0, 4],
        [1, 5],
        [6, 8],
        [7],
    ]
    assert groups(executor, nine.map(failing_on(8)), parity, window_size=2)[-1] is None
    key = failing_on(3, give=lambda x: x % 2)
    assert groups(executor, nine, key, window_size=2) == [[0, 2], None, [1, 5], [4, 6], [8], [7]]
    size = failing_on(1, give=lambda x: x + 1)
    assert groups(executor, twelve, lambda x: x % 3, window_size_func=size) == [
        *([0], None, [3], None, [6], None, [2, 5, 8], [9], None, [11])
    ]
    inside = groups(executor, twelve, lambda x: x % 3, lambda _, group: group.map(failing_on(1, 5, 9)), window_size=2)
    assert inside == [0, 3, None, 4, 2, None, 6, None, 7, 10, 8, 11]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_failing_reduce_func_takes_its_group_and_is_not_called_again(executor: str) -> None:
    def reduce(key: int, group: hr.Dataset) -> hr.Dataset:
        if key == 1:
            raise ValueError("cannot reduce")
        return group.batch(10)

    expected = [[0, 3], None, [2, 5], [6, 9], None, [8, 11]]
    assert groups(executor, hr.Dataset.range(12), lambda x: x % 3, reduce, window_size=2) == expected
    with pytest.raises(DataError, match=r"'.*reduce' \(test_windowing_groups\.py:\d+\), elements 1 … 4: ValueError"):
        list(hr.Dataset.range(6).group_by_window(lambda x: x % 3, reduce, 2).skip(1))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_datasets_may_be_empty_endless_or_of_something_else(executor: str) -> None:
    numbers = hr.Dataset.range(6)
    assert groups(executor, numbers, lambda x: x % 3, lambda _, group: group.take(0), window_size=1) == []
    assert groups(executor, numbers, lambda x: x % 3, lambda _, group: group.repeat(), window_size=1) == [0] * 40
    of_keys = groups(executor, numbers, lambda x: x % 3, lambda key, _: hr.Dataset.range(key), window_size=2)
    assert of_keys == [0, 0, 1]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_tuples_are_unpacked_for_the_key_and_whole_in_the_group(executor: str) -> None:
    pairs = hr.Dataset.from_tensor_slices((np.arange(5), np.arange(5) * 2))
    options = hr.Options(executor=executor)
    found = list(pairs.group_by_window(lambda x, y: y % 3, batched, 2).with_options(options))
    assert [(x.tolist(), y.tolist()) for x, y in found] == [([0, 3], [0, 6]), ([1, 4], [2, 8]), ([2], [4])]


@pytest.mark.parametrize("key", [np.int32(1), np.array([1]), True, 1.0, "1", 1 << 63])
def test_a_key_must_be_an_int64(key: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="key_func must return one int64"):
        list(hr.Dataset.range(1).group_by_window(lambda _: key, batched, 1))


@pytest.mark.parametrize("key", [np.int64(1), np.array(1), 1])
def test_an_int64_is_a_key_in_every_form(key: Any) -> None:
    assert len(list(hr.Dataset.range(1).group_by_window(lambda _: key, batched, 1))) == 1


def test_either_size_must_be_given_and_not_both() -> None:
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        hr.Dataset.range(1).group_by_window(lambda x: x, batched)
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        hr.Dataset.range(1).group_by_window(lambda x: x, batched, 1, lambda _: 1)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_every_state_of_groups_goes_on_everywhere(executor: str, size: int) -> None:
    dataset = (
        hr.Dataset.range(23)
        .shuffle(5, seed=1)
        .map(failing_on(7))
        .group_by_window(lambda x: x * x % 5, lambda _, group: group.shuffle(3).batch(2), size)
    )
    assert check_every_restore_point(dataset.with_options(hr.Options(executor=executor)), executors=EXECUTORS) > 9


def test_a_restored_run_asks_no_function_for_the_keys_of_what_it_holds() -> None:
    asked: list[int] = []

    def key(number: int) -> int:
        asked.append(number)
        return number % 2

    dataset = hr.Dataset.range(40).group_by_window(key, batched, 10).with_options(hr.Options(executor="inline"))
    with iter(dataset) as first:
        next(first)
        state = first.state_dict()
    asked.clear()
    with iter(dataset) as second:
        second.load_state_dict(state)
        assert next(second).tolist() == list(range(1, 21, 2))
    assert asked == [19]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_held_elements_that_are_not_there_any_more_are_missed_aloud(executor: str) -> None:
    lengths = [40]
    dataset = hr.Dataset.from_generator(lambda: iter(range(lengths[0])))
    dataset = dataset.group_by_window(lambda x: x % 2, batched, 10).with_options(hr.Options(executor=executor))
    with iter(dataset) as first:
        next(first)
        state = first.state_dict()
    lengths[0] = 3
    with iter(dataset) as second:
        second.load_state_dict(state)
        with pytest.raises(DataLossError, match="the data changed"):
            next(second)
        assert list(second) == []
