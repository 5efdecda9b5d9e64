from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.elements.rows_and_columns import rows_of as rows_from
from headrace.elements.structure import flatten
from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.columnar.arrow_ipc import open_arrow
from headrace.io.columnar.parquet import ParquetGroups
from headrace.io.columnar.rows import CACHE_BYTES, ColumnarRows, RaggedRows, rows_by_number
from headrace.io.columnar.wanted import Selection
from headrace.testing.restoring import same

GROUP = 4


def table(first: int, count: int, *, ragged: bool = False) -> pa.Table:
    columns: dict[str, Any] = {
        "x": np.arange(first, first + count),
        "text": [f"é{number}" for number in range(first, first + count)],
        "pair": pa.array([{"b": [n, -n]} for n in range(count)], pa.struct([("b", pa.list_(pa.int8(), 2))])),
    }
    if ragged:
        columns["items"] = pa.array([list(range(number % 3)) for number in range(count)], pa.list_(pa.int64()))
    return pa.table(columns)


def written(folder: Path, *counts: int, form: str = "parquet", ragged: bool = False) -> list[str]:
    paths: list[str] = []
    first = 0
    for count in counts:
        path, rows = str(folder / f"{len(paths)}.{form}"), table(first, count, ragged=ragged)
        if form == "parquet":
            pq.write_table(rows, path, row_group_size=GROUP)
        else:
            with pa.ipc.new_file(path, rows.schema) as writer:
                writer.write_table(rows, max_chunksize=GROUP)
        paths.append(path)
        first += count
    return paths


def rows_of(paths: list[str], *, cache_bytes: int = CACHE_BYTES, is_ragged: bool = False, **wanted: Any) -> Any:
    open_groups = open_arrow if paths and paths[0].endswith("arrow") else ParquetGroups
    return rows_by_number(paths, open_groups, Selection(**wanted), cache_bytes, is_ragged=is_ragged)


@pytest.fixture(scope="module", params=["parquet", "arrow"])
def several(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return written(tmp_path_factory.mktemp("several"), 7, 0, 9, form=request.param)


@given(numbers=st.lists(st.integers(0, 15), max_size=20), cache_bytes=st.sampled_from([1, CACHE_BYTES]))
def test_rows_are_those_of_their_numbers(several: list[str], numbers: list[int], cache_bytes: int) -> None:
    rows = rows_of(several, cache_bytes=cache_bytes)
    found = rows.__getitems__(numbers)
    assert [(row["x"], row["text"]) for row in found] == [(number, f"é{number}") for number in numbers]
    if numbers:
        columns = rows.columns(np.array(numbers))
        assert columns["x"].tolist() == numbers
        leaves, structure = flatten(columns)
        assert all(map(same, found, rows_from(structure, leaves)))
    rows.close()


def test_there_are_as_many_rows_as_the_files_have_together(several: list[str]) -> None:
    rows = rows_of(several)
    assert len(rows) == 16
    for wrong in (-1, 16):
        with pytest.raises(InvalidArgumentError, match="from 0 to 15"):
            rows[wrong]
    assert len(rows_of([])) == 0


def test_what_is_kept_is_bounded_in_bytes(tmp_path: Path) -> None:
    bound = 2 * GROUP * 8 + 2  # a byte for each group, of which rows are not null
    rows = rows_of(written(tmp_path, 8 * GROUP), columns=("x",), cache_bytes=bound)
    for number in range(8 * GROUP):
        assert rows[number] == {"x": number}
        assert sum(batch.nbytes for batch in rows._kept.values()) <= bound
    assert list(rows._kept) == [6, 7]
    assert rows[6 * GROUP] == {"x": 6 * GROUP}
    rows[0]
    assert list(rows._kept) == [6, 0], "what was used last is kept"
    rows.close()


def test_a_run_of_rows_is_read_only_because_it_is_kept(tmp_path: Path) -> None:
    rows = rows_of(written(tmp_path, GROUP))
    run = rows.columns(np.arange(1, 3))["x"]
    assert not run.flags.writeable
    assert rows.columns(np.array([2, 1]))["x"].tolist() == [2, 1]
    rows.close()


def test_rows_of_lists_are_got_one_by_one(tmp_path: Path) -> None:
    paths = written(tmp_path, 7, ragged=True)
    rows = rows_of(paths, is_ragged=True)
    assert type(rows) is RaggedRows
    assert not hasattr(rows, "columns")
    assert [row["items"].tolist() for row in rows.__getitems__([5, 0, 2])] == [[0, 1], [], [0, 1]]
    assert type(rows_of(paths, columns=("x",))) is ColumnarRows
    rows.close()


def test_a_row_with_a_null_names_its_file_and_row(tmp_path: Path) -> None:
    paths = written(tmp_path, GROUP, form="parquet")
    pq.write_table(pa.table({"x": [1, 2, None]}), paths[0], row_group_size=2)
    rows = rows_of(paths)
    assert rows[1] == {"x": 2}
    with pytest.raises(InvalidArgumentError, match=r"0\.parquet:2: column 'x' is null"):
        rows[2]
    assert rows_of(paths, record_defaults={"x": 7})[2] == {"x": 7}


def test_a_file_that_was_changed_is_told(tmp_path: Path) -> None:
    paths = written(tmp_path, 2 * GROUP)
    rows = rows_of(paths)
    assert rows[0]["x"] == 0
    written(tmp_path, GROUP)
    with pytest.raises(DataLossError, match="changed since the dataset was made"):
        rows[GROUP]
    rows.close()


def test_streams_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "a.arrow")
    with pa.ipc.new_stream(path, table(0, 1).schema) as writer:
        writer.write_table(table(0, 1))
    with pytest.raises(InvalidArgumentError, match="stream"):
        rows_of([path])


def test_another_process_reads_the_same(several: list[str]) -> None:
    rows = rows_of(several)
    rows[3]
    again = pickle.loads(pickle.dumps(rows))
    assert again[12]["x"] == 12
    assert again.__headrace_fingerprint__() == rows.__headrace_fingerprint__()
    rows.close()
    again.close()
