"""Padded and ragged batches made together are what each is by itself, and belong to who gets them."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.physical.stages.grouping_runs import padded_together, ragged_together
from headrace.plan.grouping import PaddedBatch, RaggedBatch
from headrace.semantics.grouping import padded_batch, ragged_batch


def _plan(*args: Any) -> PaddedBatch:
    whatever = hr.Dataset.range(1).map(lambda number: number)  # of which nobody knows what it gives
    plan = whatever.padded_batch(2, *args).__headrace_plan__()
    assert isinstance(plan, PaddedBatch)
    return plan


def _ragged_plan(dtype: str) -> RaggedBatch:
    plan = hr.Dataset.range(1).map(lambda number: number).ragged_batch(2, row_splits_dtype=dtype).__headrace_plan__()
    assert isinstance(plan, RaggedBatch)
    return plan


def _leaves(element: Any) -> list[Any]:
    if isinstance(element, hr.RaggedTensor):
        return [element.values, element.row_splits]
    if isinstance(element, dict):
        element = tuple(element.values())
    return [leaf for part in element for leaf in _leaves(part)] if isinstance(element, tuple) else [element]


def _order_of(element: Any) -> Any:
    """The classes of an element's parts, and the order of its keys."""
    if isinstance(element, dict):
        return dict, [(key, _order_of(part)) for key, part in element.items()]
    return (tuple, list(map(_order_of, element))) if isinstance(element, tuple) else type(element)


def _is_as_alone(made: list[Any] | None, alone: list[Any]) -> None:
    assert made is not None
    assert list(map(_order_of, made)) == list(map(_order_of, alone))
    for one, other in zip(made, alone, strict=True):
        for mine, theirs in zip(_leaves(one), _leaves(other), strict=True):
            assert (mine.dtype, mine.shape, mine.tolist()) == (theirs.dtype, theirs.shape, theirs.tolist())
            assert mine.flags.writeable
            assert mine.flags.c_contiguous
    arrays = [leaf for element in made for leaf in _leaves(element)]
    assert not any(np.may_share_memory(*pair) for pair in itertools.combinations(arrays, 2))


PLAIN = _plan()
# Of an array, an element.
ELEMENTS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda array: array,
    "pair": lambda array: (array, len(array)),
    "dict": lambda array: {"tokens": array, "name": f"of {len(array)}", "at": 0.5},
    "nested": lambda array: ({"tokens": array, "image": np.ones((2, 3), "uint8")}, (len(array), array[:0])),
}
# The shape of each component, of which the array's is to be filled in.
SHAPES: dict[str, Callable[[Any], Any]] = {
    "array": lambda shape: shape,
    "pair": lambda shape: (shape, []),
    "dict": lambda shape: {"tokens": shape, "name": [], "at": []},
    "nested": lambda shape: ({"tokens": shape, "image": [None, 3]}, ([], [3, *shape[1:]])),
}
# What numbers are padded with, and texts.
VALUES: dict[str, Callable[[Any], Any]] = {
    "array": lambda value: value,
    "pair": lambda value: (value, 7),
    "dict": lambda value: {"tokens": value, "name": "none", "at": 1.5},
    "nested": lambda value: ({"tokens": value, "image": 1}, (None, value)),
}

KINDS = st.sampled_from(sorted(ELEMENTS))
DTYPES = st.sampled_from(["int64", "float32", "bool", "complex64", "uint8"])


@st.composite
def arrays(draw: st.DrawFn, dtype: str, count: int) -> list[np.ndarray]:
    """So many arrays that differ in length: mostly short ones, and some of more axes."""
    most = draw(st.sampled_from([0, 5, 64, 70]))
    inner = draw(st.sampled_from([(), (2,), (9, 3), (0,)]))
    is_even = draw(st.booleans())
    lengths = [most] * count if is_even else draw(st.lists(st.integers(0, most), min_size=count, max_size=count))
    return [np.arange(length * math.prod(inner)).reshape(length, *inner).astype(dtype) for length in lengths]


