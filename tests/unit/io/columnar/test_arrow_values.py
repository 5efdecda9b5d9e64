from __future__ import annotations

import datetime as dt
import decimal
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.elements.leaf_specs import leaf_spec
from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import LEAF, flatten, object_array
from headrace.errors import InvalidArgumentError
from headrace.io.columnar.arrow_encoding import record_batch_of
from headrace.io.columnar.arrow_specs import spec_of_type
from headrace.io.columnar.arrow_values import Values, values_of
from headrace.testing.restoring import same

DAY = dt.date(2020, 2, 29)
NOON = dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC)


def values(column: pa.Array, defaults: dict[str, Any] | None = None) -> Values:
    return values_of(pa.record_batch({"x": column}), defaults or {})


def ragged(lists: list[list[Any]]) -> hr.RaggedTensor:
    items = [item for one in lists for item in one]
    values = object_array(items) if items and isinstance(items[0], str) else np.array(items, np.int64)
    return hr.RaggedTensor(values, np.cumsum([0, *map(len, lists)]))


def rows(column: pa.Array, defaults: dict[str, Any] | None = None) -> list[Any]:
    found = values(column, defaults)
    assert not found.faults, found.faults
    return [row["x"] for row in found.rows(0, len(column))]


@pytest.mark.parametrize("code", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
def test_numbers_are_the_memory_that_they_lie_in(code: str) -> None:
    column = pa.array(np.arange(5, dtype=code))[1:4]
    (leaf,) = values(column).leaves
    assert isinstance(leaf, np.ndarray)
    assert leaf.dtype == code
    assert leaf.tolist() == [1, 2, 3]
    assert leaf.ctypes.data == column.buffers()[1].address + leaf.itemsize


CASES: dict[str, tuple[pa.Array, list[Any]]] = {
    "bools": (pa.array([True, False, True]), [True, False, True]),
    "texts": (pa.array(["a", "", "é\0"]), ["a", "", "é\0"]),
    "large texts": (pa.array(["a", "é"], pa.large_string()), ["a", "é"]),
    "text views": (pa.array(["a", "é" * 20], pa.string_view()), ["a", "é" * 20]),
    "bytes": (pa.array([b"", b"\0\xff"]), [b"", b"\0\xff"]),
    "bytes of one length": (pa.array([b"a\0", b"bc"], pa.binary(2)), [b"a\0", b"bc"]),
    "decimals": (pa.array([decimal.Decimal("1.50")]), [decimal.Decimal("1.50")]),
    "dates": (pa.array([DAY]), [np.datetime64("2020-02-29")]),
    "dates of 64 bits": (pa.array([DAY], pa.date64()), [np.datetime64("2020-02-29", "ms")]),
    "timestamps": (pa.array([DAY]).cast(pa.timestamp("s")), [np.datetime64("2020-02-29", "s")]),
    "timestamps of a zone": (
        pa.array([NOON], pa.timestamp("ns", "Asia/Tokyo")),
        [np.datetime64("2020-02-29T12:00", "ns")],
    ),
    "times of day": (pa.array([dt.time(1)], pa.time32("ms")), [np.timedelta64(3_600_000, "ms")]),
    "durations": (pa.array([dt.timedelta(1)], pa.duration("us")), [np.timedelta64(86_400_000_000, "us")]),
    "lists of one length": (
        pa.array([[1, 2], [3, 4]], pa.list_(pa.int16(), 2)),
        [np.array([1, 2], np.int16), np.array([3, 4], np.int16)],
    ),
    "lists": (pa.array([[1.5], [], [2, 3]]), [np.array([1.5]), np.array([]), np.array([2.0, 3.0])]),
    "large lists": (pa.array([["a"], []], pa.large_list(pa.string())), [np.array(["a"], object), np.array([], object)]),
    "list views": (pa.array([[1], []], pa.list_view(pa.int8())), [np.array([1], np.int8), np.array([], np.int8)]),
    "matrices": (
        pa.array([[[1, 2], [3, 4]]], pa.list_(pa.list_(pa.int64(), 2), 2)),
        [np.array([[1, 2], [3, 4]])],
    ),
    "rows of pairs": (
        pa.array([[[1, 2]], []], pa.list_(pa.list_(pa.int64(), 2))),
        [np.array([[1, 2]]), np.zeros((0, 2), int)],
    ),
    "lists of lists": (
        pa.array([[[1], [2, 3]], [], [[]]]),
        [
            hr.RaggedTensor(np.array([1, 2, 3]), np.array([0, 1, 3])),
            hr.RaggedTensor(np.array([], int), np.array([0])),
            hr.RaggedTensor(np.array([], int), np.array([0, 0])),
        ],
    ),
    "two lists": (
        pa.array([[[1], [2, 3]]], pa.list_(pa.list_(pa.int64()), 2)),
        [hr.RaggedTensor(np.array([1, 2, 3]), np.array([0, 1, 3]))],
    ),
    "structs": (pa.array([{"b": 1, "a": {"c": "d"}}]), [{"b": 1, "a": {"c": "d"}}]),
    "lists of structs": (
        pa.array([[{"a": 1, "b": "x"}], []]),
        [
            {"a": np.array([1]), "b": np.array(["x"], object)},
            {"a": np.array([], int), "b": np.array([], object)},
        ],
    ),
    "maps": (
        pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
        [
            {"key": np.array(["k"], object), "value": np.array([1], np.int32)},
            {"key": np.array([], object), "value": np.array([], np.int32)},
        ],
    ),
    "dictionaries": (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    "dictionaries of numbers": (pa.array([7, 7]).dictionary_encode(), [7, 7]),
    "runs": (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), ["a", "a", "b"]),
    "tensors": (
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int32(), [2, 3]), pa.array([list(range(6))], pa.list_(pa.int32(), 6))
        ),
        [np.arange(6, dtype=np.int32).reshape(2, 3)],
    ),
    "tensors in another order": (
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=[1, 0]),
            pa.array([list(range(6))], pa.list_(pa.int32(), 6)),
        ),
        [np.arange(6, dtype=np.int32).reshape(2, 3).T],
    ),
    "maps in lists of one length": (
        pa.array([[[("a", 1)], [("b", 2), ("c", 3)]], [[], [("d", 4)]]], pa.list_(pa.map_(pa.string(), pa.int64()), 2)),
        [
            {"key": ragged([["a"], ["b", "c"]]), "value": ragged([[1], [2, 3]])},
            {"key": ragged([[], ["d"]]), "value": ragged([[], [4]])},
        ],
    ),
    "lists in structs in lists of one length": (
        pa.array(
            [[{"a": [1], "b": 5}, {"a": [2, 3], "b": 6}], [{"a": [], "b": 7}, {"a": [4], "b": 8}]],
            pa.list_(pa.struct([("a", pa.list_(pa.int64())), ("b", pa.int64())]), 2),
        ),
        [{"a": ragged([[1], [2, 3]]), "b": np.array([5, 6])}, {"a": ragged([[], [4]]), "b": np.array([7, 8])}],
    ),
    "lists of nothing": (pa.array([[], []], pa.list_(pa.int64(), 0)), [np.zeros(0, int), np.zeros(0, int)]),
    "none": (pa.array([], pa.int64()), []),
    "no lists": (pa.array([], pa.list_(pa.int64())), []),
    "no structs": (pa.array([], pa.struct([("a", pa.string())])), []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_column_becomes_what_its_type_says(name: str) -> None:
    column, expected = CASES[name]
    found = rows(column)
    assert len(found) == len(expected)
    assert all(map(same, found, expected)), found
    # The same behind other rows: where an array begins within its memory is nobody's business.
    longer = pa.concat_arrays([column, column])[len(column) :]
    assert all(map(same, rows(longer), expected))


@pytest.mark.parametrize("name", CASES)
def test_a_column_is_what_its_specification_says(name: str) -> None:
    column, _ = CASES[name]
    specs, structure = flatten(spec_of_type(column.type, "x"))
    for row in rows(column):
        leaves, found = flatten(row)
        assert found == structure
        for spec, leaf in zip(specs, leaves, strict=True):
            empty = isinstance(leaf, np.ndarray) and not leaf.size
            assert empty or spec.is_compatible_with(leaf_spec(leaf))


@pytest.mark.parametrize("name", CASES)
def test_rows_are_cut_anywhere(name: str) -> None:
    column, expected = CASES[name]
    found = values(column)
    for start in range(len(column) + 1):
        for stop in range(start, len(column) + 1):
            assert all(map(same, [row["x"] for row in found.rows(start, stop)], expected[start:stop]))
            arrays = found.arrays(start, stop)
            assert arrays is None or all(len(array) == stop - start for array in arrays)


def test_floats_and_times_have_a_value_for_what_is_not_there() -> None:
    assert np.isnan(rows(pa.array([None, 1.0], pa.float32()))[0])
    assert np.isnat(rows(pa.array([DAY, None]))[1])
    assert np.isnat(rows(pa.array([None], pa.duration("s")))[0])
    assert np.isnan(rows(pa.array([[1.0, None]]))[0][1])


NULLS: dict[str, tuple[pa.Array, set[int]]] = {
    "numbers": (pa.array([1, None, 3]), {1}),
    "bools": (pa.array([None, True]), {0}),
    "texts": (pa.array(["a", None]), {1}),
    "bytes": (pa.array([b"a", None]), {1}),
    "decimals": (pa.array([decimal.Decimal(1), None]), {1}),
    "nothing": (pa.nulls(2), {0, 1}),
    "dictionaries": (pa.array(["a", None, "a"]).dictionary_encode(), {1}),
    "null in a dictionary": (pa.DictionaryArray.from_arrays([0, 1, 0], ["a", None]), {1}),
    "lists": (pa.array([[1], None, []]), {1}),
    "in lists": (pa.array([[], [1, None], [2], [None, None]]), {1, 3}),
    "in lists of one length": (pa.array([[1, 2], [None, 3]], pa.list_(pa.int64(), 2)), {1}),
    "lists of one length": (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), {1}),
    "in lists of lists": (pa.array([[[1]], [[], [None]]]), {1}),
    "structs": (pa.array([{"a": 1}, None]), {1}),
    "fields": (pa.array([{"a": 1, "b": "x"}, {"a": None, "b": None}]), {1}),
    "in lists of structs": (pa.array([[{"a": 1}], [{"a": None}]]), {1}),
}


