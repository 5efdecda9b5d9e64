from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from headrace.cli.demo.csv_folder import CsvFolder, prepare_folder
from headrace.cli.demo.data import Recipe
from headrace.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

SMALL = Recipe(files=3, rows=4, features=5, seed=1)


def prepared(folder: Path, *, may_fill: bool = False, features: int | None = None) -> CsvFolder:
    return prepare_folder(folder, SMALL, may_fill=may_fill, features=features, on_file=lambda done, total: None)


def own_files(folder: Path, **texts: str) -> Path:
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_a_new_folder_gets_the_demo_s_files(tmp_path: Path) -> None:
    found = prepared(tmp_path / "data")
    assert [path.name for path in found.paths] == list(SMALL.names())
    assert (found.rows, found.features, found.made_by) == (12, 5, SMALL)
    assert prepared(tmp_path / "data") == found


def test_an_empty_folder_is_filled_only_where_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no file matches .*\*\.csv"):
        prepared(tmp_path)
    assert prepared(tmp_path, may_fill=True).rows == 12


def test_files_of_the_user_are_used_as_they_are(tmp_path: Path) -> None:
    folder = own_files(tmp_path / "mine", b="1,2,0\n", a="1,2,1\n3,4,0")
    found = prepared(folder, may_fill=True)
    assert [path.name for path in found.paths] == ["a.csv", "b.csv"]
    assert (found.rows, found.features, found.made_by) == (3, 2, None)
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "b.csv"]


def test_the_user_may_say_how_many_features_there_are(tmp_path: Path) -> None:
    assert prepared(own_files(tmp_path / "mine", a="1,2\n"), features=7).features == 7


def test_the_pattern_matches_in_a_folder_with_brackets_in_its_name(tmp_path: Path) -> None:
    found = prepared(own_files(tmp_path / "mine[1]", a="1,2\n"))
    assert found.pattern == str(tmp_path / "mine[[]1]" / "*.csv")


def test_a_folder_whose_parent_is_missing_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no such folder: .*nowhere"):
        prepared(tmp_path / "nowhere" / "data")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(InvalidArgumentError, match=r"a\.csv is a file"):
        prepared(tmp_path / "a.csv")


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"b\.csv is empty"):
        prepared(own_files(tmp_path / "mine", a="1,2\n", b=""))


def test_a_single_column_leaves_nothing_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a\.csv:1: a row needs features and a label"):
        prepared(own_files(tmp_path / "mine", a="1\n"))


@pytest.mark.parametrize("name", ["examples-mine.csv", "examples-03.csv", "mine.csv"])
@pytest.mark.parametrize("files", [3, 20])
def test_files_of_the_user_s_among_the_demo_s_are_neither_trained_on_nor_left_out_in_silence(
    name: str, files: int, tmp_path: Path
) -> None:
    prepared(tmp_path / "data")
    (tmp_path / "data" / name).write_text("1,2,3,4,5,1\n")
    with pytest.raises(InvalidArgumentError, match=f"also {name}"):
        prepare_folder(
            tmp_path / "data",
            dataclasses.replace(SMALL, files=files),
            may_fill=False,
            features=None,
            on_file=lambda done, total: None,
        )


def test_rows_that_the_user_added_are_trained_on_and_never_overwritten(tmp_path: Path) -> None:
    first = prepared(tmp_path / "data").paths[0]
    with first.open("a") as file:
        file.write("1,2,3,4,5,1\n")
    assert prepared(tmp_path / "data").rows == 13
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    with pytest.raises(FailedPreconditionError, match=r"examples-00\.csv has changed since the demo made it"):
        prepare_folder(
            tmp_path / "data",
            dataclasses.replace(SMALL, rows=5),
            may_fill=True,
            features=None,
            on_file=lambda done, total: None,
        )
    assert {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()} == before
