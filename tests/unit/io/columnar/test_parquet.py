from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.http_server import serving
from tests.unit.io.reading import everything_of, steps_of

from headrace.errors import (
    DataLossError,
    FailedPreconditionError,
    HeadraceError,
    InvalidArgumentError,
    NotFoundError,
)
from headrace.io.columnar.parquet import ParquetGroups
from headrace.io.columnar.reader import ColumnarReader
from headrace.io.columnar.wanted import Expected, Selection, checked_columns, checked_filters
from headrace.io.reader import Chunk, RecordPosition

GROUP = 10


def table(count: int) -> pa.Table:
    return pa.table(
        {
            "x": pa.array(range(count), pa.int32()),
            "text": [f"é{number}" for number in range(count)],
            "half": pa.array([number / 2 for number in range(count)], pa.float32()),
        }
    )


def written(folder: Path, rows: pa.Table | int, name: str = "a.parquet", **how: Any) -> str:
    path = folder / name
    how = {"row_group_size": GROUP, "write_page_checksum": True, **how}
    pq.write_table(table(rows) if isinstance(rows, int) else rows, path, **how)
    return str(path)


def reader(path: str, position: RecordPosition | None = None, **wanted: Any) -> ColumnarReader:
    return ColumnarReader(path, ParquetGroups, Selection(**wanted), position)


def chunks(source: ColumnarReader, size: int = 1 << 20) -> Iterator[Chunk]:
    while (chunk := source.read(size)) is not None:
        yield chunk


def column(source: ColumnarReader, number: int = 0, size: int = 1 << 20) -> list[Any]:
    return [value for chunk in chunks(source, size) for value in chunk.columns[number].tolist()]


