from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace.io.indexing.index as module
from headrace.errors import DataLossError, FailedPreconditionError, NotFoundError
from headrace.io.atomic_file import AtomicFile
from headrace.io.indexing.index import index_of

ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "headrace" / "record-index"


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.bin"
    path.write_bytes(b"abcdefgh")
    return str(path)


class Scanning:
    """Records of two bytes, and how often they were looked for."""

    def __init__(self, runs: Any = None, fault: Exception | None = None) -> None:
        self.calls = 0
        self.runs = [(0, 2), (2, 2), (4, 2), (6, 2)] if runs is None else runs
        self.fault = fault

    def __call__(self, path: str) -> Iterator[Any]:
        self.calls += 1
        yield from self.runs
        if self.fault is not None:
            raise self.fault


def spans(index: module.RecordIndex) -> list[list[int]]:
    listed: list[list[int]] = index.spans.tolist()
    return listed


def test_an_index_is_built_once_and_found_again(data: str) -> None:
    scan = Scanning()
    first, second = index_of(data, "pairs", scan), index_of(data, "pairs", scan)
    assert spans(first) == spans(second) == [[0, 2], [2, 2], [4, 2], [6, 2]]
    assert second.sidecar == f"{data}.index"
    assert second.fault is None
    assert scan.calls == 1
    assert second.spans.dtype == np.int64
    assert not second.spans.flags.writeable


@pytest.mark.parametrize("runs", [[], [np.array([[0, 2]]), np.array([[3, 1], [4, 0]])], [(8, 0)]], ids=len)
def test_a_scan_gives_arrays_or_pairs(data: str, runs: list[Any]) -> None:
    index = index_of(data, "pairs", Scanning(runs))
    given_pairs = [list(map(int, pair)) for run in runs for pair in (run if isinstance(run, np.ndarray) else [run])]
    assert spans(index) == given_pairs
    assert len(index) == len(given_pairs)


def test_many_pairs_are_written_a_run_at_a_time(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    pairs = [(number % 8, 0) for number in range(10)]
    assert spans(index_of(data, "pairs", Scanning(pairs))) == [list(pair) for pair in pairs]


def test_where_the_data_breaks_off_the_index_says_so(data: str) -> None:
    scan = Scanning([(0, 2)], DataLossError("the rest is missing"))
    for _ in range(2):
        index = index_of(data, "pairs", scan)
        assert str(index.fault) == f"{data}:2: the rest is missing"
        assert spans(index) == [[0, 2]]
    assert scan.calls == 1


def test_another_version_of_the_data_has_another_index(data: str) -> None:
    scan = Scanning()
    index_of(data, "pairs", scan)
    Path(data).write_bytes(b"abcdefghij")
    index_of(data, "pairs", scan)
    os.utime(data, ns=(1, 1))
    assert index_of(data, "pairs", scan).version == (10, "1")
    assert scan.calls == 3


def test_another_kind_of_records_has_another_index(data: str) -> None:
    index_of(data, "pairs", Scanning())
    assert spans(index_of(data, "whole", Scanning([(0, 8)]))) == [[0, 8]]


def test_data_that_changes_while_it_is_looked_through_has_no_index(data: str, tmp_path: Path) -> None:
    def scan(path: str) -> Iterator[Any]:
        yield 0, 2
        Path(path).write_bytes(b"longer than before")

    with pytest.raises(DataLossError, match="changed while its records were looked for"):
        index_of(data, "pairs", scan)
    assert [path.name for path in tmp_path.iterdir()] == ["data.bin"]


def test_data_that_vanishes_while_it_is_looked_through_has_no_index(data: str) -> None:
    def scan(path: str) -> Iterator[Any]:
        yield 0, 2
        Path(path).unlink()

    with pytest.raises(DataLossError, match="changed while its records were looked for"):
        index_of(data, "pairs", scan)


def test_an_exception_leaves_nothing_behind(data: str, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        index_of(data, "pairs", Scanning([(0, 2)], ZeroDivisionError()))
    assert [path.name for path in tmp_path.iterdir()] == ["data.bin"]


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        index_of(str(tmp_path / "none"), "pairs", Scanning())


def test_a_file_of_somebody_else_is_never_replaced(data: str, cache_folder: Path) -> None:
    theirs = Path(f"{data}.index")
    theirs.write_text("offsets of another program")
    scan = Scanning()
    assert Path(index_of(data, "pairs", scan).sidecar).parent == cache_folder
    index_of(data, "pairs", scan)
    assert scan.calls == 1
    assert theirs.read_text() == "offsets of another program"


def test_a_folder_of_that_name_is_not_replaced_either(data: str, cache_folder: Path) -> None:
    Path(f"{data}.index").mkdir()
    assert Path(index_of(data, "pairs", Scanning()).sidecar).parent == cache_folder


def refusing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be written into a folder, also by root."""
    written = AtomicFile

    def write(sidecar: str) -> Any:
        if Path(sidecar).is_relative_to(folder):
            raise FailedPreconditionError(f"no permission to write {sidecar}")
        return written(sidecar)

    monkeypatch.setattr(module, "AtomicFile", write)


def test_a_folder_that_may_not_be_written_to_has_its_indexes_in_the_cache(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "read only"
    folder.mkdir()
    path = folder / "data.bin"
    path.write_bytes(b"abcdefgh")
    refusing(folder, monkeypatch)
    scan = Scanning()
    for _ in range(2):
        assert Path(index_of(str(path), "pairs", scan).sidecar).parent == cache_folder
    assert scan.calls == 1


def test_where_nothing_can_be_written_the_error_says_what_to_set(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(tmp_path, monkeypatch)
    with pytest.raises(FailedPreconditionError, match=r"no permission to write .*; set XDG_CACHE_HOME"):
        index_of(data, "pairs", Scanning())


def test_data_that_is_not_local_has_its_index_in_the_cache(cache_folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe_file("/record-index/data.bin", b"abcdefgh")
    index = index_of("memory://record-index/data.bin", "pairs", Scanning())
    assert Path(index.sidecar).parent == cache_folder
    assert len(index) == 4
    system.rm("/record-index", recursive=True)


@ONE_FOLDER
@given(st.integers(0, 400), st.integers(1, 255), st.one_of(st.none(), st.integers(0, 400)))
def test_a_damaged_index_is_built_anew(tmp_path: Path, at: int, flipped: int, cut: int | None) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(b"abcdefgh")
    scan = Scanning()
    sidecar = Path(index_of(str(data), "pairs", scan).sidecar)
    content = bytearray(sidecar.read_bytes())
    content[at % len(content)] ^= flipped
    damaged = bytes(content if cut is None else content[:cut])
    sidecar.write_bytes(damaged)
    index = index_of(str(data), "pairs", scan)
    assert spans(index) == [[0, 2], [2, 2], [4, 2], [6, 2]]
    assert sidecar.read_bytes() != damaged or index.sidecar != str(sidecar)
    sidecar.unlink()  # where its mark was damaged it counts as somebody else's


def test_records_beyond_the_end_of_the_file_are_not_believed(data: str) -> None:
    lying = Scanning([(6, 3)])
    with pytest.raises(DataLossError, match="changed as soon as it was written"):
        index_of(data, "pairs", lying)
