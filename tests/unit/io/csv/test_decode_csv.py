from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.reading import bits

from headrace.errors import InvalidArgumentError
from headrace.io import decode_csv

FIELDS = [
    "1",
    "-2.5",
    " 3",
    "",
    "NA",
    "nan",
    "word",
    "é",
    '"1"',
    '"a,b"',
    '"a""b"',
    '"',
    'a"b',
    '"a"b',
    "+4",
    "0x1",
    "\n",
    "\r",
]
DEFAULTS: list[list[Any]] = [
    [0.0, 0.0],
    [[], 7],
    ["", np.int64(2)],
    [np.float64, str, 1.5],
    [""],
]

records = st.lists(st.sampled_from(FIELDS), max_size=4).map(",".join)


def outcome(texts: Any, **arguments: Any) -> Any:
    try:
        return [column.tolist() and [bits(value) for value in column] for column in decode_csv(texts, **arguments)]
    except InvalidArgumentError as error:
        return str(error)


def one_by_one(texts: list[str], **arguments: Any) -> Any:
    """What decoding each record by itself gives, an error being the first's."""
    rows = []
    for index, text in enumerate(texts):
        try:
            rows.append(decode_csv([text], **arguments))
        except InvalidArgumentError as error:
            return str(error).replace("record 0", f"record {index}")
    return [[bits(value) for (value,) in column] for column in zip(*rows, strict=True)]


@given(
    spans=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    dtypes=st.lists(st.sampled_from([np.float32, np.int64, np.str_]), min_size=4, max_size=4),
    rows=st.integers(0, 3),
)
def test_an_array_of_any_number_of_defaults_is_that_many_columns_as_one_array(
    spans: list[int], dtypes: list[Any], rows: int
) -> None:
    defaults = [np.zeros(span, dtype) for span, dtype in zip(spans, dtypes, strict=False)]
    line = ",".join(str(number) for number in range(sum(spans)))
    assert [column.shape for column in decode_csv([line] * rows, defaults)] == [(rows, span) for span in spans]
    one = decode_csv(line, defaults)
    assert [column.shape for column in one] == [(span,) for span in spans]
    assert [int(value) for column in one for value in column] == list(range(sum(spans)))


def test_a_list_of_one_default_is_a_scalar_column_and_an_empty_array_a_required_one() -> None:
    assert decode_csv("1,2", [[0.0], np.zeros(0, np.int64)]) == [1.0, 2]


@given(
    texts=st.lists(records, min_size=1, max_size=6),
    defaults=st.sampled_from(DEFAULTS),
    na_value=st.sampled_from(["", "NA"]),
    quotes=st.booleans(),
)
def test_records_together_are_decoded_as_each_by_itself(
    texts: list[str], defaults: list[Any], na_value: str, quotes: bool
) -> None:
    arguments = {"record_defaults": defaults, "na_value": na_value, "use_quote_delim": quotes}
    assert outcome(texts, **arguments) == one_by_one(texts, **arguments)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (6,), (2, 3), (0, 4), (3, 1, 2)])
def test_columns_have_the_shape_of_the_records(shape: tuple[int, ...]) -> None:
    texts = np.full(shape, "1.5,x,7", object)
    number, text, count = decode_csv(texts, [0.0, "", np.int64])
    assert [column.shape for column in (number, text, count)] == [shape] * 3
    assert [column.dtype for column in (number, text, count)] == [np.float32, object, np.int64]


def test_one_record_is_decoded_to_scalars_of_the_types_of_elements() -> None:
    values = decode_csv("1,2,3,4,x", [0.0, np.float64, 0, np.int64, ""])
    assert values == [1, 2, 3, 4, "x"]
    assert [type(value) for value in values] == [np.float32, float, np.int32, int, str]
    assert [type(value) for value in decode_csv("1,2", [np.int64] * 2)] == [int, int]
    assert [type(value) for value in decode_csv("1,2", [0.0] * 2)] == [np.float32, np.float32]


def test_records_may_be_str_or_bytes_in_any_kind_of_array() -> None:
    for texts in (["1,é", "2,x"], ["1,é".encode(), b"2,x"], np.array(["1,é", "2,x"]), ["1,é", b"2,x"]):
        number, text = decode_csv(texts, [0, ""])
        assert number.tolist() == [1, 2]
        assert text.tolist() == ["é", "x"]
    assert decode_csv(np.array([b"1", b"2"]), [0])[0].tolist() == [1, 2]
    assert decode_csv("1,é".encode(), [0, ""]) == [1, "é"]


@pytest.mark.parametrize("records", [5, [1.5], [None], [["1"], ["1", "2"]], ["\ud800"]])
def test_what_is_no_text_is_refused(records: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="record"):
        decode_csv(records, [0.0])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("1", "Expect 2 fields but have 1 in record 0"),
        ("", "Expect 2 fields but have 0 in record 0"),
        ("1,2,3", "Expect 2 fields but have 3 in record 0"),
        ("1,", "Field 1 is required but missing in record 0! Give column 1 a default, if it may be empty."),
        ("x,2", "column 0 in record 0: 'x' is not a valid int32"),
        ("1.0,2", "column 0 in record 0: '1.0' is not a valid int32"),
        (f"1,{'x' * 99}", f"column 1 in record 0: '{'x' * 40}…' is not a valid float32"),
        ('1,2"3', "column 1 in record 0: Unquoted fields cannot have quotes/CRLFs inside"),
        ("1,2\n", "column 1 in record 0: Unquoted fields cannot have quotes/CRLFs inside"),
        ('"1"2,3', "column 0 in record 0: Quote inside a string has to be escaped by another quote"),
        ('1,"2', "column 1 in record 0: Quoted field has to end with quote followed by delim or end"),
    ],
)
def test_an_error_names_record_and_column(record: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        decode_csv(record, [0, []])
    assert str(error.value) == message


def test_the_first_bad_record_is_the_one_that_is_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"in record 3$"):
        decode_csv(["1,1"] * 3 + ["1", "x,1", "1,"], [0.0, []])


def test_a_bad_column_that_is_not_selected_does_no_harm() -> None:
    assert decode_csv(["a,1,b", "c,2"], [0], select_cols=[1])[0].tolist() == [1, 2]
    # As in TensorFlow: what stands behind the last selected column is not looked at.
    assert decode_csv('2,"x"y', [0], select_cols=[0]) == [2]


def test_so_many_records_that_they_are_decoded_in_pieces_are_one_result() -> None:
    texts = [f"{index},{'x' * 50_000}" for index in range(60)]
    number, text = decode_csv(texts, [0, ""])
    assert number.tolist() == list(range(60))
    assert set(text) == {"x" * 50_000}
    texts[-1] = "?,"
    with pytest.raises(InvalidArgumentError, match="column 0 in record 59"):
        decode_csv(texts, [0, ""])


def test_defaults_that_compare_equal_but_differ_in_type_or_sign_are_not_mixed_up() -> None:
    for _ in range(2):
        assert decode_csv(",", [1, 1])[0].dtype == np.int32
        assert decode_csv(",", [1.0, 1.0])[0].dtype == np.float32
        assert np.signbit(decode_csv(",", [-0.0, 0.0])[0])
        assert not np.signbit(decode_csv(",", [0.0, 0.0])[0])
        with pytest.raises(InvalidArgumentError, match="True is no default"):
            decode_csv(",", [True, True])


def test_defaults_that_change_in_place_count_as_they_are() -> None:
    defaults = [[1.0], [2.0]]
    assert decode_csv(",", defaults) == [1, 2]
    defaults[0][0] = 5.0
    assert decode_csv(",", defaults) == [5, 2]