@given(kind=KINDS, dtype=DTYPES, size=st.integers(1, 4), data=st.data())
def test_padded_batches_made_together_are_what_each_is_by_itself(
    kind: str, dtype: str, size: int, data: st.DataObject
) -> None:
    found = data.draw(arrays(dtype, size * data.draw(st.integers(1, 4))))
    rows = list(map(ELEMENTS[kind], found))
    rank = found[0].ndim
    given_shapes = [
        None,
        [None] * rank,
        [-1, *found[0].shape[1:]],
        [70, *found[0].shape[1:]],
        [71, *[None] * (rank - 1)],
    ]
    shape = data.draw(st.sampled_from(given_shapes))
    value = data.draw(st.sampled_from([None, 0, 1]))
    shapes = None if shape is None else SHAPES[kind](shape)
    node = _plan(shapes, None if value is None else VALUES[kind](dtype == "bool" or np.dtype(dtype).type(value)))
    alone = [padded_batch(node, rows[start : start + size]) for start in range(0, len(rows), size)]
    _is_as_alone(padded_together(node, rows, size), alone)


@given(kind=KINDS, dtype=DTYPES, size=st.integers(1, 4), splits=st.sampled_from(["int32", "int64"]), data=st.data())
def test_ragged_batches_made_together_are_what_each_is_by_itself(
    kind: str, dtype: str, size: int, splits: str, data: st.DataObject
) -> None:
    rows = list(map(ELEMENTS[kind], data.draw(arrays(dtype, size * data.draw(st.integers(1, 4))))))
    node = _ragged_plan(splits)
    alone = [ragged_batch(node, rows[start : start + size]) for start in range(0, len(rows), size)]
    _is_as_alone(ragged_together(node, rows, size), alone)


NOT_PLAIN = [
    [np.arange(2), np.arange(2.0)],
    [np.zeros(1), np.zeros((1, 1))],
    [np.zeros(()), np.zeros(())],
    [np.zeros(2, ">i4"), np.zeros(1, ">i4")],
    [np.array(["a"], object), np.array(["b"], object)],
    [np.zeros(1, "M8[s]"), np.zeros(2, "M8[s]")],
    [{"a": np.zeros(1), "b": 1}, {"b": 1, "a": np.zeros(1)}],
    [({"a": 1, "b": 1}, np.zeros(1)), ({"b": 1, "a": 1}, np.zeros(1))],
    [np.zeros(1), (np.zeros(1),)],
    [1, 2.5],
    [(), ()],
]


@pytest.mark.parametrize("rows", NOT_PLAIN, ids=str)
def test_what_is_not_plain_is_made_one_by_one(rows: list[Any]) -> None:
    assert padded_together(PLAIN, rows, 1) is None
    assert ragged_together(_ragged_plan("int64"), rows, 1) is None


def test_what_does_not_fit_has_each_made_by_itself() -> None:
    rows = [np.arange(2), np.arange(3)]
    assert padded_together(_plan([4]), rows, 1) is not None
    assert padded_together(_plan([2]), rows, 1) is None
    assert padded_together(_plan([None, None]), rows, 1) is None
    assert padded_together(_plan([]), rows, 1) is None
    assert padded_together(_plan(None, 7.5), rows, 1) is None
    assert padded_together(_plan(None, "a"), rows, 1) is None
    assert padded_together(_plan(None, 7), [1, 2], 1) is not None
    assert padded_together(_plan(None, 7.5), [1, 2], 1) is None
    assert padded_together(_plan(None, 7), ["a", "b"], 1) is None
    assert padded_together(_plan(([None], [])), rows, 1) is None
    matrices = [np.zeros((1, 2)), np.zeros((2, 3))]
    assert padded_together(PLAIN, matrices, 2) is not None
    assert ragged_together(_ragged_plan("int64"), matrices, 2) is None


FIRST_OF_A_PROCESS = """
import numpy as np
import headrace as hr

(batch,) = hr.Dataset.from_generator(lambda: iter([np.arange(2)] * 4)).ragged_batch(2).batch(2)
assert type(batch) is hr.RaggedTensor, batch
assert batch.values.tolist() == [[0, 1, 0, 1]] * 2, batch
"""


def test_the_first_ragged_batches_of_a_process_are_structure() -> None:
    subprocess.run([sys.executable, "-c", FIRST_OF_A_PROCESS], check=True, timeout=60)