@pytest.mark.parametrize("name", NULLS)
def test_any_other_null_is_a_fault_of_its_row(name: str) -> None:
    column, expected = NULLS[name]
    found = values(column)
    assert set(found.faults) == expected
    assert all("column 'x" in reason and "null" in reason for reason in found.faults.values())
    behind = values(pa.concat_arrays([column, column])[len(column) :])
    assert set(behind.faults) == expected


def test_a_default_stands_for_a_null() -> None:
    assert rows(pa.array([1, None]), {"x": 7}) == [1, 7]
    assert rows(pa.array([1.0, None]), {"x": 0.5}) == [1.0, 0.5]
    assert rows(pa.array(["a", None]).dictionary_encode(), {"x": "none"}) == ["a", "none"]
    assert [row.tolist() for row in rows(pa.array([[1, None]]), {"x": 7})] == [[1, 7]]
    assert [row.tolist() for row in rows(pa.array([None, [1]]), {"x": []})] == [[], [1]]
    assert [row.tolist() for row in rows(pa.array([None], pa.list_(pa.int64(), 2)), {"x": [3, 4]})] == [[3, 4]]
    assert rows(pa.array([{"a": None}, None], pa.struct([("a", pa.int64())])), {"x.a": 7}) == [{"a": 7}, {"a": 7}]


