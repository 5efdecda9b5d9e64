"""one_hot, as tf.one_hot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import headrace as hr
from headrace.errors import InvalidArgumentError


@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=0, max_dims=3, max_side=4), elements=st.integers(-2, 6)), st.data()
)
def test_the_class_has_the_one_and_no_class_has_none(indices: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-1, indices.ndim))
    coded = hr.one_hot(indices, 5, axis=axis)
    assert coded.dtype == np.float32
    last = np.moveaxis(coded, axis, -1)
    assert last.shape == (*indices.shape, 5)
    for place in np.ndindex(indices.shape):
        number = int(indices[place])
        assert last[place].tolist() == [float(number == column) for column in range(5)]


def test_values_and_dtypes_are_those_that_were_given() -> None:
    assert hr.one_hot(1, 2, on_value=5, off_value=-5).tolist() == [-5, 5]
    assert hr.one_hot([0], 2, on_value=True, off_value=False).dtype == bool
    assert hr.one_hot([0], 2, dtype=np.int8).dtype == np.int8
    assert hr.one_hot(np.array([], int), 3).shape == (0, 3)
    assert hr.one_hot([], 3).shape == (0, 3)
    assert hr.one_hot([0], 0).shape == (1, 0)


@pytest.mark.parametrize(
    ("indices", "depth", "axis"), [([0.5], 2, -1), (["a"], 2, -1), ([0], -1, -1), ([0], 2, 2), ([0], 2, -2)]
)
def test_what_does_not_fit_is_refused(indices: Any, depth: int, axis: int) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.one_hot(indices, depth, axis=axis)
