from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.io.sql.rows import RowForm


def typed(kind: Any, *values: Any, **options: Any) -> np.ndarray:
    (array,) = RowForm(output_types=(kind,), **options).reading(["x"]).arrays([(value,) for value in values])
    return array  # type: ignore[no-any-return]  # of a structure that is not known


def test_rows_are_tuples_or_dicts_of_what_the_driver_gives() -> None:
    rows = [(1, "a", None), (2, "b", Decimal("0.5"))]
    assert RowForm().reading(["n", "s", "d"]).elements(rows) == rows
    dicts = RowForm(as_dict=True).reading(["n", "s", "d"]).elements(rows)
    assert dicts == [{"n": 1, "s": "a", "d": None}, {"n": 2, "s": "b", "d": Decimal("0.5")}]
    assert RowForm().reading([]).elements([(), ()]) == [(), ()]


def test_null_is_what_its_column_says() -> None:
    rows = [(1, None), (None, "b")]
    assert RowForm(record_defaults=(0, "")).reading(["n", "s"]).elements(rows) == [(1, ""), (0, "b")]
    assert RowForm(record_defaults={"s": "none"}).reading(["n", "s"]).elements(rows) == [(1, "none"), (None, "b")]
    assert RowForm(record_defaults=(None, "")).reading(["n", "s"]).elements(rows) == [(1, ""), (None, "b")]
    assert typed("int32", 1, None, record_defaults=(-1,)).tolist() == [1, -1]
    with pytest.raises(InvalidArgumentError, match="column 'x' is NULL, and has no default"):
        typed("int32", 1, None)
    assert typed(object, None, {}).tolist() == [None, {}]


def test_binary_values_are_bytes_and_lists_are_arrays() -> None:
    (element,) = RowForm().reading(["a", "b", "c"]).elements([(memoryview(b"x"), bytearray(b"y"), [1, 2])])
    assert element[:2] == (b"x", b"y")
    assert element[2].tolist() == [1, 2]
    assert typed(bytes, memoryview(b"x"), b"y").tolist() == [b"x", b"y"]


@given(
    values=st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=4),
    kind=st.sampled_from(["int8", "uint64", "int64"]),
)
def test_whole_numbers_are_exact_or_refused(values: list[int], kind: str) -> None:
    limits = np.iinfo(kind)
    if all(limits.min <= value <= limits.max for value in values):
        assert typed(kind, *values).tolist() == values
    else:
        with pytest.raises(InvalidArgumentError, match="column 'x' is not of the type"):
            typed(kind, *values)


def test_numbers_take_the_type_that_is_stated() -> None:
    assert typed("float32", 1, 0.1, Decimal("2.5")).tolist() == [1.0, pytest.approx(0.1), 2.5]
    assert typed("int64", Decimal(3), 4.0).tolist() == [3, 4]
    assert typed(bool, 0, 1, True).tolist() == [False, True, True]
    assert typed("datetime64[s]", dt.datetime(2026, 1, 2)).tolist() == [dt.datetime(2026, 1, 2)]  # noqa: DTZ001 - as a driver gives it
    assert np.isinf(typed("float32", float("inf"))).all()


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("int32", "3", "'3' is a str"),
        ("int32", 0.5, "0.5 does not fit"),
        ("int32", b"3", "is a bytes"),
        ("int32", float("nan"), "nan does not fit"),
        ("float32", 1e300, "1e\\+300 does not fit"),
        ("float16", 2049, "2049 does not fit"),
        ("float32", 16_777_217, "16777217 does not fit"),
        ("float64", 2**63 - 1, "9223372036854775807 does not fit"),
        ("float64", -(2**53) - 1, "-9007199254740993 does not fit"),
        ("float32", "x", "'x' is a str"),
        (bool, 2, "2 does not fit"),
        (str, 3, "3 is a int"),
        (bytes, "x", "'x' is a str"),
        ("datetime64[s]", "no date", "no date"),
        ("int32", [1, 2], r"\[1, 2\] is an array"),
    ],
)
def test_what_is_not_of_the_type_is_refused(kind: Any, value: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        typed(kind, value)


def test_types_by_name_take_these_columns_as_a_dict() -> None:
    form = RowForm(output_types={"c": "int32", "a": str})
    assert form.spec() == {"c": TensorSpec((), np.int32), "a": TensorSpec((), str)}
    arrays = form.reading(["a", "b", "c"]).arrays([("x", 1, 2), ("y", 3, 4)])
    assert {name: array.tolist() for name, array in arrays.items()} == {"c": [2, 4], "a": ["x", "y"]}


@pytest.mark.parametrize(
    ("options", "names", "said"),
    [
        ({"output_types": ("int32",)}, ["a", "b"], "output_types has 1 entries"),
        ({"output_types": {"c": "int32"}}, ["a", "b"], r"output_types names \['c'\]"),
        ({"record_defaults": (1, 2, 3)}, ["a", "b"], "record_defaults has 3 entries"),
        ({"record_defaults": {"c": 1}}, ["a", "b"], r"record_defaults names \['c'\]"),
        ({"as_dict": True}, ["a", "a"], r"several columns \['a'\]"),
        ({"record_defaults": {"a": 1}}, ["a", "a"], r"several columns \['a'\]"),
    ],
)
def test_a_form_that_does_not_fit_the_query_is_refused(options: Any, names: list[str], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        RowForm(**options).reading(names)


@pytest.mark.parametrize(
    "options",
    [
        {"output_types": "int32"},
        {"output_types": 3},
        {"output_types": ()},
        {"output_types": {}},
        {"record_defaults": "none"},
        {"output_types": ("int32",), "as_dict": True},
    ],
)
def test_a_form_that_is_none_is_refused(options: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        RowForm(**options)


def test_columns_of_one_name_may_be_told_apart_by_their_place() -> None:
    assert RowForm(record_defaults=(0, 1)).reading(["a", "a"]).elements([(None, None)]) == [(0, 1)]
