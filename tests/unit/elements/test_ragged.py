"""Rows of different lengths in one array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.elements.ragged import padded


def spec_of(rows: list[list[Any]], dtype: Any, *, size: int = 2) -> Any:
    arrays = [{"row": np.array(row, dtype), "length": np.int64(len(row))} for row in rows]
    spec = hr.TensorSpec((None,), dtype)
    signature = {"row": spec, "length": hr.TensorSpec((), "int64")}
    dataset = hr.Dataset.from_generator(lambda: iter(arrays), output_signature=signature)
    return dataset.ragged_batch(size, drop_remainder=True).element_spec


def test_the_specification_of_a_ragged_batch_equals_another_of_the_same() -> None:
    one, other = spec_of([[1], [2, 3]], "int64"), spec_of([[4, 5, 6]], "int64")
    assert one == other
    assert one is not other
    assert hash(one["row"]) == hash(other["row"])
    assert len({one["row"], other["row"]}) == 1


@pytest.mark.parametrize("other", [spec_of([[1.0]], "float64"), spec_of([[1]], "int64", size=3)], ids=["dtype", "size"])
def test_specifications_of_ragged_batches_differ_where_their_arrays_would(other: Any) -> None:
    spec = spec_of([[1]], "int64")
    assert spec != other
    assert other != spec


def test_a_plan_with_a_ragged_batch_asked_twice_says_equal_specifications() -> None:
    dataset = hr.Dataset.from_tensor_slices(np.zeros((4, 3))).ragged_batch(2)
    assert dataset.batch(2).element_spec == dataset.batch(2).element_spec
    assert dataset.repeat(2).element_spec == dataset.element_spec
    assert dataset.concatenate(dataset).element_spec == dataset.element_spec


def test_ragged_tensors_of_arrays_are_equal_to_themselves_alone() -> None:
    one = hr.RaggedTensor(np.array([1, 2, 3]), np.array([0, 1, 3]))
    other = hr.RaggedTensor(np.array([1, 2, 3]), np.array([0, 1, 3]))
    assert one == one  # noqa: PLR0124 - that is what is asked
    assert one != other
    assert one != spec_of([[1]], "int64")["row"]
    assert one != [1, 2, 3]
    assert len({one, other}) == 2


@st.composite
def arrays_to_pad(draw: st.DrawFn) -> tuple[list[np.ndarray], tuple[int | None, ...], Any]:
    dtype: Any = draw(st.sampled_from([np.int64, np.float32, bool, np.complex64, "datetime64[s]", object]))
    inner = draw(st.sampled_from([(), (3,), (2, 1), None]))  # None: a second axis of its own for each
    lengths = draw(st.lists(st.integers(0, 70), min_size=1, max_size=8))
    shapes = [(length, *((length % 3,) if inner is None else inner)) for length in lengths]
    arrays = [np.arange(math.prod(shape)).reshape(shape).astype(str if dtype is object else dtype) for shape in shapes]
    size = draw(st.one_of(st.none(), st.integers(max(lengths), 80)))
    value = draw(st.sampled_from([None, "x" if dtype is object else np.ones(1, dtype)[0]]))
    return [array.astype(dtype) for array in arrays], (size, *[None] * (arrays[0].ndim - 1)), value


@given(given=arrays_to_pad())
def test_what_is_padded_holds_its_arrays_and_else_what_it_is_padded_with(
    given: tuple[list[np.ndarray], tuple[int | None, ...], Any],
) -> None:
    arrays, shape, value = given
    size = shape[0]
    made = padded(arrays, shape, value)
    default = {"M": np.datetime64("NaT"), "O": ""}.get(arrays[0].dtype.kind, 0)
    sizes = [max(array.shape[axis] for array in arrays) for axis in range(1, arrays[0].ndim)]
    expected = np.full((len(arrays), max(map(len, arrays)) if size is None else size, *sizes), default, arrays[0].dtype)
    expected[...] = default if value is None else value
    for row, array in zip(expected, arrays, strict=True):
        row[tuple(map(slice, array.shape))] = array
    assert made.dtype == expected.dtype
    assert made.flags.writeable
    np.testing.assert_array_equal(made, expected)
