"""A plan that is sent to other processes, and one that cannot be."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.iterator import DatasetIterator
from headrace.processes.segment import Segment
from headrace.processes.shipping import shipped, unshipped

LOCK = threading.Lock()


def with_a_global(x: Any) -> Any:
    with LOCK:
        return x


class Holder:
    def __init__(self) -> None:
        self.file = threading.Lock()

    def method(self, x: Any) -> Any:
        return x


def with_a_variable() -> Any:
    connection = threading.Lock()
    return lambda x: (connection, x)


def with_a_function() -> Any:
    inner = with_a_variable()
    return lambda x: (inner(x), x)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (with_a_variable(), "variable 'connection', of type lock"),
        (with_a_function(), "variable 'inner', whose variable 'connection', of type lock"),
        (Holder().method, "attribute 'file', of type lock"),
        (functools.partial(lambda a, x: x, threading.Lock()), "argument 'args', of type tuple"),
    ],
)
def test_what_cannot_be_sent_is_named_with_its_operation(function: Any, named: str) -> None:
    dataset = hr.Dataset.range(3).map(function, name="mine")
    with pytest.raises(hr.errors.InvalidArgumentError, match="map 'mine'") as caught:
        shipped(dataset.__headrace_plan__())
    assert named in str(caught.value)
    assert "Make it inside the function" in str(caught.value)


def test_of_a_file_that_is_open_nothing_is_read_and_sent() -> None:
    with Path(__file__).open(encoding="utf-8") as file:
        dataset = hr.Dataset.range(3).map(lambda x: (file.read(), x))
        with pytest.raises(hr.errors.InvalidArgumentError, match=r"variable 'file', of type TextIOWrapper.*open file"):
            shipped(dataset.__headrace_plan__())
        assert file.tell() == 0


def test_what_multiprocessing_shares_is_said_to_be_no_more_than_that() -> None:
    lock = multiprocessing.get_context("spawn").Lock()
    dataset = hr.Dataset.range(3).map(lambda x: (lock, x))
    with pytest.raises(
        hr.errors.InvalidArgumentError, match=r"variable 'lock', of type Lock.* that multiprocessing starts"
    ):
        shipped(dataset.__headrace_plan__())


def test_it_is_said_when_the_iterator_is_made_and_not_later() -> None:
    dataset = hr.Dataset.range(3).map(with_a_variable()).with_options(hr.Options(executor="subprocess"))
    with pytest.raises(hr.errors.InvalidArgumentError, match="connection"):
        iter(dataset)


def test_a_function_of_a_module_goes_by_its_name() -> None:
    shipped(hr.Dataset.range(3).map(with_a_global).__headrace_plan__())


@pytest.mark.parametrize("locked", [True, False])
def test_large_arrays_lie_in_memory_that_all_share_and_keep_their_flags(locked: bool) -> None:
    array = np.arange(100_000.0)
    array.flags.writeable = not locked
    plan = hr.Dataset.from_tensors(array).__headrace_plan__()
    shipment = shipped(plan)
    assert len(shipment.body) < 10_000
    memories = [Segment.received(os.dup(one.descriptor), is_shared=False) for one in shipment.memories]
    again = unshipped(shipment.body, shipment.parts, memories)
    found = next(iter(DatasetIterator(again)))
    assert np.array_equal(found, array)
    assert again.spec() == plan.spec()
