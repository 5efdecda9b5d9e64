from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.elements.structure import object_array
from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.testing.restoring import same


def test_what_a_dataset_delivers_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "made" / "a.parquet"
    ds = hr.Dataset.range(25).map(lambda x: {"x": x, "y": {"text": str(x), "pair": np.array([x, -x], np.int8)}})
    with hr.io.ParquetWriter(path) as writer:
        for batch in ds.batch(7):
            writer.write(batch)
    assert all(map(same, hr.ParquetDataset(path), ds))
    assert [part.name for part in path.parent.iterdir()] == ["a.parquet"]


def test_ragged_batches_are_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    ds = hr.Dataset.range(6).map(lambda x: {"items": np.arange(x % 4)})
    with hr.io.ParquetWriter(path, row_group_size=4) as writer:
        for batch in ds.ragged_batch(5):
            writer.write(batch)
        writer.write({"items": np.array([np.arange(2), np.arange(0)], object)})
    assert [row["items"].tolist() for row in hr.ParquetDataset(path)] == [
        [],
        [0],
        [0, 1],
        [0, 1, 2],
        [],
        [0],
        [0, 1],
        [],
    ]


@pytest.mark.parametrize("size", [1, 4, 10, 100])
def test_row_groups_have_the_size_that_was_asked_for(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.parquet"
    with hr.io.ParquetWriter(path, row_group_size=size, compression=None) as writer:
        for batch in hr.Dataset.range(10).map(lambda x: {"x": x}).batch(3):
            writer.write(batch)
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert groups == [size] * (10 // size) + [10 % size] * (10 % size > 0)
    assert [row["x"] for row in hr.ParquetDataset(path)] == list(range(10))


def test_nothing_is_left_of_a_file_that_was_not_completed(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("what was there before")
    with pytest.raises(ZeroDivisionError), hr.io.ParquetWriter(path, row_group_size=1) as writer:
        writer.write({"x": np.arange(3)})
        raise ZeroDivisionError
    del writer
    assert path.read_text() == "what was there before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_batch_like_no_other_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with hr.io.ParquetWriter(path) as writer:
        writer.write({"x": np.arange(3)})
        with pytest.raises(InvalidArgumentError, match=r"columns \['y'\], and the first one had \['x'\]"):
            writer.write({"y": np.arange(3)})
        with pytest.raises(InvalidArgumentError, match="column 'x' is double in this batch, and was int64"):
            writer.write({"x": np.ones(3)})
    assert len(list(hr.ParquetDataset(path))) == 3


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((np.arange(3),), "dict of columns by name, and not of type tuple"),
        ({}, "keys"),
        ({1: np.arange(3)}, r"keys \[1\]"),
        ({"x": 3}, "column 'x' is one int"),
        ({"x": np.arange(3), "y": np.arange(2)}, "one length"),
        ({"x": {"a": np.arange(3), "b": np.arange(2)}}, "no one length"),
        ({"x": np.zeros((3, 0))}, "in which is nothing"),
        ({"x": np.array([1j])}, "has no type in Arrow"),
        ({"x": np.array([object()])}, "has no type in Arrow"),
        ({"x": object_array([np.zeros(2), np.zeros((2, 2))])}, "not alike"),
    ],
)
def test_what_is_no_batch_of_columns_is_refused(tmp_path: Path, batch: Any, message: str) -> None:
    with hr.io.ParquetWriter(tmp_path / "a.parquet") as writer:
        with pytest.raises(InvalidArgumentError, match=message):
            writer.write(batch)
        writer.write({"x": np.arange(1)})


def test_arguments_and_calls_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with pytest.raises(InvalidArgumentError, match="row_group_size"):
        hr.io.ParquetWriter(path, row_group_size=0)
    with pytest.raises(InvalidArgumentError, match="'lzma'"):
        hr.io.ParquetWriter(path, compression="lzma")
    with pytest.raises(InvalidArgumentError, match="no batch was written"), hr.io.ParquetWriter(path):
        pass
    assert not list(tmp_path.iterdir())
    writer = hr.io.ParquetWriter(path)
    writer.write({"x": np.arange(1)})
    writer.close()
    writer.close()
    with pytest.raises(FailedPreconditionError, match="closed"):
        writer.write({"x": np.arange(1)})


def test_files_are_written_elsewhere_through_fsspec() -> None:
    with hr.io.ParquetWriter("memory://written/a.parquet") as writer:
        writer.write({"x": np.arange(3)})
    assert [row["x"] for row in hr.ParquetDataset("memory://written/a.parquet")] == [0, 1, 2]
    assert len(fsspec.filesystem("memory").ls("/written")) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_ends_without_a_word_and_is_told_where_it_writes(tmp_path: Path) -> None:
    program = """
        import os, sys
        import headrace as hr
        from headrace.errors import FailedPreconditionError
        writer = hr.io.ParquetWriter(sys.argv[1], row_group_size=2)
        writer.write({"a": [1, 2, 3]})
        for is_written in (False, True):
            child = os.fork()
            if not child:
                if is_written:
                    for use in (lambda: writer.write({"a": [9]}), writer.close):
                        try:
                            use()
                        except FailedPreconditionError as error:
                            assert "forked" in str(error)
                        else:
                            os._exit(1)
                sys.exit(0)  # and pyarrow ends its file with the interpreter
            assert os.waitpid(child, 0)[1] == 0
        writer.write({"a": [4]})
        writer.close()
    """
    path = tmp_path / "a.parquet"
    command = [sys.executable, "-c", textwrap.dedent(program), str(path)]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True)
    assert done.stderr == b""
    assert [row["a"] for row in hr.ParquetDataset(path)] == [1, 2, 3, 4]
