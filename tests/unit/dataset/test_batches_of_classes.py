"""Classes that users register with optree, whose constructors may refuse what a batch would give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

import headrace as hr


class OneNumber:
    """Holds one number, and refuses arrays."""

    def __init__(self, number: Any) -> None:
        if np.ndim(number):
            raise ValueError("only one number")
        self.number = number


class AnyButTwo:
    """Holds anything but the batch that begins with 2."""

    def __init__(self, value: Any) -> None:
        if np.ndim(value) and value[0] == 2:
            raise ValueError("not 2")
        self.value = value


REGISTER: Any = optree.register_pytree_node  # which is typed for containers alone
REGISTER(OneNumber, lambda one: ((one.number,), None, None), lambda _, parts: OneNumber(*parts), namespace="headrace")
REGISTER(AnyButTwo, lambda one: ((one.value,), None, None), lambda _, parts: AnyButTwo(*parts), namespace="headrace")

BACKENDS = pytest.mark.parametrize("executor", ["thread", "inline"])


@BACKENDS
@pytest.mark.parametrize("workers", [None, 2])
def test_a_constructor_that_refuses_a_batch_is_told_with_the_place_of_the_batch(
    executor: str, workers: int | None
) -> None:
    ds = hr.Dataset.range(4).map(OneNumber, num_parallel_calls=workers).batch(2)
    with pytest.raises(hr.errors.DataError, match=r"batch, elements 0 … 1: ValueError: only one number"):
        next(iter(ds.with_options(hr.Options(executor=executor))))


@BACKENDS
@pytest.mark.parametrize("workers", [None, 2])
def test_batches_around_one_that_a_constructor_refuses_are_delivered(executor: str, workers: int | None) -> None:
    ds = hr.Dataset.range(6).map(AnyButTwo, num_parallel_calls=workers).batch(2).ignore_errors()
    delivered = [batch.value.tolist() for batch in ds.with_options(hr.Options(executor=executor))]
    assert delivered == [[0, 1], [4, 5]]


@BACKENDS
def test_a_batch_without_any_text_is_padded_as_its_spec_says(executor: str) -> None:
    for kind, pad in ((bytes, b""), (str, "")):
        empty = np.array([], dtype=object)
        ds = hr.Dataset.from_generator(
            lambda empty=empty: iter([empty, empty]), output_signature=hr.TensorSpec((None,), kind)
        )
        (batch,) = ds.padded_batch(2, padded_shapes=(1,)).with_options(hr.Options(executor=executor))
        assert batch.tolist() == [[pad], [pad]]