def broken(path: str, group: int, index: int = 0) -> str:
    """Another byte in a column of a row group."""
    chunk = pq.read_metadata(path).row_group(group).column(index)
    content = bytearray(Path(path).read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 0x55
    Path(path).write_bytes(content)
    return path


# --- what is read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, GROUP, GROUP + 1, 5 * GROUP])
@pytest.mark.parametrize("size", [1, 3, GROUP, 1_000])
def test_rows_come_in_order_whatever_size_is_asked_for(tmp_path: Path, count: int, size: int) -> None:
    path = written(tmp_path, count)
    assert column(reader(path), 2, size) == list(range(count))
    told = everything_of(reader(path), [size] * 3)
    assert [line for _, line, _ in told] == list(range(count)), "the numbers of rows are the file's"


def test_only_the_wanted_columns_are_read_in_the_wanted_order(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    chunk = reader(path, columns=("x", "half")).read(9)
    assert chunk is not None
    assert chunk.structure is not None
    names: Any = chunk.structure.unflatten(["half", "x"])
    assert list(names.items()) == [("x", "x"), ("half", "half")]
    broken(path, 0, index=1)
    assert column(reader(path, columns=("x",))) == [0, 1, 2], "the column that nobody wants is corrupt"


def test_a_file_without_row_groups_is_empty(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    pq.ParquetWriter(path, table(0).schema).close()
    assert reader(path).read(1) is None


def test_arrays_are_the_callers_own(tmp_path: Path) -> None:
    chunk = reader(written(tmp_path, 3), columns=("x",)).read(2)
    assert chunk is not None
    chunk.columns[0][:] = 7
    assert column(reader(written(tmp_path, 3), columns=("x",))) == [0, 1, 2]


def test_a_long_row_group_is_decoded_in_portions(tmp_path: Path) -> None:
    count = 300_000
    path = written(tmp_path, pa.table({"x": np.zeros((count,)), "y": np.arange(count)}), row_group_size=count)
    groups = ParquetGroups(path, Selection())
    sizes = [len(rows) for _, rows in groups.batches(0)]
    groups.close()
    assert sum(sizes) == count
    assert max(sizes) * 16 <= 4 << 20
    assert column(reader(path, RecordPosition(record=count - 2)), 1) == [count - 2, count - 1]


@pytest.mark.parametrize("row", [0, 3, GROUP, 2 * GROUP + 1, 4 * GROUP])
def test_reading_goes_on_at_any_row(tmp_path: Path, row: int) -> None:
    assert column(reader(written(tmp_path, 4 * GROUP), RecordPosition(record=row)), 2) == list(range(row, 4 * GROUP))


def test_reading_goes_on_without_the_row_groups_before_it(tmp_path: Path) -> None:
    path = broken(written(tmp_path, 3 * GROUP), 0)
    assert column(reader(path, RecordPosition(record=GROUP + 1)), 2) == list(range(GROUP + 1, 3 * GROUP))


# --- filters -------------------------------------------------------------------------------------------------------


conditions = st.one_of(
    st.tuples(
        st.just("x"),
        st.sampled_from(["=", "==", "!=", "<", ">", "<=", ">="]),
        st.integers(-1, 35),
    ),
    st.tuples(st.just("x"), st.sampled_from(["in", "not in"]), st.lists(st.integers(0, 30), max_size=4)),
    st.tuples(st.just("text"), st.sampled_from(["=", "<", ">="]), st.sampled_from(["é1", "é25", "é9", ""])),
    st.tuples(st.just("half"), st.sampled_from(["<", ">"]), st.floats(0, 15)),
)
filters_ = st.lists(st.lists(conditions, min_size=1, max_size=3), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("filtered"), 33)


@given(filters=filters_, row=st.integers(0, 33), size=st.integers(1, 40))
def test_filters_choose_the_rows_that_pyarrow_chooses(filtered: str, filters: Any, row: int, size: int) -> None:
    expected = [number for number in pq.read_table(filtered, filters=filters)["x"].to_pylist() if number >= row]
    found = list(
        chunks(reader(filtered, RecordPosition(record=row), columns=("x",), filters=checked_filters(filters)), size)
    )
    assert [number for chunk in found for number in chunk.columns[0].tolist()] == expected
    assert [number for chunk in found for number in chunk.lines] == expected, "the numbers of rows are the file's"


def test_row_groups_that_statistics_exclude_are_not_read(tmp_path: Path) -> None:
    path = broken(broken(written(tmp_path, 5 * GROUP), 0), 4)
    wanted = checked_filters([("x", ">=", 15), ("x", "<", 32)])
    assert column(reader(path, columns=("x",), filters=wanted)) == list(range(15, 32))


def test_a_filter_may_look_at_a_column_that_is_not_wanted(tmp_path: Path) -> None:
    source = reader(written(tmp_path, 12), columns=("half",), filters=checked_filters([("text", "in", {"é3", "é11"})]))
    assert column(source) == [1.5, 5.5]


@pytest.mark.parametrize(
    "filters", ["x", [], [[]], [("x", "=")], [("x", "~", 1)], [("x", "=", 1), [("x", "=", 1)]], [(1, "=", 1)]]
)
def test_what_is_no_filter_is_refused(filters: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="filters must be"):
        checked_filters(filters)


def test_what_names_no_columns_is_refused() -> None:
    for wrong in ([], ["x", "x"]):
        with pytest.raises(InvalidArgumentError, match="each once"):
            checked_columns(wrong)
    with pytest.raises(TypeError, match="list of names"):
        checked_columns("x")


# --- what does not fit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"columns": ("y", "x")}, r"no column 'y'; its columns are \['x', 'text', 'half'\]"),
        ({"filters": ((("y", "=", 1),),)}, "no column 'y'"),
        ({"filters": ((("x", "=", "one"),),)}, "filters .* do not fit"),
        ({"record_defaults": {"y": 1}}, "record_defaults names column 'y'"),
        ({"record_defaults": {"x": "one"}}, "'one' is no value of column 'x', which is int32"),
        ({"expected": Expected("b.parquet", {"z": None})}, "no column 'z', which b.parquet has"),
    ],
)
def test_a_file_that_does_not_fit_says_so_once(tmp_path: Path, wanted: dict[str, Any], message: str) -> None:
    source = reader(written(tmp_path, 3), **wanted)
    with pytest.raises(InvalidArgumentError, match=message):
        source.read(1)
    assert source.read(1) is None
    assert source.position.ended


def test_a_column_of_another_type_than_in_the_first_file_names_both(tmp_path: Path) -> None:
    first = ParquetGroups(written(tmp_path, 1), Selection())
    first.close()
    other = written(tmp_path, table(1).set_column(0, "x", pa.array([1], pa.int64())), "b.parquet")
    expected = Expected(first.path, first.selection.spec)
    with pytest.raises(InvalidArgumentError, match=r"b.parquet: column 'x' is .*int64.*, and in .*a.parquet .*int32"):
        reader(other, expected=expected).read(1)


def test_columns_that_the_first_file_has_not_are_left_out(tmp_path: Path) -> None:
    first = ParquetGroups(written(tmp_path, table(1).select(["half"])), Selection())
    first.close()
    source = reader(written(tmp_path, 2, "b.parquet"), expected=Expected(first.path, first.selection.spec))
    assert column(source) == [0.0, 0.5]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, pa.table([[1], [2]], names=["x", "x"]))
    with pytest.raises(InvalidArgumentError, match="several columns of one name"):
        reader(path).read(1)


