"""Tensors of PyTorch's in batches: many at once, and what each by itself would be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import REFERENCE, Way, assert_same, elements_of

import headrace as hr
from headrace.physical.loop_policy import LoopPolicy

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


class Filled:
    """Tensors that are filled again for each element, and views of them."""

    def __init__(self) -> None:
        self.whole = torch.zeros(4, 3)

    def tensor(self, kind: str, number: int) -> Any:
        if kind in TENSORS:
            return TENSORS[kind](number)
        if kind == "an array":
            return np.full(3, number, np.float32)
        self.whole[...] = number
        if kind == "of a NumPy array":
            return torch.from_numpy(self.whole.numpy())
        return self.whole if kind == "filled again" else self.whole[number % 4]


KINDS = sorted([*TENSORS, "an array", "filled again", "a view", "of a NumPy array"])
WHOLES: dict[str, Callable[[Any, int], Any]] = {
    "alone": lambda tensor, _: tensor,
    "a pair": lambda tensor, number: (tensor, number),
    "twice": lambda tensor, _: (tensor, tensor),
    "a dict": lambda tensor, number: {"x": tensor, "y": number},
    "deep": lambda tensor, number: {"x": (tensor, {"z": tensor}), "y": [number, number]},
}


class Rows:
    """An object with elements by number."""

    def __init__(self, row: Callable[[int], Any]) -> None:
        self.row = row

    def __len__(self) -> int:
        return 30

    def __getitem__(self, number: int) -> Any:
        return self.row(number)


SOURCES: dict[str, Callable[[Callable[[int], Any]], hr.Dataset]] = {
    "map": lambda row: hr.Dataset.range(30).map(row),
    "a generator": lambda row: hr.Dataset.from_generator(lambda: map(row, range(30))),
    "an object": lambda row: hr.Dataset.source(Rows(row)),
    "two maps and a filter": lambda row: hr.Dataset.range(30).map(row).filter(lambda *_: True).map(lambda *x: x),
}


def as_arrays(element: Any) -> Any:
    """The element with what stands in each tensor."""
    return optree.tree_map(
        lambda leaf: (str(leaf.dtype), leaf.tolist()) if torch.is_tensor(leaf) else leaf, element, namespace="headrace"
    )


@given(
    st.sampled_from(sorted(SOURCES)),
    st.sampled_from(sorted(WHOLES)),
    st.sampled_from(KINDS),
    st.dictionaries(st.integers(0, 30), st.tuples(st.sampled_from(sorted(WHOLES)), st.sampled_from(KINDS)), max_size=3),
    st.sampled_from([None, 4]),
    st.sampled_from([1, 3]),
)
def test_tensors_are_what_they_were_whatever_loop_took_them(
    source: str, whole: str, kind: str, odd: dict[int, tuple[str, str]], batch: int | None, probed: int
) -> None:
    def build() -> hr.Dataset:
        filled = Filled()

        def row(number: int) -> Any:
            name, tensor = odd.get(number, (whole, kind))
            return WHOLES[name](filled.tensor(tensor, number), number)

        ds = SOURCES[source](row)
        return ds if batch is None else ds.batch(batch)

    expected = elements_of(build(), REFERENCE)
    way = Way(hr.Options(seed=7), (5, 7), loops=LoopPolicy(probed=probed))
    assert_same(list(map(as_arrays, expected)), list(map(as_arrays, elements_of(build(), way))))
