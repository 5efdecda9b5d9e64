from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import DataLossError, InvalidArgumentError, NotFoundError
from headrace.testing import check_every_restore_point
from headrace.testing.restoring import same

EXECUTORS = ("thread", "inline")
Make = Callable[..., hr.Dataset]


def written(folder: Path, form: str, first: int, count: int, **columns: Any) -> str:
    path = str(folder / f"{first}.{form}")
    table = pa.table({"x": np.arange(first, first + count), "y": [f"é{n}" for n in range(count)], **columns})
    if form == "parquet":
        pq.write_table(table, path, row_group_size=4)
    else:
        pyarrow.feather.write_feather(table, path, chunksize=4, compression="uncompressed")
    return path


@pytest.fixture(params=["parquet", "arrow"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(form: str) -> Make:
    return hr.ParquetDataset if form == "parquet" else hr.ArrowDataset


def numbers(dataset: hr.Dataset) -> list[int]:
    return [row["x"] for row in dataset]


@pytest.mark.parametrize("parallel", [None, 1, 2, hr.AUTOTUNE])
def test_files_are_read_one_after_the_other_or_by_turns(
    tmp_path: Path, form: str, make: Make, parallel: int | None
) -> None:
    paths = [written(tmp_path, form, first, 5) for first in (0, 10)]
    found = numbers(make(paths, num_parallel_reads=parallel))
    assert sorted(found) == [*range(5), *range(10, 15)]
    assert (found == sorted(found)) is (parallel is None)
    check_every_restore_point(make(paths, num_parallel_reads=parallel).shuffle(4, seed=1), executors=EXECUTORS)


def test_a_dataset_may_name_the_files(tmp_path: Path, form: str, make: Make) -> None:
    written(tmp_path, form, 0, 3)
    ds = make(hr.Dataset.list_files(tmp_path / "*", shuffle=False), columns=["x"])
    assert list(ds) == [{"x": 0}, {"x": 1}, {"x": 2}]


def test_what_elements_are_is_known_before_they_are_read(tmp_path: Path, form: str, make: Make) -> None:
    path = written(tmp_path, form, 0, 3, z=pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32(), 2)))
    spec = make(path).element_spec
    assert spec == {
        "x": hr.TensorSpec((), np.int64),
        "y": hr.TensorSpec((), str),
        "z": hr.TensorSpec((2,), np.float32),
    }
    assert list(spec) == list(next(iter(make(path)))) == ["x", "y", "z"]
    assert make(path).batch(2).element_spec["z"] == hr.TensorSpec((None, 2), np.float32)


def test_columns_that_are_not_there_are_refused_where_the_dataset_is_made(
    tmp_path: Path, form: str, make: Make
) -> None:
    path = written(tmp_path, form, 0, 3)
    with pytest.raises(InvalidArgumentError, match=r"no column 'z'; its columns are \['x', 'y'\]"):
        make(path, columns=["x", "z"])


def test_batches_across_files_and_row_groups_are_whole(tmp_path: Path, form: str, make: Make) -> None:
    paths = [written(tmp_path, form, first, 7) for first in (0, 7, 14)]
    batches = list(make(paths).batch(5))
    assert [batch["x"].tolist() for batch in batches] == [list(range(s, min(s + 5, 21))) for s in range(0, 21, 5)]
    assert [batch["y"].dtype for batch in batches] == [np.dtype(object)] * 5
    for batch in batches:
        batch["x"][:] = 0  # a batch belongs to whoever gets it
    assert numbers(make(paths)) == list(range(21))


def test_a_file_that_differs_from_the_first_fails_in_its_place(tmp_path: Path, form: str, make: Make) -> None:
    paths = [written(tmp_path, form, 0, 2), written(tmp_path, form, 10, 2, x=pa.array([1.0, 2.0]))]
    with iter(make([*paths, paths[0]])) as iterator:
        assert [next(iterator)["x"] for _ in range(2)] == [0, 1]
        with pytest.raises(
            InvalidArgumentError, match=r"10\..*column 'x' is .*float64.*, and in .*0\..* it is .*int64"
        ):
            next(iterator)
        assert [row["x"] for row in iterator] == [0, 1]