def test_rows_with_a_null_fail_alone(tmp_path: Path) -> None:
    path = written(tmp_path, pa.table({"x": [0, None, 2, 3, None]}))
    told = everything_of(reader(path))
    assert [step[1] for step in told] == [0, InvalidArgumentError, 2, 3, InvalidArgumentError]
    assert "a.parquet:4: column 'x' is null; give it a default with record_defaults" in told[4][2]
    assert column(reader(path, record_defaults={"x": -1})) == [0, -1, 2, 3, -1]
    with pytest.raises(InvalidArgumentError, match=r"a\.parquet:4"):
        reader(path, RecordPosition(record=4)).read(1)


# --- what is wrong with files --------------------------------------------------------------------------------------


def test_a_corrupt_row_group_is_one_failure_and_the_next_is_read(tmp_path: Path) -> None:
    told = everything_of(reader(broken(written(tmp_path, 3 * GROUP), 1)))
    numbers = [step[1] for step in told]
    assert numbers == [*range(GROUP), DataLossError, *range(2 * GROUP, 3 * GROUP)]
    assert f"a.parquet:{GROUP}: " in told[GROUP][2]


def test_a_corrupt_row_group_is_told_once_whatever_filters_leave_out_before_it(tmp_path: Path) -> None:
    path = broken(written(tmp_path, 5 * GROUP), 3)
    wanted = checked_filters([("x", "in", [2, 3 * GROUP + 1, 4 * GROUP + 2])])
    source = reader(path, columns=("x",), filters=wanted)
    first = source.read(100)
    assert first is not None
    assert first.columns[0].tolist() == [2]
    with pytest.raises(DataLossError, match=rf"a\.parquet:{3 * GROUP}: "):
        source.read(100)
    assert column(source) == [4 * GROUP + 2]


def test_a_corrupt_last_row_group_ends_the_file(tmp_path: Path) -> None:
    source = reader(broken(written(tmp_path, 2 * GROUP), 1))
    assert source.read(100) is not None
    with pytest.raises(DataLossError):
        source.read(100)
    again = reader(source.path, source.position)
    assert source.read(100) is None
    assert again.read(100) is None, "what was told is not told again"


@given(
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=3),
    filters=st.sampled_from([None, [("x", "in", [3, 12, 13, 31])], [("x", ">=", 2 * GROUP)]]),
    loaded=st.booleans(),
)
def test_whatever_is_in_its_pages_reading_goes_on_from_each_place(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], filters: Any, loaded: bool
) -> None:
    path = written(tmp_path_factory.mktemp("changed"), 35)
    content = bytearray(Path(path).read_bytes())
    pages = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for position, change in changes:
        content[position % pages] ^= change
    Path(path).write_bytes(content)
    wanted: dict[str, Any] = {"columns": ("text", "x"), "filters": checked_filters(filters)}
    told = steps_of(reader(path, **wanted))
    for index, (place, _) in enumerate(told):
        again = reader(path, place, **wanted)
        if loaded:
            again.load(alone=True)
        assert [step for _, step in steps_of(again)] == [step for _, step in told[index:]]


@pytest.mark.parametrize("left", [0, 3, 4, 8, 100, -1, -4, -9])
def test_a_truncated_file_is_one_failure(tmp_path: Path, left: int) -> None:
    path = written(tmp_path, 20)
    Path(path).write_bytes(Path(path).read_bytes()[:left])
    source = reader(path)
    with pytest.raises(DataLossError, match=r"a\.parquet"):
        source.read(1)
    assert source.read(1) is None


