from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.demo.data import RECIPE_FILE, Recipe, make_files, recipe_in
from headrace.errors import FailedPreconditionError

SMALL = Recipe(files=3, rows=4, features=5, seed=1)


def made(folder: Path, recipe: Recipe = SMALL) -> list[tuple[int, int]]:
    told: list[tuple[int, int]] = []
    make_files(folder, recipe, on_file=lambda done, total: told.append((done, total)))
    return told


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_each_row_has_its_features_and_whether_their_sum_is_positive(tmp_path: Path) -> None:
    made(tmp_path / "data")
    for name in SMALL.names():
        with (tmp_path / "data" / name).open(newline="") as file:
            rows = [[float(field) for field in row] for row in csv.reader(file)]
        assert [len(row) for row in rows] == [6] * 4
        assert all(row[-1] == float(sum(row[:-1]) > 0) for row in rows)


def test_the_features_are_standard_normal(tmp_path: Path) -> None:
    made(tmp_path / "data", Recipe(files=1, rows=100, features=200, seed=0))
    numbers = np.loadtxt(tmp_path / "data" / "examples-00.csv", delimiter=",")[:, :-1]
    # 20,000 of them: five standard errors either side.
    assert abs(numbers.mean()) < 5 / np.sqrt(numbers.size)
    assert abs(numbers.std() - 1) < 5 / np.sqrt(2 * numbers.size)


def test_the_same_seed_makes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    made(tmp_path / "one")
    made(tmp_path / "two")
    made(tmp_path / "other", Recipe(files=3, rows=4, features=5, seed=2))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert contents(tmp_path / "one")["examples-00.csv"] != contents(tmp_path / "other")["examples-00.csv"]


def test_files_that_are_there_stay_as_they_are(tmp_path: Path) -> None:
    assert made(tmp_path / "data") == [(1, 3), (2, 3), (3, 3)]
    (tmp_path / "data" / "examples-01.csv").write_text("changed by hand\n")
    assert made(tmp_path / "data") == []
    assert (tmp_path / "data" / "examples-01.csv").read_text() == "changed by hand\n"


def test_only_what_is_missing_is_made_and_as_it_was(tmp_path: Path) -> None:
    made(tmp_path / "data")
    before = contents(tmp_path / "data")
    (tmp_path / "data" / "examples-02.csv").unlink()
    assert made(tmp_path / "data") == [(1, 1)]
    assert contents(tmp_path / "data") == before


def test_another_recipe_replaces_the_files_of_the_last(tmp_path: Path) -> None:
    made(tmp_path / "data")
    made(tmp_path / "data", Recipe(files=1, rows=2, features=2, seed=0))
    assert sorted(contents(tmp_path / "data")) == ["examples-00.csv", RECIPE_FILE]
    assert recipe_in(tmp_path / "data") == Recipe(files=1, rows=2, features=2, seed=0)


def test_a_making_that_is_stopped_leaves_whole_files_and_goes_on_later(tmp_path: Path) -> None:
    made(tmp_path / "whole")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_files(tmp_path / "data", SMALL, on_file=stop)
    assert sorted(contents(tmp_path / "data")) == ["examples-00.csv", RECIPE_FILE]
    assert made(tmp_path / "data") == [(1, 2), (2, 2)]
    assert contents(tmp_path / "data") == contents(tmp_path / "whole")


@given(st.integers(1, 2_000))
def test_the_order_of_the_names_is_that_of_the_numbers(files: int) -> None:
    names = Recipe(files=files, rows=1, features=1, seed=0).names()
    assert list(names) == sorted(names)
    assert len(set(names)) == files


def test_a_folder_of_somebody_else_has_no_recipe(tmp_path: Path) -> None:
    assert recipe_in(tmp_path) is None
    (tmp_path / RECIPE_FILE).write_text('{"flour": 500}')
    assert recipe_in(tmp_path) is None
    (tmp_path / RECIPE_FILE).write_text("not json")
    assert recipe_in(tmp_path) is None


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    with pytest.raises(FailedPreconditionError, match=r"cannot create the folder .*notes/data"):
        made(tmp_path / "notes" / "data")
