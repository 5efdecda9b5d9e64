"""padded_batch, ragged_batch, rebatch: their edges, on both backends, resumed at every place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import DataError, DataLossError, InvalidArgumentError
from headrace.testing.restoring import check_every_restore_point, same

Build = Any
data = hr.Dataset
BOTH = pytest.mark.parametrize("executor", ["thread", "inline"])


def given(dataset: hr.Dataset) -> list[Any]:
    """What both backends give, from any place on."""
    found = list(dataset.with_options(hr.Options(executor="inline", optimize=False)))
    assert same(list(dataset), found)
    check_every_restore_point(dataset)
    return found


def lengths(*counts: int) -> hr.Dataset:
    """Vectors of these lengths, each full of its length."""
    rows = [np.full(count, count) for count in counts]
    return hr.Dataset.range(len(rows)).map(lambda number: rows[number])


def values(batches: list[Any]) -> list[Any]:
    return [batch.tolist() for batch in batches]


# ------------------------------------------------------------------------- padded_batch


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((), []),
        ((2,), [[[2, 2]]]),
        ((1, 2), [[[1, 0], [2, 2]]]),
        ((1, 2, 0, 1, 3), [[[1, 0], [2, 2]], [[0], [1]], [[3, 3, 3]]]),
        ((0, 0), [[[], []]]),
    ],
)
def test_padding_goes_to_the_longest_of_each_batch(counts: tuple[int, ...], expected: list[Any]) -> None:
    assert values(given(lengths(*counts).padded_batch(2))) == expected


def test_the_remainder_of_padded_batches_may_be_dropped() -> None:
    assert values(given(lengths(1, 2, 3).padded_batch(2, drop_remainder=True))) == [[[1, 0], [2, 2]]]


@pytest.mark.parametrize("shape", [[4], (4,), np.array([4])])
def test_padding_goes_to_the_shape_that_is_given(shape: Any) -> None:
    assert values(given(lengths(1, 0).padded_batch(2, padded_shapes=shape, padding_values=-1))) == [
        [[1, -1, -1, -1], [-1, -1, -1, -1]]
    ]


def test_an_element_longer_than_its_shape_is_an_error_in_place_of_its_batch() -> None:
    with iter(lengths(1, 3, 1, 1).padded_batch(2, padded_shapes=[2])) as iterator:
        with pytest.raises(DataLossError, match="padded_batch"):
            next(iterator)
        assert next(iterator).tolist() == [[1, 0], [1, 0]]


def test_nested_components_are_padded_each_with_its_own_value() -> None:
    dataset = hr.Dataset.range(1, 4).map(lambda x: {"text": np.array(["t"] * x, object), "pair": (x, np.ones((1, x)))})
    (batch,) = given(
        dataset.padded_batch(
            3,
            padded_shapes={"text": [None], "pair": ([], [2, -1])},
            padding_values={"text": "-", "pair": (0, 9.0)},
        )
    )
    assert batch["text"].tolist() == [["t", "-", "-"], ["t", "t", "-"], ["t", "t", "t"]]
    assert batch["pair"][0].tolist() == [1, 2, 3]
    assert batch["pair"][1][0].tolist() == [[1, 9, 9], [9, 9, 9]]


@pytest.mark.parametrize("value", ["text", b"bytes"])
def test_a_padding_value_of_another_kind_is_refused(value: Any) -> None:
    dataset = hr.Dataset.from_tensor_slices(np.zeros((4, 2)))
    with pytest.raises(TypeError):
        list(dataset.padded_batch(2, padding_values=value))


@BOTH
@pytest.mark.parametrize("behind_a_function", [False, True])
def test_none_stands_for_the_default_values_of_a_whole_part(executor: str, behind_a_function: bool) -> None:
    rows = data.range(1, 3).map(lambda n: (np.arange(n), {"s": (np.arange(n), np.full(n, "a", dtype=object))}))
    if not behind_a_function:
        vector = hr.TensorSpec((None,), np.int64)
        spec = (vector, {"s": (vector, hr.TensorSpec((None,), str))})
        rows = data.from_generator(lambda rows=rows: iter(rows), spec)
    shapes = ([None], {"s": ([None], 3)})
    for values, wanted in (
        ((-1, None), ["a", "", ""]),
        ((-1, {"s": None}), ["a", "", ""]),
        ((-1, {"s": (None, "-")}), ["a", "-", "-"]),
    ):
        (batch,) = rows.padded_batch(3, shapes, values).with_options(hr.Options(executor=executor))
        assert batch[0].tolist() == [[0, -1], [0, 1]]
        assert batch[1]["s"][0].tolist() == [[0, 0], [0, 1]]
        assert batch[1]["s"][1].tolist() == [wanted, ["a", "a", wanted[2]]]


def test_values_of_another_structure_are_refused_where_it_differs() -> None:
    with pytest.raises(InvalidArgumentError, match="padding_values must have the elements' structure"):
        data.from_tensors(([1], {"s": [1]})).padded_batch(2, None, (None, {"t": 0}))


@BOTH
@pytest.mark.parametrize("scalar", [1, 1.5, "text", b"bytes", np.float32(1), np.array(1)], ids=repr)
def test_scalars_have_no_axis_to_be_padded(executor: str, scalar: Any) -> None:
    options = hr.Options(executor=executor)
    rows = data.range(2).map(lambda x: (np.arange(x), scalar)).with_options(options)
    (batch,) = rows.padded_batch(2, ([None], []))
    assert batch[1].shape == (2,)
    assert batch[1].tolist() == [scalar, scalar]
    with pytest.raises(DataError, match=r"component \[1\]: the padding value"):
        list(rows.padded_batch(2, ([None], []), (0, 1 if isinstance(scalar, (str, bytes)) else "text")))
    with pytest.raises(InvalidArgumentError, match=r"component \[1\]: the padded shape \[3\] does not fit"):
        list(rows.padded_batch(2, ([None], [3])))


def test_an_int_is_the_padded_shape_of_a_vector() -> None:
    (batch,) = data.range(1, 3).map(np.arange).padded_batch(2, 3)
    assert batch.tolist() == [[0, 0, 0], [0, 1, 0]]


@BOTH
def test_a_padded_shape_that_is_none_names_the_argument(executor: str) -> None:
    known, unknown = data.from_tensors([1, 2]), data.from_tensors(0).map(lambda x: np.array([x, x]))
    with pytest.raises(TypeError, match=r"padded_batch: a size in padded_shapes must be an int, .* not 1.5"):
        known.padded_batch(2, [1.5])
    with pytest.raises(DataError, match=r"a size in padded_shapes must be an int, .* not 1.5"):
        list(unknown.padded_batch(2, [1.5]).with_options(hr.Options(executor=executor)))
    with pytest.raises(InvalidArgumentError, match="a shape in padded_shapes is a list of sizes, or one int"):
        known.padded_batch(2, 1.5)
    with pytest.raises(InvalidArgumentError, match="a size in padded_shapes is at least 0"):
        known.padded_batch(2, [-2])


@pytest.mark.parametrize("size", [0, -1])
def test_sizes_below_one_are_refused(size: int) -> None:
    for make in (hr.Dataset.batch, hr.Dataset.padded_batch, hr.Dataset.ragged_batch):
        with pytest.raises(InvalidArgumentError, match="batch_size must be at least 1"):
            make(hr.Dataset.range(3), size)


# ------------------------------------------------------------------------- ragged_batch


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((), []), ((2,), [[[2, 2]]]), ((0, 2), [[[], [2, 2]]]), ((1, 0, 3), [[[1], []], [[3, 3, 3]]])],
)
def test_ragged_batches_keep_each_length(counts: tuple[int, ...], expected: list[Any]) -> None:
    batches = list(lengths(*counts).ragged_batch(2))
    assert [batch.to_list() for batch in batches] == expected
    assert [batch.row_splits.dtype for batch in batches] == [np.int64] * len(expected)
    check_every_restore_point(lengths(*counts).ragged_batch(2))


def test_row_splits_are_of_the_dtype_that_is_asked_for() -> None:
    (batch,) = lengths(1, 2).ragged_batch(2, row_splits_dtype=np.int32)
    assert batch.row_splits.dtype == np.int32
    with pytest.raises(InvalidArgumentError, match="row_splits_dtype"):
        lengths(1).ragged_batch(1, row_splits_dtype=np.float32)


def test_components_that_differ_in_more_than_their_first_axis_are_an_error() -> None:
    dataset = hr.Dataset.range(1, 4).map(lambda x: np.zeros((2, x)))
    with pytest.raises(InvalidArgumentError, match="ragged_batch"):
        list(dataset.ragged_batch(2))


# ------------------------------------------------------------------------- rebatch


def batches(count: int) -> hr.Dataset:
    return hr.Dataset.range(count).batch(3)


@pytest.mark.parametrize(
    ("count", "sizes", "drop", "expected"),
    [
        (0, 2, False, []),
        (1, 2, False, [[0]]),
        (4, 2, False, [[0, 1], [2, 3]]),
        (5, 2, False, [[0, 1], [2, 3], [4]]),
        (5, 2, True, [[0, 1], [2, 3]]),
        (5, [2, 1], False, [[0, 1], [2], [3, 4]]),
        (5, (2, 2), False, [[0, 1], [2, 3], [4]]),
        # As tf.data, in each of these: nothing follows a short batch, and empty ones follow a whole one.
        (0, [0, 2], False, [[]]),
        (0, [0, 0, 2], False, [[], []]),
        (0, [2, 0], False, []),
        (1, [0, 2], False, [[], [0]]),
        (1, [0, 2], True, [[]]),
        (2, [2, 0, 0], False, [[0, 1], [], []]),
        (1, [2, 0, 0], False, [[0]]),
        (2, [0, 1, 0, 2], False, [[], [0], [], [1]]),
        (3, [0, 1, 0, 2], False, [[], [0], [], [1, 2], []]),
    ],
)
def test_sizes_take_turns_up_to_the_end(count: int, sizes: Any, drop: bool, expected: list[Any]) -> None:
    assert values(given(batches(count).rebatch(sizes, drop_remainder=drop))) == expected


def test_empty_batches_are_like_their_neighbours_where_nothing_says_what_they_are() -> None:
    dataset = hr.Dataset.range(2).map(lambda x: np.zeros((1, 3), np.int8)).rebatch([0, 2])
    assert [(batch.shape, batch.dtype) for batch in given(dataset)] == [((size, 3), np.int8) for size in (0, 2, 0)]
    assert given(dataset.take(0)) == []


def test_empty_batches_of_texts_are_like_their_neighbours_behind_a_saved_state_as_well() -> None:
    dataset = hr.Dataset.range(3).map(str).batch(1).rebatch([0, 1])
    assert [batch.dtype for batch in given(dataset)] == [np.dtype(object)] * 7


@pytest.mark.parametrize("sizes", [[], [0], [0, 0], [-1, 2]])
def test_sizes_that_never_end_are_refused(sizes: list[int]) -> None:
    with pytest.raises(InvalidArgumentError, match="the sizes must be at least 0, and one of them at least 1"):
        batches(3).rebatch(sizes)


def test_scalars_cannot_be_rebatched() -> None:
    with pytest.raises(InvalidArgumentError, match="scalar"):
        hr.Dataset.range(3).rebatch(2)
    with pytest.raises((InvalidArgumentError, DataError), match="scalar"):
        next(iter(hr.Dataset.range(3).map(lambda x: x).rebatch(2)))


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("combine", ["batch", "padded_batch", "rebatch"])
def test_every_batch_is_in_this_machines_byte_order(combine: str, calls: int | None, executor: str) -> None:
    made = hr.Dataset.range(10).map(lambda x: np.full((100, 100), x, ">f4"), num_parallel_calls=calls)
    dataset = made.batch(1).rebatch(4) if combine == "rebatch" else getattr(made, combine)(4)
    dataset = dataset.with_options(hr.Options(executor=executor))
    assert [batch.dtype for batch in dataset] == [np.dtype("f4").newbyteorder("=")] * 3
    assert [int(batch[0, 0, 0]) for batch in dataset] == [0, 4, 8]
    assert [batch.dtype.isnative for batch in dataset.unbatch().batch(3)] == [True] * 4


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("combine", ["batch", "padded_batch"])
def test_a_mask_is_not_lost_in_a_batch_without_a_word(combine: str, calls: int | None, executor: str) -> None:
    made = hr.Dataset.range(4).map(
        lambda x: np.ma.array(np.full(20_000, x), mask=np.arange(20_000) == x - 2), num_parallel_calls=calls
    )
    dataset = getattr(made, combine)(2).with_options(hr.Options(executor=executor))
    with iter(dataset) as iterator:
        assert type(next(iterator)) is np.ndarray
        with pytest.raises(hr.errors.InvalidArgumentError, match="loses its mask"):
            next(iterator)


# ------------------------------------------------------------------------- arrays of a class of their own


class Metres(np.ndarray):
    """An array with a unit."""


@pytest.mark.parametrize("kind", [np.matrix, np.recarray, Metres])
@pytest.mark.parametrize("calls", [None, 2])
def test_a_batch_of_arrays_of_a_class_of_their_own_is_one_of_plain_arrays(kind: type, calls: int | None) -> None:
    rows: list[Any] = [np.full((2, 1), x).view(kind) for x in range(5)]
    dataset = hr.Dataset.range(5).map(lambda x: rows[x], num_parallel_calls=calls)
    for batched in (dataset.batch(2), dataset.padded_batch(2), dataset.batch(5).rebatch(2)):
        batches = given(batched)
        assert {type(batch) for batch in batches} == {np.ndarray}
        assert values(batches) == [[[[0], [0]], [[1], [1]]], [[[2], [2]], [[3], [3]]], [[[4], [4]]]]
    assert same(given(dataset.batch(2).unbatch()), [np.full((2, 1), x) for x in range(5)])
    ragged = given(dataset.ragged_batch(2))
    assert {type(batch.values) for batch in ragged} == {np.ndarray}


@BOTH
def test_arrays_of_no_number_are_taken_apart(executor: Any) -> None:
    batches = hr.Dataset.from_tensor_slices(np.zeros((4, 2, 0))).batch(2).unbatch().unbatch()
    assert [array.shape for array in batches.with_options(hr.Options(executor=executor))] == [(0,)] * 8


def test_a_batch_that_fails_first_in_a_window_is_an_error_in_its_place() -> None:
    def of_a_window(window: hr.Dataset) -> hr.Dataset:
        return window.map(lambda x: np.arange(2) if x % 2 else np.int64(0)).ragged_batch(2)

    iterator = iter(hr.Dataset.range(4).window(2).flat_map(of_a_window))
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="shapes differ"):
            next(iterator)
    assert list(iterator) == []
