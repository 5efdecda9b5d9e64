"""A resumed run reads elements again that were held: where their function fails now, that is what is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.laws.running import REFERENCE, Way, running

import headrace as hr
from headrace.errors import DataError

WAYS = [REFERENCE, Way(hr.Options(executor="inline")), Way(hr.Options(executor="thread"))]


@pytest.mark.parametrize("way", WAYS, ids=["reference", "inline", "thread"])
@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("name", ["flat_map", "interleave"])
def test_an_opener_that_fails_when_it_is_read_again_says_why(name: str, calls: int | None, way: Way) -> None:
    fails = False

    def read(number: int) -> int:
        if fails:
            raise OSError("the disk is gone")
        return number

    numbers = hr.Dataset.range(3).map(read, num_parallel_calls=calls)

    def rows(number: int) -> hr.Dataset:
        return hr.Dataset.range(number * 10, number * 10 + 4)

    ds = numbers.flat_map(rows) if name == "flat_map" else numbers.interleave(rows, cycle_length=1)
    with running(ds, way) as iterator:
        assert [int(next(iterator)) for _ in range(6)] == [0, 1, 2, 3, 10, 11]
        state = iterator.state_dict()
    fails = True
    with running(ds, way) as iterator, pytest.raises(DataError, match="the disk is gone"):
        iterator.load_state_dict(state)
        next(iterator)


HELD: list[Callable[[hr.Dataset], Any]] = [
    lambda numbers: numbers.group_by_window(lambda x: x % 2, lambda _, window: window.batch(3), 3),
    lambda numbers: numbers.map(lambda x: np.full(x % 3 + 2, x)).pack(7),
]


@pytest.mark.parametrize("way", WAYS, ids=["reference", "inline", "thread"])
@pytest.mark.parametrize("holding", HELD, ids=["group_by_window", "pack"])
def test_an_element_that_was_held_and_fails_when_it_is_read_again_says_why(
    holding: Callable[[hr.Dataset], Any], way: Way
) -> None:
    fails = False

    def read(number: int) -> int:
        if fails:
            raise OSError("the disk is gone")
        return number

    ds = holding(hr.Dataset.range(30).map(read))
    with running(ds, way) as iterator:
        next(iterator)
        state = iterator.state_dict()
    fails = True
    with running(ds, way) as iterator, pytest.raises(DataError, match="the disk is gone"):
        iterator.load_state_dict(state)
        next(iterator)
