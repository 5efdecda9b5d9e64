from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.unit.train.running import everything_from, started

from headrace.coordination import get_collection
from headrace.errors import InvalidArgumentError
from headrace.train import batch, slice_input_producer


def test_slices_of_one_index_come_together() -> None:
    next_slice = slice_input_producer([np.arange(40) * 10, [str(number) for number in range(40)]], num_epochs=2)
    with started():
        slices = everything_from(next_slice)
    assert sorted(slices) == sorted([(number * 10, str(number)) for number in range(40)] * 2)
    assert [runner.name for runner in get_collection()] == ["input_producer/input_producer"]


def test_a_dict_of_arrays_gives_dicts() -> None:
    next_slice = slice_input_producer({"x": [[1, 2], [3, 4]], "y": [True, False]}, num_epochs=1, shuffle=False)
    with started():
        first, second = everything_from(next_slice)
    assert first["x"].tolist() == [1, 2]
    assert (first["y"], second["y"]) == (True, False)


def test_scalars_are_what_elements_carry() -> None:
    next_slice = slice_input_producer([[1], [1.5], ["a"], np.ones(1, np.float32)], num_epochs=1)
    with started():
        (found,) = everything_from(next_slice)
    assert [type(value) for value in found] == [int, float, str, np.float32]


def test_slices_are_pulled_by_the_threads_of_a_batch_without_mixing() -> None:
    next_slice = slice_input_producer([np.arange(300), np.arange(300) * 2], num_epochs=1)
    next_batch = batch(next_slice, batch_size=10, num_threads=3)
    with started():
        batches = everything_from(next_batch)
    assert all((doubled == 2 * numbers).all() for numbers, doubled in batches)
    assert sorted(number for numbers, _ in batches for number in numbers.tolist()) == list(range(300))


def test_the_source_cannot_be_written_to_through_a_slice() -> None:
    rows = np.zeros((2, 3))
    next_slice = slice_input_producer([rows], num_epochs=1)
    with started():
        ((row,), _) = everything_from(next_slice)
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: slice_input_producer([]), "at least one array"),
        (lambda: slice_input_producer([1]), r"the array \[0\] has no first axis"),
        (lambda: slice_input_producer([[1, 2], [1]]), r"the array \[1\] has 1 slices, and the first has 2"),
        (lambda: slice_input_producer([[1, 2]], num_epochs=0), "num_epochs must be at least 1"),
    ],
)
def test_what_cannot_be_sliced_is_refused_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make()
