"""What is known of a plan's elements without running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.elements.leaf_specs import spec_of
from headrace.elements.tensor_spec import fits, general

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
    "rebatch to a divisor": (lambda: data.range(8).batch(4, True).rebatch(2), hr.TensorSpec((2,), np.int64)),
    "rebatch to the same in turn": (
        lambda: data.range(8).batch(4, True).rebatch([2, 2]),
        hr.TensorSpec((2,), np.int64),
    ),
    "rebatch to no divisor": (lambda: data.range(8).batch(4, True).rebatch(3), hr.TensorSpec((None,), np.int64)),
    "rebatch to more": (lambda: data.range(8).batch(4, True).rebatch(8), hr.TensorSpec((None,), np.int64)),
    "rebatch to unlike sizes": (lambda: data.range(8).batch(4, True).rebatch([1, 3]), hr.TensorSpec((None,), np.int64)),
    "rebatch to whole ones": (lambda: data.range(8).batch(3).rebatch(5, True), hr.TensorSpec((5,), np.int64)),
    "rebatch to whole ones in turn": (
        lambda: data.range(8).batch(3).rebatch([2, 2], True),
        hr.TensorSpec((2,), np.int64),
    ),
    "rebatch with empty ones": (
        lambda: data.range(8).batch(4, True).rebatch([2, 2, 0]),
        hr.TensorSpec((None,), np.int64),
    ),
    "window": (lambda: TEN.window(2), hr.DatasetSpec(INT)),
    "window of a dict": (
        lambda: PAIRS.window(2),
        {"a": hr.DatasetSpec(hr.TensorSpec((3,), np.float32)), "b": hr.DatasetSpec(hr.TensorSpec((), str))},
    ),
    "window of windows": (lambda: TEN.window(2).window(2), hr.DatasetSpec(hr.DatasetSpec(INT))),
    "batch of windows": (lambda: TEN.window(2).batch(2), hr.DatasetSpec(INT, (None,))),
    "a dataset": (lambda: data.from_tensors(TEN), hr.DatasetSpec(INT)),
    "ragged": (
        lambda: PAIRS.batch(3).ragged_batch(2, drop_remainder=True, row_splits_dtype=np.int32),
        {
            "a": hr.RaggedTensor(hr.TensorSpec((None, 3), np.float32), hr.TensorSpec((3,), np.int32)),
            "b": hr.RaggedTensor(hr.TensorSpec((None,), str), hr.TensorSpec((3,), np.int32)),
        },
    ),
    "options": (lambda: PAIRS.with_options(hr.Options()), PAIR),
}


@pytest.mark.parametrize("case", sorted(KNOWN))
def test_what_follows_from_the_operations_is_known(case: str) -> None:
    build, expected = KNOWN[case]
    plan = build().__headrace_plan__()
    assert fits(plan.spec(), expected)
    assert fits(expected, plan.spec())
    assert str(build().element_spec) == str(expected)


@pytest.mark.parametrize("case", sorted(set(KNOWN) - {"no slices", "generator", "text", "csv"}))
def test_every_element_fits_what_is_known(case: str) -> None:
    build, expected = KNOWN[case]
    for element in build().take(3):
        assert fits(expected, spec_of(element))


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


def vectors(*sizes: int) -> hr.Dataset:
    """A vector of each size, behind a function."""
    return data.from_tensor_slices(list(sizes)).map(np.zeros)


FLOATS = hr.TensorSpec((None,), np.float64)

# What tf.data says of the same, and more than the first element could: by operations behind a function, or by what it returns.
FOUND: dict[str, tuple[Callable[[], hr.Dataset], Any]] = {
    "a batch behind a map": (
        lambda: data.from_tensor_slices({"a": np.zeros((3, 2))}).map(lambda e: e["a"]).batch(2),
        hr.TensorSpec((None, 2), np.float64),
    ),
    "a map behind a batch": (
        lambda: TEN.batch(3).map(lambda x: (x * 2, x.sum())),
        (hr.TensorSpec((None,), np.int64), INT),
    ),
    "rows that differ, padded": (lambda: vectors(1, 2, 3).padded_batch(2), hr.TensorSpec((None, None), np.float64)),
    "rows that differ, unbatched": (lambda: vectors(1, 2, 3).padded_batch(2).unbatch(), FLOATS),
    "rows that differ, ragged": (
        lambda: vectors(1, 2, 3).ragged_batch(2),
        hr.RaggedTensor(FLOATS, hr.TensorSpec((None,), np.int64)),
    ),
    "windows of a map": (lambda: vectors(2, 2, 2).window(2), hr.DatasetSpec(hr.TensorSpec((2,), np.float64))),
    "a map of windows": (lambda: TEN.window(2).map(lambda w: (w, 1)), (hr.DatasetSpec(INT), INT)),
    "flat_map of windows": (lambda: TEN.window(2).flat_map(lambda w: w.batch(2)), hr.TensorSpec((None,), np.int64)),
    "flat_map of windows of a dict": (
        lambda: PAIRS.window(2).flat_map(lambda w: data.zip((w["b"].batch(2), w["a"].batch(2, True)))),
        (hr.TensorSpec((None,), str), hr.TensorSpec((2, 3), np.float32)),
    ),
    "interleave of functions": (
        lambda: TEN.interleave(lambda x: TEN.map(lambda y: (x, float(y))).batch(4)),
        (hr.TensorSpec((None,), np.int64), FLOATS),
    ),
    "groups": (
        lambda: TEN.group_by_window(lambda x: x % 2, lambda key, group: group.batch(5), 5),
        hr.TensorSpec((None,), np.int64),
    ),
    "groups of batches": (
        lambda: TEN.batch(4).group_by_window(lambda x: 0, lambda key, group: group.padded_batch(2), 2),
        hr.TensorSpec((None, None), np.int64),
    ),
    "buckets": (
        lambda: vectors(1, 2, 3).bucket_by_sequence_length(len, [4], [2, 2]),
        hr.TensorSpec((None, None), np.float64),
    ),
    "a state that grows": (
        lambda: TEN.scan(np.zeros(1), lambda state, x: (np.concatenate([state, state]), state)),
        FLOATS,
    ),
    "a state that stays": (
        lambda: TEN.scan(np.zeros(1), lambda state, x: (state, state)),
        hr.TensorSpec((1,), np.float64),
    ),
    "one behind the other": (lambda: vectors(2, 2).concatenate(vectors(3)), FLOATS),
    "one behind an empty one": (lambda: vectors().concatenate(vectors(3, 3)), hr.TensorSpec((3,), np.float64)),
    "either": (lambda: data.sample_from_datasets([vectors(2), vectors(3)], seed=1), FLOATS),
    "classes": (
        lambda: TEN.batch(2).rejection_resample(lambda x: 0, [1.0]),
        (INT, hr.TensorSpec((None,), np.int64)),
    ),
    "behind a cache": (
        lambda: vectors(1, 2).cache().padded_batch(2, drop_remainder=True),
        hr.TensorSpec((2, None), np.float64),
    ),
    "rebatch behind a map": (lambda: TEN.batch(4, True).map(lambda x: x).rebatch(2), hr.TensorSpec((2,), np.int64)),
}


@pytest.mark.parametrize("case", sorted(FOUND))
def test_what_is_found_behind_a_function_holds_for_all_and_not_for_the_first_alone(case: str) -> None:
    build, expected = FOUND[case]
    assert build().__headrace_plan__().spec() is None
    assert str(build().element_spec) == str(expected)
    assert all(fits(expected, spec_of(element)) for element in build())


def test_a_look_calls_each_function_once_for_an_element_and_fills_no_cache(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[Any] = []

    def noting(name: str) -> Callable[[Any], Any]:
        def note(x: Any) -> Any:
            calls.append(name)
            return x

        return note

    dataset = TEN.map(noting("first")).map(noting("second")).cache().map(noting("third"))
    assert dataset.element_spec == INT
    assert calls == ["first", "second", "third"]
    assert not caplog.records
    assert list(dataset) == list(range(10))
    calls.clear()
    assert dataset.element_spec == INT  # from the cache
    assert calls == ["third"]


def test_datasets_that_differ_behind_functions_have_no_specification() -> None:
    unlike = TEN.map(lambda x: x).concatenate(vectors(1))
    with pytest.raises(TypeError, match="the datasets differ in structure or dtype"):
        _ = unlike.element_spec
    assert len(list(unlike)) == 11


def test_a_dataset_fits_the_specification_of_its_elements() -> None:
    window = next(iter(PAIRS.map(lambda pair: pair["a"]).window(2)))
    assert spec_of(window) == hr.DatasetSpec(hr.TensorSpec((3,), np.float32))
    assert hr.DatasetSpec(hr.TensorSpec((None,), np.float32)).is_compatible_with(spec_of(window))
    assert not hr.DatasetSpec(INT).is_compatible_with(spec_of(window))
    assert not hr.DatasetSpec(INT).is_compatible_with(INT)
    assert hr.DatasetSpec(None).is_compatible_with(hr.DatasetSpec(INT))
    assert hr.TensorSpec((), object).is_compatible_with(hr.DatasetSpec(INT))
    two, three = hr.DatasetSpec(hr.TensorSpec((2,), int)), hr.DatasetSpec(hr.TensorSpec((3,), int))
    assert two.most_general(three) == hr.DatasetSpec(hr.TensorSpec((None,), int))
    assert two.most_general(hr.DatasetSpec(INT, (4,))) == hr.DatasetSpec(hr.TensorSpec(None, int), None)
    assert general((two, INT), (three, INT)) == (hr.DatasetSpec(hr.TensorSpec((None,), int)), INT)
    assert general(two, INT) is None
    assert general((two,), two) is None
    assert repr(hr.DatasetSpec(INT, (None,))) == f"DatasetSpec({INT}, (None,))"
    assert hash(hr.DatasetSpec(INT)) == hash(hr.DatasetSpec(INT))


def test_datasets_are_not_padded() -> None:
    with pytest.raises(TypeError, match=r"a dataset cannot be padded; .*flat_map"):
        TEN.window(2).padded_batch(2)
    for executor in ("thread", "inline"):
        behind = TEN.map(data.range).padded_batch(2).with_options(hr.Options(executor=executor))
        with pytest.raises(hr.errors.DataError, match="a dataset cannot be padded"):
            next(iter(behind))
