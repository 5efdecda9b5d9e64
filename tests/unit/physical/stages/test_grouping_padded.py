"""Padded batches made together are what each is by itself, and belong to who gets them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.physical.stages.grouping_padded import padded_together
from headrace.plan.grouping import PaddedBatch
from headrace.semantics.grouping import padded_batch


def _node(*args: Any) -> PaddedBatch:
    whatever = hr.Dataset.range(1).map(lambda number: number)  # of which nobody knows what it gives
    plan = whatever.padded_batch(2, *args).__headrace_plan__()
    assert isinstance(plan, PaddedBatch)
    return plan


def _leaves(element: Any) -> list[Any]:
    if isinstance(element, dict):
        return list(element.values())
    return list(element) if isinstance(element, tuple) else [element]


PLAIN = _node()
ROWS: dict[str, Callable[[int, str], Any]] = {
    "array": lambda length, dtype: np.arange(length).astype(dtype),
    "pair": lambda length, dtype: (np.arange(length).astype(dtype), length),
    "dict": lambda length, dtype: {"tokens": np.arange(length).astype(dtype), "name": f"of {length}", "at": 0.5},
}

# The same, written out.
_LONGEST = {
    "array": _node([None]),
    "pair": _node(([None], [])),
    "dict": _node({"tokens": [-1], "name": [], "at": []}),
}


@given(
    kind=st.sampled_from(sorted(ROWS)),
    dtype=st.sampled_from(["int64", "float32", "bool", "complex64", "uint8"]),
    size=st.integers(1, 4),
    data=st.data(),
)
def test_batches_made_together_are_what_each_is_by_itself(
    kind: str, dtype: str, size: int, data: st.DataObject
) -> None:
    node = PLAIN if data.draw(st.booleans()) else _LONGEST[kind]
    count = size * data.draw(st.integers(1, 4))
    lengths = data.draw(st.lists(st.integers(0, 64), min_size=count, max_size=count))
    rows = [ROWS[kind](length, dtype) for length in lengths]
    made = padded_together(node, rows, size)
    assert made is not None
    alone = [padded_batch(node, rows[start : start + size]) for start in range(0, count, size)]
    assert list(map(type, made)) == list(map(type, alone))
    for one, other in zip(made, alone, strict=True):
        assert not isinstance(one, dict) or list(one) == list(other)
        for mine, theirs in zip(_leaves(one), _leaves(other), strict=True):
            assert (mine.dtype, mine.tolist()) == (theirs.dtype, theirs.tolist())
            assert mine.flags.writeable
            assert mine.flags.c_contiguous
    arrays = [leaf for element in made for leaf in _leaves(element)]
    assert not any(np.may_share_memory(*pair) for pair in itertools.combinations(arrays, 2))


@pytest.mark.parametrize(
    "rows",
    [
        [np.arange(2), np.arange(2.0)],
        [np.zeros((1, 2)), np.zeros((2, 2))],
        [np.zeros(1), np.zeros((1, 1))],
        [np.zeros(65), np.zeros(1)],
        [np.zeros(2, ">i4"), np.zeros(1, ">i4")],
        [np.array(["a"], object), np.array(["b"], object)],
        [np.zeros(1, "M8[s]"), np.zeros(2, "M8[s]")],
        [(np.zeros(1), (1, 2)), (np.zeros(1), (1, 2))],
        [{"a": np.zeros(1), "b": 1}, {"b": 1, "a": np.zeros(1)}],
        [np.zeros(1), (np.zeros(1),)],
        [1, 2.5],
        [(), ()],
    ],
    ids=str,
)
def test_what_is_not_plain_is_made_one_by_one(rows: list[Any]) -> None:
    assert padded_together(PLAIN, rows, 1) is None


def test_a_size_or_a_value_has_each_made_by_itself() -> None:
    rows = [np.arange(2), np.arange(3)]
    assert padded_together(PLAIN, rows, 1) is not None
    assert padded_together(_node([None]), rows, 1) is not None
    assert padded_together(_node([4]), rows, 1) is None
    assert padded_together(_node([None, None]), rows, 1) is None
    assert padded_together(_node([]), rows, 1) is None
    assert padded_together(_node(None, 7), rows, 1) is None
