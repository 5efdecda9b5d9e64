"""The fast path against the careful one, on text of every kind, and both against the law that buffers are invisible."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.reading import bits, everything_of

from headrace.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from headrace.io.block_reader import Records
from headrace.io.csv.layout import record_bounds
from headrace.io.csv.reader import CsvParser, CsvReader
from headrace.io.csv.record_format import CsvFormat
from headrace.io.reader import RecordPosition

NUMBERS = [
    "1",
    "-2.5",
    "007",
    "1e5",
    "nan",
    "-nan",
    "inf",
    "1e400",
    "+1",
    "0x1f",
    " 3",
    "4\t",
    "-0",
    "2147483648",
    ".5",
]
PIECES = [",", ",", ",", "\n", "\n", "\r\n", "\r", '"', '""', "NA", "é", "word", " ", "\0", "\ufeff", *NUMBERS]

FORMATS = [
    CsvFormat([0.0, 0.0]),
    CsvFormat([[], np.float64, 7], na_value="NA"),
    CsvFormat([0, "none"], na_value="1"),
    CsvFormat([str, np.int64(5)], use_quote_delim=False),
    CsvFormat([0.5, ""], select_cols=[1, 2]),
    CsvFormat([np.int64, ""], exclude_cols=[0, 2]),
    CsvFormat([""]),
    CsvFormat([0.0]),
    CsvFormat(["", 0.0], na_value='"', field_delim="\t"),
]

COMPRESS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}

soups = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Mostly well-formed: the fast path is for these."""
    field = st.sampled_from([*NUMBERS, "", "NA", "word", '"1"', '"a,b"', '"a""b"', '"x\ny"', '""'])
    bad = st.sampled_from(['a"b', '"a"b', '"a'])
    width = draw(st.integers(1, 4))
    fields = st.lists(field, min_size=width, max_size=width)
    rows = draw(st.lists(fields | fields | fields | st.lists(field | bad, min_size=1, max_size=5), max_size=8))
    line_break = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return line_break.join(",".join(row) for row in rows) + draw(st.sampled_from(["", line_break]))


texts = (soups | tables()).map(str.encode) | st.lists(st.sampled_from([b"1", b",", b"\n", b"\xff", b'"'])).map(b"".join)
formats = st.sampled_from(FORMATS)


def told(records: Records) -> tuple[Any, ...]:
    """All that records say; rows of bad ones hold anything."""
    columns = records.arrays if records.matrix is None else tuple(records.matrix.T)
    rows = list(zip(*columns, strict=True))
    return (
        [str(column.dtype) for column in columns],
        records.ends.tolist(),
        list(records.lines),
        records.line_breaks,
        {index: (type(fault), str(fault)) for index, fault in records.faults.items()},
        [[bits(value) for value in row] for index, row in enumerate(rows) if index not in records.faults],
    )


@given(text=texts.filter(bool), fmt=formats, last=st.booleans(), as_table=st.booleans())
def test_the_fast_path_says_what_the_careful_one_says(text: bytes, fmt: CsvFormat, last: bool, as_table: bool) -> None:
    records = CsvParser(fmt, as_table=as_table)
    fast = records.parse(text, last=last)
    careful = records.parse_carefully(text, last=last)
    if len(careful):
        assert told(fast) == told(careful)
    else:
        assert not len(fast)


@given(text=texts, fmt=formats, buffer_size=st.integers(1, 12), sizes=st.lists(st.integers(1, 3), max_size=12))
def test_neither_the_buffer_nor_the_portions_show(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, fmt: CsvFormat, buffer_size: int, sizes: list[int]
) -> None:
    path = str(tmp_path_factory.getbasetemp() / "portions.csv")
    Path(path).write_bytes(text)
    one_by_one = everything_of(CsvReader(path, fmt), [1] * 100)
    again = everything_of(CsvReader(path, fmt, buffer_size=buffer_size), sizes)
    assert [step[1:] for step in again] == [step[1:] for step in one_by_one]
    assert all(mine[0] in {None, theirs[0]} for mine, theirs in zip(again, one_by_one, strict=True))


@given(text=texts, fmt=formats, header=st.booleans(), compression=st.sampled_from(["", "GZIP", "ZLIB"]))
def test_reading_goes_on_from_every_place(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, fmt: CsvFormat, header: bool, compression: str
) -> None:
    path = str(tmp_path_factory.getbasetemp() / "places.csv")
    Path(path).write_bytes(COMPRESS[compression](text))

    def read_from(position: RecordPosition | None) -> list[tuple[Any, ...]]:
        return everything_of(
            CsvReader(path, fmt, header=header, compression_type=compression, position=position), [1] * 100
        )

    whole = read_from(None)
    for index, (position, *_) in enumerate(whole):
        restored = read_from(RecordPosition.from_json(position.to_json()))
        assert [step[1:] for step in restored] == [step[1:] for step in whole[index:]]