def test_missing_files_fail_in_their_place_and_may_be_skipped(
    tmp_path: Path, form: str, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    paths = ["absent.file", written(tmp_path, form, 0, 2)]
    with iter(make(paths)) as iterator:
        with pytest.raises(NotFoundError, match="absent"):
            next(iterator)
        assert numbers_of(iterator) == [0, 1]
    with caplog.at_level(logging.WARNING, "headrace"):
        assert numbers(make(paths, on_error="skip")) == [0, 1]
    assert "absent.file" in caplog.text
    with pytest.raises(NotFoundError, match="max_failures is 0"):
        list(make(paths, on_error="skip").with_options(hr.Options(max_failures=0)))


def numbers_of(iterator: Any) -> list[int]:
    return [row["x"] for row in iterator]


def test_without_any_file_that_can_be_read_nothing_is_known_and_all_is_told(make: Make) -> None:
    ds = make(["absent.1", "absent.2"])
    assert ds.__headrace_plan__().spec() is None
    with iter(ds) as iterator:
        for name in ("absent.1", "absent.2"):
            with pytest.raises(NotFoundError, match=name):
                next(iterator)
        assert list(iterator) == []
    assert list(make([])) == []


def test_rows_by_number_are_shuffled_without_being_read(tmp_path: Path, form: str, make: Make) -> None:
    paths = [written(tmp_path, form, first, 7) for first in (0, 7)]
    ds = make(paths, random_access=True)
    assert len(ds) == 14
    assert all(map(same, ds, make(paths)))
    mixed = numbers(ds.shuffle(14, seed=1))
    assert sorted(mixed) == list(range(14)) != mixed
    assert numbers(ds.skip(12)) == [12, 13]
    assert numbers(ds.shard(3, 1)) == list(range(1, 14, 3))
    check_every_restore_point(ds.shuffle(14, seed=1).batch(3), executors=EXECUTORS)
    check_every_restore_point(make(paths, random_access=True, num_parallel_reads=2), executors=EXECUTORS)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"filters": [("x", "=", 1)]}, "cannot count the rows that filters choose"),
        ({"on_error": "skip"}, "ignore_errors"),
    ],
)
def test_what_rows_by_number_cannot_do_is_refused_with_a_way_out(
    tmp_path: Path, form: str, make: Make, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make(written(tmp_path, form, 0, 3), random_access=True, **how)


def test_arguments_that_do_not_go_together_are_refused(tmp_path: Path, form: str, make: Make) -> None:
    path = written(tmp_path, form, 0, 3)
    with pytest.raises(InvalidArgumentError, match="random_access=True"):
        make(path, cache_bytes=1)
    with pytest.raises(InvalidArgumentError, match="names of the files"):
        make(hr.Dataset.from_tensors(path), random_access=True)
    with pytest.raises(InvalidArgumentError, match="on_error"):
        make(path, on_error="ignore")


def test_caches_know_when_a_file_was_changed(tmp_path: Path, form: str, make: Make) -> None:
    path = written(tmp_path, form, 0, 3)
    for how in ({}, {"random_access": True}):
        before = hr.fingerprint(make(path, **how))
        assert before == hr.fingerprint(make(path, **how))
        assert before != hr.fingerprint(make(path, columns=["x"], **how))
        written(tmp_path, form, 0, 4)
        assert before != hr.fingerprint(make(path, **how))
        written(tmp_path, form, 0, 3)


def test_a_changed_file_is_told_by_rows_by_number(tmp_path: Path, form: str, make: Make) -> None:
    path = written(tmp_path, form, 0, 3)
    ds = make(path, random_access=True)
    written(tmp_path, form, 0, 4)
    with pytest.raises(hr.errors.HeadraceError, match="changed since the dataset was made") as told:
        next(iter(ds))
    assert isinstance(told.value, DataLossError) or isinstance(told.value.__cause__, DataLossError)


def test_numpy_files_are_read_by_number(tmp_path: Path) -> None:
    for number in range(2):
        np.savez(tmp_path / f"{number}.npz", x=np.arange(5) + 5 * number, y=np.ones((5, 2), np.float32))
    ds = hr.NumpyDataset(sorted(tmp_path.iterdir()))
    assert len(ds) == 10
    assert numbers(ds.take(7).skip(4)) == [4, 5, 6]
    batches = list(ds.shuffle(10, seed=1).batch(4))
    assert sorted(np.concatenate([batch["x"] for batch in batches]).tolist()) == list(range(10))
    assert [batch["y"].shape for batch in batches] == [(4, 2), (4, 2), (2, 2)]
    check_every_restore_point(ds.shuffle(10, seed=1).batch(3), executors=EXECUTORS)
    before = hr.fingerprint(ds)
    np.savez(tmp_path / "1.npz", x=np.arange(6), y=np.ones((6, 2), np.float32))
    assert before != hr.fingerprint(hr.NumpyDataset(sorted(tmp_path.iterdir())))


def test_rows_by_number_have_the_spec_of_rows_in_order(tmp_path: Path, form: str, make: Make) -> None:
    path = written(tmp_path, form, 0, 3, rows=[[1], [2, 3], []], nested=[{"a": [1.0]}, {"a": []}, {"a": [2.0, 3.0]}])
    found = make(path, random_access=True).element_spec
    assert found == make(path).element_spec
    assert found["rows"] == hr.TensorSpec((None,), np.int64)
    assert make(path, random_access=True).batch(1).element_spec["rows"] == hr.TensorSpec((None, None), np.int64)
