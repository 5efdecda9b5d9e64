"""Nested structures: what an element is made of."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest
from tests.cases.structures import Pair, Sample

import headrace as hr
from headrace.elements.structure import flatten, nbytes_of, normalize, paths_of
from headrace.errors import InvalidArgumentError


def test_lists_are_arrays_wherever_they_stand() -> None:
    element = normalize({"a": [1, 2], "b": ([[1.5]], Sample(["x"], [b"y"])), "c": Pair([], None)})
    assert element["a"].dtype == np.int64
    assert element["b"][0].shape == (1, 1)
    assert element["b"][1].x.dtype == object
    assert element["b"][1].y.tolist() == [b"y"]
    assert element["c"].x.shape == (0,)
    with pytest.raises(InvalidArgumentError, match="differ in shape"):
        normalize([[1], [1, 2]])


def test_paths_read_as_they_would_be_written_behind_the_element() -> None:
    _, treedef = flatten({"a": (1, 2), "b": 3})
    assert paths_of(treedef) == ["['a'][0]", "['a'][1]", "['b']"]
    assert paths_of(flatten(3)[1]) == [""]


def test_workers_that_meet_a_dataclass_at_once_all_know_it() -> None:
    failures: list[BaseException] = []
    for _ in range(20):
        kind = dataclasses.make_dataclass("Fresh", ["x"])
        start = threading.Barrier(4)

        def use(kind: Any = kind, start: threading.Barrier = start) -> None:
            try:
                start.wait(30)
                assert flatten(normalize(kind([1])))[0][0].tolist() == [1]
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert failures == []


def test_bytes_are_counted_about_right() -> None:
    assert nbytes_of((np.zeros(10), "four", b"12", 1, np.float32(1), None)) == 80 + 4 + 2 + 8 + 4


def test_a_specification_is_a_leaf_whatever_structures_were_normalized() -> None:
    signature = normalize({"a": hr.TensorSpec((), int)})
    assert flatten(signature)[0] == [hr.TensorSpec((), int)]


@pytest.mark.parametrize(
    "ints", [[2**63, 1], [1, 2**64 - 1], [np.uint64(2**63 + 1), 1], [[2**63 + 1], [1]], [2**63 + 1, True]]
)
def test_a_list_of_ints_is_none_of_floats(ints: list[Any]) -> None:
    found = normalize(ints)
    assert found.dtype == np.uint64
    assert found.tolist() == np.array(ints, object).tolist()
    (sliced,) = hr.Dataset.from_tensor_slices(ints).batch(len(ints))
    assert np.array_equal(sliced, found)


def test_ints_that_no_dtype_holds_are_an_error() -> None:
    for ints in ([2**63, -1], [[2**63], [-1]]):
        with pytest.raises(InvalidArgumentError, match="fit no dtype"):
            normalize(ints)
        with pytest.raises(InvalidArgumentError, match="fit no dtype"):
            hr.Dataset.from_tensor_slices(ints)
    assert normalize([2.0**63, 1]).dtype == normalize([1e300, -1]).dtype == np.float64