def test_a_footer_with_a_negative_number_of_rows_is_one_failure(tmp_path: Path) -> None:
    path = written(tmp_path, pa.table({"x": pa.array(range(77), pa.int8())}), row_group_size=77)
    content = Path(path).read_bytes()
    at = content.rfind(b"\x16\x9a\x01")  # in Thrift: a 64-bit field, one number above the last, which is 77
    Path(path).write_bytes(content[:at] + b"\x16\x99\x01" + content[at + 3 :])
    source = reader(path)
    with pytest.raises(DataLossError, match=r"a\.parquet: its footer is corrupt: .*-77"):
        source.read(1)
    assert source.read(1) is None


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        reader(str(tmp_path / "absent.parquet")).read(1)
    with pytest.raises(FailedPreconditionError, match="not a file"):
        reader(str(tmp_path)).read(1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, 1)
    Path(path).chmod(0)
    with pytest.raises(FailedPreconditionError, match="permission"):
        reader(path).read(1)


def test_a_file_that_changes_while_it_is_read_is_one_failure(tmp_path: Path) -> None:
    path = written(tmp_path, 3 * GROUP)
    source = reader(path)
    assert source.read(1) is not None
    written(tmp_path, 4 * GROUP)
    assert len(list(chunks_until_error(source))) == 1, "what was decoded before is delivered"
    assert source.read(1) is None


def chunks_until_error(source: ColumnarReader) -> Iterator[Chunk]:
    with pytest.raises(DataLossError, match="changed while it was read"):
        yield from chunks(source)


def test_a_file_that_became_shorter_than_the_place_in_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataLossError, match="changed"):
        reader(written(tmp_path, 5), RecordPosition(record=6)).read(1)
    assert reader(written(tmp_path, 5), RecordPosition(record=5)).read(1) is None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    folder = tmp_path_factory.mktemp("fuzzed")
    nested = pa.table(
        {
            "x": range(12),
            "s": ["a", None] * 6,
            "l": [[1, 2], [], [3]] * 4,
            "d": pa.array([{"a": "x"}] * 12),
        }
    )
    path = written(folder, nested, row_group_size=5, compression="snappy", write_page_checksum=False)
    return path, Path(path).read_bytes()


@given(
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=4),
    st.none() | st.integers(0, 99),
)
def test_whatever_is_in_a_file_reading_ends(
    whole: tuple[str, bytes], changes: list[tuple[int, int]], cut: int | None
) -> None:
    path, content = whole
    changed = bytearray(content)
    for position, value in changes:
        changed[position % len(changed)] = value
    Path(path).write_bytes(changed if cut is None else changed[: len(changed) * cut // 100])
    source = reader(path)
    for _ in range(100):
        try:
            if source.read(4) is None:
                return
        except HeadraceError:
            continue
    raise AssertionError("the reader does not come to an end")


# --- elsewhere -----------------------------------------------------------------------------------------------------


def test_files_elsewhere_are_read_through_fsspec(tmp_path: Path) -> None:
    content = Path(written(tmp_path, 25)).read_bytes()
    with fsspec.open("memory://parquet/a.parquet", "wb") as file:
        file.write(content)
    assert column(reader("memory://parquet/a.parquet", RecordPosition(record=12)), 2) == list(range(12, 25))
    with pytest.raises(NotFoundError):
        reader("memory://parquet/absent.parquet").read(1)


def test_files_on_a_web_server_are_read_by_ranges(tmp_path: Path) -> None:
    rows = pa.table({"x": range(50_000), "y": np.random.default_rng(0).random(50_000)})
    content = Path(written(tmp_path, rows, row_group_size=10_000)).read_bytes()
    with serving() as server:
        path = server.put("a.parquet", content)
        assert column(reader(path, columns=("x",), filters=((("x", ">=", 49_998),),))) == [49_998, 49_999]
        assert column(reader(path, RecordPosition(record=49_999), columns=("x",))) == [49_999]
        with pytest.raises(NotFoundError):
            reader(f"{server.address}/absent.parquet").read(1)
        server.status = 500
        with pytest.raises(DataLossError, match="500"):
            reader(path).read(1)
