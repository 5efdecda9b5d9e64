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