def test_a_bad_record_lets_the_good_ones_before_it_out_first(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2\n3,4\n5,abc\n7,8\n9\n11,12\n")
    reader = CsvReader(str(path), CsvFormat([0.0, 0.0]))
    first = reader.read(10)
    assert first is not None
    assert first.matrix is not None
    assert first.matrix.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InvalidArgumentError, match=r"a\.csv:3: column 1: 'abc' is not a valid float32$") as error:
        reader.read(10)
    assert error.value.origin == f"{path}:3"
    assert reader.position == RecordPosition(offset=14, line=4, record=3)
    second = reader.read(10)
    assert second is not None
    assert list(second.lines) == [4]
    with pytest.raises(InvalidArgumentError, match=r"a\.csv:5: Expect 2 fields but have 1$"):
        reader.read(10)
    third = reader.read(10)
    assert third is not None
    assert [column.tolist() for column in third.columns] == [[11], [12]]
    assert reader.read(10) is None


def test_a_line_is_counted_as_an_editor_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,"two\nlines"\r\ny,z\nv,"w\n\n"\nu,u\n', newline="")
    chunk = CsvReader(str(path), CsvFormat(["", ""])).read(10)
    assert chunk is not None
    assert list(chunk.lines) == [1, 3, 4, 7]


def test_numbers_of_one_dtype_are_rows_of_a_matrix_of_which_columns_are_views(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n4,5,6\n")
    chunk = CsvReader(str(path), CsvFormat([np.int64] * 3)).read(10)
    assert chunk is not None
    assert chunk.matrix is not None
    assert chunk.matrix.flags.c_contiguous
    assert chunk.matrix.dtype == np.int64
    assert all(np.shares_memory(column, chunk.matrix) for column in chunk.columns)


def test_columns_of_several_dtypes_are_contiguous_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,a,2.5,b\n3,c,4.5,d\n")
    chunk = CsvReader(str(path), CsvFormat([0, "", 0.0, str])).read(10)
    assert chunk is not None
    assert chunk.matrix is None
    assert [column.tolist() for column in chunk.columns] == [[1, 3], ["a", "c"], [2.5, 4.5], ["b", "d"]]
    assert all(column.flags.c_contiguous for column in chunk.columns)


@pytest.mark.parametrize(
    ("text", "fmt"),
    [
        ("1,2\n", CsvFormat([0.0, 0.0])),
        ("1,2\r\n", CsvFormat([0, 0])),
        ('"1",NA,"a ""b"", c"\n', CsvFormat([0, 1.5, ""], na_value="NA")),
        ("x,,7,y\n", CsvFormat([np.float64(1), 0], select_cols=[1, 2])),
        (" 1 ,x\n", CsvFormat([0.0, ""])),
    ],
)
@pytest.mark.parametrize("as_table", [False, True])
def test_well_formed_text_never_needs_the_careful_path(
    monkeypatch: pytest.MonkeyPatch, text: str, fmt: CsvFormat, as_table: bool
) -> None:
    records = CsvParser(fmt, as_table=as_table)
    data = (text * 9).encode()
    expected = told(records.parse_carefully(data, last=True))
    monkeypatch.setattr("headrace.io.csv.reader.row_of_fields", None)
    monkeypatch.setattr("headrace.io.csv.reader.records_of_file", None)
    if as_table:  # then it does not look for fields, either
        monkeypatch.setattr("headrace.io.csv.table.layout_of", None)
    assert told(records.parse(data, last=True)) == expected


def test_many_records_with_texts_are_read_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    records = CsvParser(CsvFormat([0.0, ""]))
    expected = told(records.parse_carefully(b"1,a\n" * 200, last=True))
    monkeypatch.setattr("headrace.io.csv.table.layout_of", None)
    assert told(records.parse(b"1,a\n" * 200, last=True)) == expected
    with pytest.raises(TypeError):
        CsvParser(CsvFormat([0.0, 0.0])).parse(b"1,2\n" * 200, last=True)


@pytest.mark.parametrize("bad", ["1,2,3", "x,1", "", ",", '"1"x,2', "0x1f,1", "1,\xff"])
def test_one_record_that_no_table_holds_changes_no_other(bad: str) -> None:
    lines = ["1,2"] * 200
    lines.insert(77, bad)
    data = "\n".join(lines).encode("latin-1")
    records = CsvParser(CsvFormat([0, str]))
    assert told(records.parse(data, last=True)) == told(records.parse_carefully(data, last=True))


def test_quotes_that_do_not_enclose_a_field_have_no_layout() -> None:
    fmt = CsvFormat(["", ""])
    for text in (b'a"b,c\n', b'"a"b,c\n', b'"a,b\n', b'a,""b\n', b'"a" ,b\n', b'"a""\n'):
        assert record_bounds(text, fmt, last=True) is None, text
    assert record_bounds(b'"a""b","",""""\n', fmt, last=True) is not None


def test_text_that_is_not_utf8_is_a_bad_record_only_where_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("1,a\n2,é\n3,c\n".encode("latin-1"))
    read = everything_of(CsvReader(str(path), CsvFormat([0.0], select_cols=[0])))
    assert len(read) == 3
    told = everything_of(CsvReader(str(path), CsvFormat([0.0, ""])))
    assert [step[1] for step in told] == [1, InvalidArgumentError, 3]
    assert "latin.csv:2: column 1: not UTF-8" in told[1][2]


def test_a_missing_file_is_told_once(tmp_path: Path) -> None:
    reader = CsvReader(str(tmp_path / "none.csv"), CsvFormat([0.0]))
    with pytest.raises(NotFoundError, match=r"no such file: .*none\.csv"):
        reader.read(1)
    assert reader.read(1) is None
    assert CsvReader(reader.path, CsvFormat([0.0]), position=reader.position).read(1) is None


def test_a_file_that_was_cut_short_delivers_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1\n2\n3")[:-8])
    told = everything_of(CsvReader(str(path), CsvFormat([0.0]), compression_type="GZIP"))
    assert [step[1] for step in told] == [1, 2, DataLossError]
    assert f"{path}:3: " in told[-1][2]


def test_an_empty_file_lacks_the_header_that_it_should_have(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.touch()
    assert everything_of(CsvReader(str(path), CsvFormat([0.0]))) == []
    told = everything_of(CsvReader(str(path), CsvFormat([0.0]), header=True))
    assert [step[2] for step in told] == [f"{path}:1: the file is empty, and should have a header"]


def test_a_first_line_that_is_no_record_may_be_a_header_and_no_other_may(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("width\n1.5\nheight\n")
    hint = ". If this line names the columns, say header=True"
    for header, hinted in [(False, [True, False]), (True, [False])]:
        told = everything_of(CsvReader(str(path), CsvFormat([0.0]), header=header))
        refused = [step[2] for step in told if step[1] is InvalidArgumentError]
        assert [reason.endswith(hint) for reason in refused] == hinted


@given(
    fields=st.lists(st.integers(1, 40), min_size=1, max_size=20), buffer_size=st.integers(1, 64), quoted=st.booleans()
)
def test_a_record_beyond_the_limit_is_refused_whatever_the_buffer(
    tmp_path_factory: pytest.TempPathFactory, fields: list[int], buffer_size: int, quoted: bool
) -> None:
    path = str(tmp_path_factory.getbasetemp() / "long.csv")
    around = '"' if quoted else ""
    Path(path).write_text("".join(f"{around}{'x' * size}{around}\n" for size in fields))
    told = everything_of(CsvReader(path, CsvFormat([""]), buffer_size=buffer_size, max_record_bytes=20), [1] * 30)
    room = 20 - 1 - 2 * quoted
    assert [step[1] for step in told] == [
        line if size <= room else ResourceExhaustedError for line, size in enumerate(fields, 1)
    ]
    assert [step[0].record for step in told] == list(range(len(fields)))


def test_a_quote_that_is_never_closed_costs_no_more_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "open.csv"
    path.write_text('1\n"2\n' + "3\n" * 100)
    reader = CsvReader(str(path), CsvFormat([0.0]), buffer_size=8, max_record_bytes=32)
    told = everything_of(reader, [1] * 200)
    assert told[1][1:] == (
        ResourceExhaustedError,
        f"{path}:2: a record is longer than the limit of 32 bytes; is a quote never closed, or the file no text?",
    )
    assert told[2][1] > 2
    assert told[-1][1] == 102


def test_a_quote_out_of_place_is_an_error_of_its_line_and_not_of_all_that_follow(tmp_path: Path) -> None:
    path = tmp_path / "inches.csv"
    path.write_text('1,"a"\n2,5" pipe\n' + "3,b\n" * 50)
    reader = CsvReader(str(path), CsvFormat([0.0, ""]), buffer_size=16, max_record_bytes=32)
    told = everything_of(reader, [1] * 100)
    assert [step[1] for step in told] == [1, InvalidArgumentError, *range(3, 53)]
