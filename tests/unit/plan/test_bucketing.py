"""Which bucket a sequence goes into, and to which shape it is padded there."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import InvalidArgumentError
from headrace.plan.bucketing import Buckets, boundary_shapes


def buckets_of(boundaries: list[int], *, bounded: bool = False) -> Buckets:
    return Buckets.of(lambda length: length, boundaries, [1] * (len(boundaries) + 1), bounded=bounded)


@given(st.lists(st.integers(0, 30), unique=True).map(sorted), st.integers(0, 40))
def test_a_bucket_reaches_from_one_boundary_to_before_the_next(boundaries: list[int], length: int) -> None:
    assert buckets_of(boundaries)(length) == sum(boundary <= length for boundary in boundaries)


@pytest.mark.parametrize("length", [np.int32(4), np.int64(4), np.array(4), 4])
def test_a_length_is_any_integer(length: Any) -> None:
    assert buckets_of([3, 6])(length) == 1


@pytest.mark.parametrize("length", [4.0, "4", None, True, np.array([4])])
def test_a_length_that_is_no_integer_is_refused(length: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="the length must be an integer"):
        buckets_of([3, 6])(length)


def test_a_length_without_a_boundary_to_pad_to_is_refused() -> None:
    assert buckets_of([3, 6], bounded=True)(5) == 1
    with pytest.raises(InvalidArgumentError, match="6 is not below the last boundary, 6"):
        buckets_of([3, 6], bounded=True)(6)


@pytest.mark.parametrize("sizes", [[], [1, 1], [1, 1, 1, 1]])
def test_there_is_one_batch_size_more_than_boundaries(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="2 boundaries need 3 batch sizes"):
        Buckets.of(len, [3, 6], sizes, bounded=False)


@pytest.mark.parametrize("boundaries", [[6, 3], [3, 3]])
def test_boundaries_rise(boundaries: list[int]) -> None:
    with pytest.raises(ValueError, match="must rise"):
        Buckets.of(len, boundaries, [1, 1, 1], bounded=False)


def unread() -> NoReturn:
    pytest.fail("nothing of an element is to be known")


def test_only_axes_that_are_open_are_padded_to_the_boundary_and_no_element_is_read() -> None:
    assert boundary_shapes({"x": [None, 4], "y": []}, 9, None, unread) == {"x": [9, 4], "y": []}
    known = {"x": hr.TensorSpec((None, 4), np.float64), "y": hr.TensorSpec((), np.int64)}
    assert boundary_shapes(None, 9, known, unread) == {"x": [9, 4], "y": []}


def test_where_nothing_is_known_the_first_axis_is_the_sequences() -> None:
    assert boundary_shapes(None, 9, None, lambda: (np.zeros((2, 4)), 1)) == ([9, None], [])
