"""Rows of different lengths in one array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as hr


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
