"""Tensors of PyTorch's in batches: many at once, and what each by itself would be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr

torch = pytest.importorskip("torch", reason="pip install torch")

TENSORS: dict[str, Callable[[int], Any]] = {
    "scalars": torch.tensor,
    "bools": lambda number: torch.tensor([number > 1]),
    "vectors": lambda number: torch.full((3,), number / 2),
    "empty": lambda number: torch.zeros(2, 0),
    "transposed": lambda number: torch.arange(6).reshape(2, 3).T + number,
    "with a gradient": lambda number: torch.ones(2, requires_grad=True) * number,
    "parameters": lambda number: torch.nn.Parameter(torch.full((2,), float(number))),
    "conjugated": lambda number: (torch.full((2,), number, dtype=torch.complex64) * 1j).conj(),
    "uint16": lambda number: torch.full((2,), number).to(torch.uint16),
}


@pytest.mark.parametrize("name", sorted(TENSORS))
def test_a_batch_of_tensors_has_the_values_of_each(name: str) -> None:
    make = TENSORS[name]
    expected = [make(number).detach().resolve_conj().numpy() for number in range(5)]
    plain, first, second = (
        hr.Dataset.range(5).map(make),
        hr.Dataset.range(5).map(lambda number: {"x": make(number), "number": number}),
        hr.Dataset.range(5).map(lambda number: (make(number), number)),
    )
    for batch, some in zip(plain.batch(2), (expected[:2], expected[2:4], expected[4:]), strict=True):
        assert (type(batch), batch.dtype) == (np.ndarray, expected[0].dtype)
        assert np.array_equal(batch, np.stack(some))
        assert batch.flags.writeable
    for batch, some in zip(first.batch(2), (expected[:2], expected[2:4], expected[4:]), strict=True):
        assert np.array_equal(batch["x"], np.stack(some))
    for batch, some in zip(second.batch(5), (expected,), strict=True):
        assert np.array_equal(batch[0], np.stack(some))


def test_a_tensor_that_is_filled_again_is_copied_before_the_next_call() -> None:
    buffer = torch.zeros(2)
    assert [batch.tolist() for batch in hr.Dataset.range(3).map(buffer.fill_).batch(2)] == [
        [[0.0, 0.0], [1.0, 1.0]],
        [[2.0, 2.0]],
    ]
    assert [tensor.tolist() for tensor in hr.Dataset.range(3).map(buffer.fill_)] == [[0.0] * 2, [1.0] * 2, [2.0] * 2]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda number: torch.zeros(number + 1), r"shapes differ: \[1\] and \[2\]"),
        (lambda number: torch.zeros(1, dtype=torch.float64 if number else torch.float32), "dtypes differ"),
        (lambda number: torch.zeros(2).to_sparse(), "Sparse"),
        (lambda number: torch.zeros(2, device="meta"), "meta"),
    ],
)
def test_tensors_that_are_no_batch_are_refused_as_those_of_arrays_are(make: Callable[[int], Any], why: str) -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match=rf"batch, elements 0 … 1: .*{why}"):
        list(hr.Dataset.range(2).map(make).batch(2))
