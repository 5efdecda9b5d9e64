from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from headrace.errors import InvalidArgumentError
from headrace.io.csv.record_format import Column, CsvFormat

F32, F64, I32, I64 = (np.dtype(name) for name in ("float32", "float64", "int32", "int64"))


@pytest.mark.parametrize(
    ("entry", "column"),
    [
        (1.5, Column(F32, 1.5)),
        (7, Column(I32, 7)),
        (2**31, Column(I64, 2**31)),
        ("", Column(str, "")),
        (b"text", Column(str, "text")),
        (np.float64(1.5), Column(F64, 1.5)),
        (np.int64(7), Column(I64, 7)),
        (np.array(2, np.int32), Column(I32, 2)),
        (np.array([2.5]), Column(F64, 2.5)),
        (np.array(["x"]), Column(str, "x")),
        ([0.0], Column(F32, 0.0)),
        ((3,), Column(I32, 3)),
        ([], Column(F32)),
        (np.array([], np.int64), Column(I64)),
        (np.array([], object), Column(str)),
        (np.float32, Column(F32)),
        ("float32", Column(F32)),
        ("int64", Column(I64)),
        (np.dtype("float64"), Column(F64)),
        (float, Column(F32)),
        (int, Column(I32)),
        (str, Column(str)),
    ],
)
def test_an_entry_of_record_defaults_is_a_column(entry: Any, column: Column) -> None:
    assert CsvFormat([entry]).columns == (column,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"record_defaults": []}, "record_defaults is empty"),
        ({"record_defaults": 1.0}, "record_defaults is a list with an entry for each column"),
        ({"record_defaults": "ab"}, "record_defaults is a list with an entry for each column"),
        (
            {"record_defaults": [0.0, True]},
            r"record_defaults\[1\]: True is no default; there are float32, float64, int32",
        ),
        ({"record_defaults": [None]}, "None is no default"),
        ({"record_defaults": [1j]}, "1j is no default"),
        ({"record_defaults": [[1.0, 2.0]]}, "a default is one value"),
        ({"record_defaults": [[[1.0]]]}, "a default is one value"),
        ({"record_defaults": [np.uint8(1)]}, "a column cannot be uint8"),
        ({"record_defaults": [np.float16]}, "a column cannot be float16"),
        ({"record_defaults": [bool]}, "a column cannot be bool"),
        ({"record_defaults": [dict]}, "a column cannot be"),
        ({"record_defaults": [2**63]}, "9223372036854775808 is no default"),
        ({"record_defaults": [b"\xff"]}, "not UTF-8"),
        ({"field_delim": ""}, "field_delim should be only 1 char"),
        ({"field_delim": "||"}, "field_delim should be only 1 char"),
        ({"field_delim": "é"}, "field_delim should be only 1 char"),
        ({"field_delim": "\n"}, "ends lines or encloses fields"),
        ({"field_delim": '"'}, "ends lines or encloses fields"),
        ({"na_value": None}, "na_value is a str"),
        ({"select_cols": [1, 0]}, "strictly increasing"),
        ({"select_cols": [1, 1]}, "strictly increasing"),
        ({"select_cols": [-1, 0]}, "column numbers from 0 on"),
        ({"select_cols": [0]}, "select_cols names 1 columns, record_defaults 2"),
        ({"select_cols": [0, 1.5]}, "holds column numbers"),
        ({"exclude_cols": [2, 1]}, "strictly increasing"),
        ({"exclude_cols": [-1]}, "column numbers from 0 on"),
        ({"select_cols": [0, 1], "exclude_cols": [2]}, "not both"),
    ],
)
def test_what_does_not_fit_is_said_when_the_format_is_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        CsvFormat(**{"record_defaults": [0.0, 0.0], **arguments})


def test_excluded_columns_move_those_that_are_read_and_may_be_missing_at_the_end() -> None:
    fmt = CsvFormat([0.0, 0.0], exclude_cols=[1, 3, 4])
    assert fmt.positions == (0, 2)
    assert (fmt.min_fields, fmt.max_fields) == (3, 5)


def test_selected_columns_leave_the_rest_of_a_record_open() -> None:
    fmt = CsvFormat([0.0, 0.0], select_cols=np.array([0, 2]))
    assert fmt.positions == (0, 2)
    assert (fmt.min_fields, fmt.max_fields) == (3, None)


def test_a_wrong_number_of_fields_is_said_in_both_directions() -> None:
    exact, open_ended, excluding = (
        CsvFormat([0.0, 0.0]),
        CsvFormat([0.0], select_cols=[3]),
        CsvFormat([0.0], exclude_cols=[1]),
    )
    faults = [exact.count_fault(3, ""), open_ended.count_fault(2, ""), excluding.count_fault(3, " in record 7")]
    assert [str(fault) for fault in faults] == [
        "Expect 2 fields but have 3",
        "Expect at least 4 fields but have 2",
        "Expect at most 2 fields but have 3 in record 7",
    ]
    assert exact.count_fault(2, "") is None


def test_equal_formats_are_equal_however_they_were_written() -> None:
    written = CsvFormat([[0.0], "int32", [""]], select_cols=[0, 1, 4])
    assert written == CsvFormat((0.0, int, ""), select_cols=np.array([0, 1, 4]))
    assert hash(written) == hash(pickle.loads(pickle.dumps(written)))
    assert CsvFormat(written.record_defaults, select_cols=written.select_cols) == written
    assert CsvFormat([0.0]) != CsvFormat([0])
    assert CsvFormat([0.0], na_value="NA") != CsvFormat([0.0])


def test_dtypes_and_groups_are_by_column() -> None:
    fmt = CsvFormat([0.0, "", 1.0, np.int64])
    assert fmt.dtypes == (F32, str, F32, I64)
    assert fmt.groups == ((F32, (0, 2)), (str, (1,)), (I64, (3,)))
    assert fmt.uniform is None
    assert CsvFormat([np.int64] * 3).uniform == I64
    assert CsvFormat([""]).uniform is None


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int64", ">f4", ">i8", "longlong", "float16", "bool", "U3"]
)
def test_columns_of_an_array_are_those_of_each_of_its_values(dtype: str) -> None:
    defaults = np.array([0, 1, 1, 0], dtype)
    try:
        expected = CsvFormat(list(defaults)).columns
    except InvalidArgumentError as error:
        with pytest.raises(InvalidArgumentError, match=str(error).replace("[", r"\[")):
            CsvFormat(list(Column.each_of(defaults)))
        return
    made = CsvFormat(list(Column.each_of(defaults))).columns
    assert made == expected
    assert [type(column.default) for column in made] == [type(column.default) for column in expected]
