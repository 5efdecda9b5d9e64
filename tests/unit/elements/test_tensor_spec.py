"""What is known of a leaf before it is there."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import headrace as hr


def test_a_specification_normalizes_what_it_is_given_and_shows_it() -> None:
    assert repr(hr.TensorSpec((None, 3), "float32")) == "TensorSpec(shape=(None, 3), dtype=float32)"
    assert hr.TensorSpec([2], float) == hr.TensorSpec((2,), np.float64)
    assert hr.TensorSpec((), "U5") == hr.TensorSpec((), str)
    assert hr.TensorSpec((), "S5") == hr.TensorSpec((), bytes)
    assert hr.TensorSpec(None, object).shape is None
    assert hash(hr.TensorSpec((), int)) == hash(hr.TensorSpec((), np.int64))
    with pytest.raises(dataclasses.FrozenInstanceError):
        hr.TensorSpec((), int).shape = (1,)  # type: ignore[misc]  # what is tested


@pytest.mark.parametrize(
    ("shape", "kept"),
    [
        (2, (2,)),
        (np.int64(2), (2,)),
        ([2, None], (2, None)),
        (np.array([2, 3]), (2, 3)),
        ((np.int32(4),), (4,)),
        ([], ()),
    ],
)
def test_a_shape_is_taken_as_it_is_written(shape: Any, kept: tuple[int | None, ...]) -> None:
    spec = hr.TensorSpec(shape, int)
    assert spec.shape == kept
    assert all(size is None or type(size) is int for size in kept)


@pytest.mark.parametrize("shape", [1.5, (1.5,), "ab", [[2]], object()])
def test_what_is_no_shape_is_a_type_error_that_shows_it(shape: Any) -> None:
    with pytest.raises(TypeError, match="the shape of a TensorSpec must be a tuple of sizes") as caught:
        hr.TensorSpec(shape, int)
    assert repr(shape) in str(caught.value)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="a size that varies is None"):
        hr.TensorSpec((2, -1), int)


def test_what_is_compatible() -> None:
    any_rank, any_size, fixed = (hr.TensorSpec(shape, int) for shape in (None, (None,), (3,)))
    assert any_rank.is_compatible_with(fixed)
    assert any_size.is_compatible_with(fixed)
    assert not fixed.is_compatible_with(hr.TensorSpec((4,), int))
    assert not fixed.is_compatible_with(hr.TensorSpec((3, 1), int))
    assert not fixed.is_compatible_with(hr.TensorSpec((3,), float))


def test_the_narrowest_that_both_fit() -> None:
    def general(one: Any, other: Any) -> Any:
        return hr.TensorSpec(one, int).most_general(hr.TensorSpec(other, int)).shape

    assert general((2, 3), (2, 4)) == (2, None)
    assert general((2,), (2,)) == (2,)
    assert general((2,), (2, 3)) is None
    assert general(None, (2,)) is None
