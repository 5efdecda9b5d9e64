"""Batches of scalars and records in any byte order have one type, whoever stacks them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr

RECORD = np.dtype([("a", ">i4"), ("b", "f8")])


def big_endian(number: int) -> Any:
    return np.array(number, ">i4")[()]


def big_endian_row(number: int) -> Any:
    return np.arange(number, number + 2).astype(">i4")


def record_array(number: int) -> Any:
    return np.array([(number, 2.0)], RECORD).view(np.recarray)


def record(number: int) -> Any:
    return np.array((number, 2.0), RECORD)[()]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("function", [big_endian, big_endian_row, record_array, record])
def test_a_batch_has_one_type_however_it_is_made(function: Callable[[int], Any], size: int) -> None:
    numbers = hr.Dataset.range(5)
    datasets = [
        numbers.map(function).batch(size).with_options(hr.Options(executor=executor))
        for executor in ("inline", "thread", "subprocess")
    ]
    datasets += [
        numbers.map(function, num_parallel_calls=2, executor=executor).batch(size).prefetch(1)
        for executor in (None, "process")
    ]
    first, *others = [[(type(batch), batch.dtype, batch.tolist()) for batch in ds] for ds in datasets]
    assert all(other == first for other in others)
