from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    MissingExtraError,
    NotFoundError,
)
from headrace.io import read_file
from headrace.io.files import match_files, open_at, path_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.csv", "a.csv", ".hidden.csv", "notes.txt", "sub/c.csv", "sub/deep/d.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(folder: Path, patterns: Any) -> list[str]:
    return [os.path.relpath(path, folder) for path in match_files(patterns)]


def test_matches_are_sorted_over_all_patterns_and_repeated_as_often_as_they_match(folder: Path) -> None:
    assert names(folder, f"{folder}/*.csv") == ["a.csv", "b.csv"]
    assert names(folder, [f"{folder}/b*", folder / "*.csv"]) == ["a.csv", "b.csv", "b.csv"]
    assert names(folder, folder / "a.csv") == ["a.csv"]
    assert names(folder, f"{folder}/[ab].csv") == ["a.csv", "b.csv"]


def test_two_stars_reach_any_depth(folder: Path) -> None:
    assert names(folder, f"{folder}/**/*.csv") == ["a.csv", "b.csv", "sub/c.csv", "sub/deep/d.csv"]


def test_a_pattern_without_a_match_is_fine_beside_one_with(folder: Path) -> None:
    assert names(folder, [f"{folder}/none*", f"{folder}/a*"]) == ["a.csv"]


def test_no_match_names_the_pattern_and_tells_a_missing_folder(folder: Path) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        match_files([f"{folder}/*.png", f"{folder}/none/**/*.csv"])
    assert str(error.value) == (
        f"no file matches {folder}/*.png; no such folder: {folder}/none (of the pattern {folder}/none/**/*.csv)"
    )
    with pytest.raises(InvalidArgumentError, match="no file pattern was given"):
        match_files([])


def test_a_pattern_in_the_current_folder_has_no_folder_to_miss(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert match_files("*.csv") == ["a.csv", "b.csv"]
    with pytest.raises(InvalidArgumentError, match=r"^no file matches \*\.png$"):
        match_files("*.png")


@pytest.mark.parametrize("path", ["", 5, None, b""], ids=repr)
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a file is named by a non-empty str or path"):
        path_of(path)


def test_a_file_is_read_whole_and_from_an_offset(folder: Path) -> None:
    assert read_file(folder / "a.csv") == b"a.csv"
    with open_at(str(folder / "a.csv"), 2) as file:
        assert file.read() == b"csv"


def test_each_way_not_to_be_readable_has_its_own_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError, match=f"^no such file: {folder}/none$"):
        read_file(folder / "none")
    with pytest.raises(FailedPreconditionError, match="is not a file: Is a directory"):
        read_file(folder)
    with pytest.raises(FailedPreconditionError, match="is not a file: Not a directory"):
        read_file(folder / "a.csv" / "b")

    def refuse(path: str, *_: Any) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(FailedPreconditionError, match="no permission to read"):
        read_file(folder / "a.csv")

    def fail(path: str, *_: Any) -> Any:
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr("os.open", fail)
    with pytest.raises(DataLossError, match=r"cannot be read: .*Input/output error"):
        read_file(folder / "a.csv")


@pytest.mark.parametrize("at_once", [1, 3, 4, 5])
def test_a_file_is_read_to_its_end_however_much_the_system_gives_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    content = bytes(range(23))
    (folder / "long").write_bytes(content)
    read = os.read
    monkeypatch.setattr("os.read", lambda file, size: read(file, min(size, at_once)))
    assert read_file(folder / "long") == content


def test_a_file_that_does_not_say_its_size_is_read_to_its_end() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("there is no /proc here")
    assert read_file("/proc/self/status").startswith(b"Name:")


def test_addresses_go_through_fsspec() -> None:
    import fsspec

    for name in ("b", "a"):
        with fsspec.open(f"memory://headrace-files/{name}.csv", "wb") as file:
            file.write(name.encode())
    assert match_files("memory://headrace-files/*.csv") == [
        "memory:///headrace-files/a.csv",
        "memory:///headrace-files/b.csv",
    ]
    assert read_file("memory://headrace-files/a.csv") == b"a"
    with pytest.raises(InvalidArgumentError, match="no file matches memory://headrace-files/none"):
        match_files("memory://headrace-files/none*")


def test_an_address_that_fsspec_does_not_know_is_told_from_one_that_lacks_a_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InvalidArgumentError, match="no address that fsspec knows"):
        read_file("nonsense://a")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingExtraError, match="s3://bucket/a needs a package for its kind of address"):
        read_file("s3://bucket/a")


def test_whatever_a_remote_file_system_raises_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    class NetworkDownError(Exception):
        pass

    def fail(path: str, mode: str) -> Any:
        raise NetworkDownError

    monkeypatch.setattr(fsspec, "open", fail)
    with pytest.raises(DataLossError, match=r"memory://a cannot be read: NetworkDownError\(\)"):
        read_file("memory://a")
