from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.io.http_server import serving
from tests.unit.io.reading import everything_of, steps_of

from headrace.errors import DataLossError, FailedPreconditionError, HeadraceError, InvalidArgumentError, NotFoundError
from headrace.io.columnar.arrow_ipc import ArrowFileGroups, open_arrow
from headrace.io.columnar.reader import ColumnarReader
from headrace.io.columnar.wanted import Selection, checked_filters
from headrace.io.reader import RecordPosition

BATCH = 10
FORMS = pytest.mark.parametrize("form", ["file", "stream"])
COMPRESSIONS = pytest.mark.parametrize("compression", [None, "lz4", "zstd"])


def table(count: int) -> pa.Table:
    texts = [f"é{number}" for number in range(count)]
    return pa.table({"text": texts, "x": np.arange(count), "kind": pa.array(texts).dictionary_encode()})


def written(folder: Path, rows: pa.Table | int, form: str = "file", compression: str | None = None) -> str:
    whole = table(rows) if isinstance(rows, int) else rows
    path = folder / f"a.{form}"
    new = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with new(str(path), whole.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(whole, max_chunksize=BATCH)
    return str(path)


def reader(path: str, position: RecordPosition | None = None, **wanted: Any) -> ColumnarReader:
    return ColumnarReader(path, open_arrow, Selection(**wanted), position)


def numbers(source: ColumnarReader, size: int = 1 << 20) -> list[int]:
    """What is in the column x."""
    return [row["x"] for row in _rows(source, size)]


def _rows(source: ColumnarReader, size: int) -> Iterator[Any]:
    while (chunk := source.read(size)) is not None:
        assert chunk.structure is not None
        columns = chunk.structure.unflatten(chunk.arrays)
        yield from (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


@FORMS
@COMPRESSIONS
@pytest.mark.parametrize("count", [0, 1, BATCH, 3 * BATCH + 1])
def test_rows_come_in_order_from_any_row_on(tmp_path: Path, form: str, compression: str | None, count: int) -> None:
    path = written(tmp_path, count, form, compression)
    for row in {0, 1, BATCH, count - 1, count} & set(range(count + 1)):
        assert numbers(reader(path, RecordPosition(record=row)), 4) == list(range(row, count))
    assert [line for _, line, _ in everything_of(reader(path), [3, 1])] == list(range(count))


@FORMS
@COMPRESSIONS
def test_only_the_wanted_columns_are_looked_at(tmp_path: Path, form: str, compression: str | None) -> None:
    path = written(tmp_path, 12, form, compression)
    wanted: dict[str, Any] = {"columns": ("x", "kind"), "filters": ((("text", "in", ("é3", "é11")),),)}
    rows = list(_rows(reader(path, **wanted), 9))
    assert rows == [{"x": 3, "kind": "é3"}, {"x": 11, "kind": "é11"}]
    assert [list(row) for row in rows] == [["x", "kind"]] * 2


def test_numbers_in_a_mapped_file_are_not_copied_and_cannot_be_changed(tmp_path: Path) -> None:
    chunk = reader(written(tmp_path, 12), columns=("x",)).read(12)
    assert chunk is not None
    assert not chunk.columns[0].flags.owndata
    assert not chunk.columns[0].flags.writeable


@pytest.mark.parametrize("compression", ["uncompressed", "lz4"])
def test_feather_files_are_read(tmp_path: Path, compression: str) -> None:
    path = str(tmp_path / "a.feather")
    pyarrow.feather.write_feather(table(25), path, compression=compression, chunksize=BATCH)
    assert numbers(reader(path)) == list(range(25))


def test_the_first_feather_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "a.feather"
    path.write_bytes(b"FEA1" + bytes(20) + b"FEA1")
    with pytest.raises(InvalidArgumentError, match="version 1; write it anew"):
        reader(str(path)).read(1)


@pytest.mark.parametrize("left", [0, 3, 6, 8, 40, -1, -7, -200])
def test_a_truncated_file_is_one_failure(tmp_path: Path, left: int) -> None:
    path = written(tmp_path, 25)
    Path(path).write_bytes(Path(path).read_bytes()[:left])
    source = reader(path)
    with pytest.raises(DataLossError, match=r"a\.file"):
        source.read(1)
    assert source.read(1) is None


def test_a_corrupt_record_batch_is_told_once_whatever_filters_leave_out_before_it(tmp_path: Path) -> None:
    path = written(tmp_path, 5 * BATCH)
    source = reader(path, columns=("x",), filters=checked_filters([("x", ">=", 4 * BATCH)]))
    faulty, checked = 3, ArrowFileGroups._batch

    def batch(groups: ArrowFileGroups, number: int) -> pa.RecordBatch:
        if number == faulty:
            raise DataLossError("its memory is another")
        return checked(groups, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArrowFileGroups, "_batch", batch)
        with pytest.raises(DataLossError, match=rf"a\.file:{3 * BATCH}"):
            source.read(100)
        assert numbers(source) == [*range(4 * BATCH, 5 * BATCH)]


@COMPRESSIONS
def test_a_stream_gives_what_comes_before_the_place_where_it_is_cut(tmp_path: Path, compression: str | None) -> None:
    path = written(tmp_path, 25, "stream", compression)
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[:-200])
    told = everything_of(reader(path))
    assert [step[1] for step in told] == [*range(20), DataLossError]
    Path(path).write_bytes(content[:-8])
    assert numbers(reader(path)) == list(range(25)), "the mark of the end may be missing"


def test_a_file_or_folder_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        reader(str(tmp_path / "absent")).read(1)
    with pytest.raises(FailedPreconditionError, match="not a file"):
        reader(str(tmp_path)).read(1)


@FORMS
def test_a_file_that_changes_while_it_is_read_is_one_failure(tmp_path: Path, form: str) -> None:
    source = reader(written(tmp_path, 3 * BATCH, form))
    assert source.read(BATCH) is not None
    with Path(source.path).open("r+b") as file:
        file.truncate(100)
    with pytest.raises(DataLossError, match="changed while it was read"):
        source.read(1)
    assert source.read(1) is None


@FORMS
def test_a_file_that_became_shorter_than_the_place_in_it_is_told(tmp_path: Path, form: str) -> None:
    with pytest.raises(DataLossError, match="has 5 rows, and reading is to go on at row 6"):
        reader(written(tmp_path, 5, form), RecordPosition(record=6)).read(1)


@pytest.fixture(scope="module", params=[("file", None), ("file", "zstd"), ("stream", None), ("stream", "lz4")])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    nested = pa.table({"s": ["a", None] * 6, "l": [[1, 2], [], [3]] * 4, "d": pa.array(["x"] * 12).dictionary_encode()})
    path = written(tmp_path_factory.mktemp("fuzzed"), nested, *request.param)
    return path, Path(path).read_bytes()


@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=4), st.none() | st.integers(0, 99))
def test_whatever_is_in_a_file_reading_ends(
    whole: tuple[str, bytes], changes: list[tuple[int, int]], cut: int | None
) -> None:
    path, content = whole
    changed = bytearray(content)
    for position, value in changes:
        changed[position % len(changed)] = value
    # Anew, because the present one may be mapped.
    Path(path).unlink()
    Path(path).write_bytes(changed if cut is None else changed[: len(changed) * cut // 100])
    source = reader(path)
    for _ in range(100):
        try:
            if source.read(4) is None:
                return
        except HeadraceError:
            continue
    raise AssertionError("the reader does not come to an end")


@FORMS
@COMPRESSIONS
@given(
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=3),
    filters=st.sampled_from([None, [("x", "in", [3, 12, 13, 31])], [("x", ">=", 2 * BATCH)]]),
)
def test_whatever_is_in_a_file_reading_goes_on_from_each_place(
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    compression: str | None,
    changes: list[tuple[int, int]],
    filters: Any,
) -> None:
    path = written(tmp_path_factory.mktemp("changed"), 35, form, compression)
    content = bytearray(Path(path).read_bytes())
    for position, value in changes:
        content[position % len(content)] = value
    Path(path).write_bytes(content)
    wanted: dict[str, Any] = {"columns": ("x", "text"), "filters": checked_filters(filters)}
    told = steps_of(reader(path, **wanted))
    for index, (place, _) in enumerate(told):
        again = steps_of(reader(path, place, **wanted))
        assert [step for _, step in again] == [step for _, step in told[index:]]


@FORMS
def test_files_elsewhere_are_read_through_fsspec(tmp_path: Path, form: str) -> None:
    content = Path(written(tmp_path, 25, form, "lz4")).read_bytes()
    with fsspec.open("memory://arrow/a.arrow", "wb") as file:
        file.write(content)
    assert numbers(reader("memory://arrow/a.arrow", RecordPosition(record=12))) == list(range(12, 25))
    with serving() as server:
        assert numbers(reader(server.put("a.arrow", content))) == list(range(25))