def test_a_text_that_is_not_utf8_is_a_fault_of_its_row() -> None:
    column = pa.array([b"good", b"\xff", b"too"]).view(pa.string())
    found = values(column)
    assert {row: reason.partition(";")[0] for row, reason in found.faults.items()} == {1: "column 'x' is not UTF-8"}
    assert found.rows(2, 3) == [{"x": "too"}]
    known = pa.DictionaryArray.from_arrays([0, 1, 1], column)
    assert set(values(known).faults) == {1, 2}


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.list_(pa.list_(pa.int8()))),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.struct([]),
        pa.month_day_nano_interval(),
    ],
)
def test_what_no_element_can_hold_is_refused_by_name(kind: pa.DataType) -> None:
    with pytest.raises(InvalidArgumentError, match=r"column 'x'.*columns="):
        spec_of_type(kind, "x")


leaves = st.one_of(
    st.lists(st.integers(-5, 5), min_size=3, max_size=3).map(lambda v: np.array(v, np.int16)),
    st.lists(st.floats(width=32), min_size=3, max_size=3).map(lambda v: np.array(v, ">f4")),
    st.lists(st.booleans(), min_size=3, max_size=3).map(np.array),
    st.lists(st.text(max_size=3), min_size=3, max_size=3).map(lambda v: np.array(v, object)),
    st.lists(st.binary(max_size=3), min_size=3, max_size=3).map(lambda v: np.array(v, object)),
    st.lists(st.integers(0, 99), min_size=3, max_size=3).map(lambda v: np.array(v, "M8[us]")),
    st.just(np.arange(24, dtype=np.uint8).reshape(3, 2, 4)),
    st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=3, max_size=3).map(
        lambda v: hr.RaggedTensor(np.array(list(itertools.chain(*v)), int), np.cumsum([0, *map(len, v)]))
    ),
)
batches = st.dictionaries(
    st.sampled_from("abcd"), st.one_of(leaves, st.dictionaries(st.sampled_from("xy"), leaves, min_size=1)), min_size=1
)


@given(batches)
def test_what_is_written_is_read_back(batch: dict[str, Any]) -> None:
    found = values_of(record_batch_of(batch), {})
    assert not found.faults
    for number, row in enumerate(found.rows(0, 3)):
        assert same(row, _row(batch, number))


def _row(value: Any, number: int) -> Any:
    if isinstance(value, dict):
        return {name: _row(part, number) for name, part in value.items()}
    if isinstance(value, hr.RaggedTensor):
        return value[number]
    return rows_of(LEAF, [value.astype(value.dtype.newbyteorder("="))])[number]
