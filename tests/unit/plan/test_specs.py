"""What is known of a plan's elements without running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.structure import spec_of

data = hr.Dataset
INT = hr.TensorSpec((), np.int64)
TEN = data.range(10)
PAIRS = data.from_tensor_slices({"a": np.zeros((4, 3), np.float32), "b": ["x", "y", "z", "w"]})
PAIR = {"a": hr.TensorSpec((3,), np.float32), "b": hr.TensorSpec((), str)}

KNOWN: dict[str, tuple[Callable[[], hr.Dataset], Any]] = {
    "range": (lambda: TEN, INT),
    "range of another dtype": (lambda: data.range(3, output_type=np.float32), hr.TensorSpec((), np.float32)),
    "counter": (data.counter, INT),
    "counter of another dtype": (lambda: data.counter(1, 0, np.int8), hr.TensorSpec((), np.int8)),
    "random": (data.random, INT),
    "tensors": (lambda: data.from_tensors(([1, 2], "a")), (hr.TensorSpec((2,), np.int64), hr.TensorSpec((), str))),
    "slices": (lambda: PAIRS, PAIR),
    "no slices": (lambda: data.from_tensor_slices(np.zeros((0, 2))), hr.TensorSpec((2,), np.float64)),
    "generator": (lambda: data.from_generator(lambda: iter([]), {"a": INT}), {"a": INT}),
    "text": (lambda: hr.TextLineDataset("absent"), hr.TensorSpec((), str)),
    "csv": (
        lambda: hr.CsvDataset("absent", [1, 0.5, "text", np.float64]),
        (
            hr.TensorSpec((), np.int32),
            hr.TensorSpec((), np.float32),
            hr.TensorSpec((), str),
            hr.TensorSpec((), np.float64),
        ),
    ),
    "filter": (lambda: TEN.filter(bool), INT),
    "enumerate": (PAIRS.enumerate, (INT, PAIR)),
    "batch": (
        lambda: PAIRS.batch(2),
        {"a": hr.TensorSpec((None, 3), np.float32), "b": hr.TensorSpec((None,), str)},
    ),
    "whole batches": (lambda: TEN.batch(2, drop_remainder=True), hr.TensorSpec((2,), np.int64)),
    "batches of batches": (lambda: TEN.batch(2).batch(3, True), hr.TensorSpec((3, None), np.int64)),
    "unbatch": (lambda: PAIRS.batch(2).unbatch(), PAIR),
    "zip": (lambda: data.zip(TEN, {"x": PAIRS}), (INT, {"x": PAIR})),
    "zip nested": (lambda: data.zip(((TEN, TEN), TEN)), ((INT, INT), INT)),
    "concatenate": (
        lambda: TEN.batch(2, True).concatenate(TEN.batch(3, True)),
        hr.TensorSpec((None,), np.int64),
    ),
    "concatenate of two ranks": (
        lambda: TEN.batch(2).concatenate(TEN.batch(2).batch(2)),
        hr.TensorSpec(None, np.int64),
    ),
    "all that chooses": (lambda: PAIRS.shuffle(2).repeat().take(3).skip(1).shard(2, 0).cache().prefetch(1), PAIR),
    "options": (lambda: PAIRS.with_options(hr.Options()), PAIR),
}


@pytest.mark.parametrize("case", sorted(KNOWN))
def test_what_follows_from_the_operations_is_known(case: str) -> None:
    build, expected = KNOWN[case]
    plan = build().__headrace_plan__()
    assert plan.spec() == expected
    assert build().element_spec == expected


@pytest.mark.parametrize("case", sorted(set(KNOWN) - {"no slices", "generator", "text", "csv"}))
def test_every_element_fits_what_is_known(case: str) -> None:
    build, expected = KNOWN[case]
    for element in build().take(3):
        pairs = zip(hr_leaves(spec_of(element)), hr_leaves(expected), strict=True)
        assert all(known.is_compatible_with(mine) for mine, known in pairs)


def hr_leaves(spec: Any) -> list[hr.TensorSpec]:
    from headrace.structure import flatten

    return flatten(spec)[0]


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda: TEN.map(lambda x: (x, 0.5)), id="map"),
        pytest.param(lambda: TEN.map(lambda x: (x, 0.5)).batch(2).unbatch(), id="batch and unbatch"),
        pytest.param(lambda: TEN.flat_map(lambda x: data.from_tensors((x, 0.5))), id="flat_map"),
        pytest.param(lambda: data.from_generator(lambda: iter([(1, 0.5)])), id="generator"),
    ],
)
def test_behind_a_function_only_a_run_can_tell(build: Callable[[], hr.Dataset]) -> None:
    assert build().__headrace_plan__().spec() is None
    assert build().element_spec == (INT, hr.TensorSpec((), np.float64))
