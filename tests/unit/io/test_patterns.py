"""Patterns of file names mean what they mean to TensorFlow; what is expected here was read off its ``list_files``."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import InvalidArgumentError
from headrace.io.patterns import pythons_pattern

pytestmark = pytest.mark.skipif(os.sep == "\\", reason="a backslash is between folders on Windows")

NAMES = ["a1", "b1", "^1", "!1", "-1", "]1", "[x]", "a-1"]
MATCHED = {
    "[^a]1": ["!1", "-1", "]1", "^1", "b1"],
    "[!a]1": ["!1", "-1", "]1", "^1", "b1"],
    "[a^]1": ["^1", "a1"],
    r"\[x\]": ["[x]"],
    "[[]x[]]": ["[x]"],
    "[a-b]1": ["a1", "b1"],
    "[]]1": ["]1"],
    "[^]]1": ["!1", "-1", "^1", "a1", "b1"],
    r"[\]]1": ["]1"],
    r"[a\-]1": ["-1", "a1"],
    r"\a1": ["a1"],
    "[^^]1": ["!1", "-1", "]1", "a1", "b1"],
    "[^!]1": ["-1", "]1", "^1", "a1", "b1"],
    "[b-a]1": [],
    "[]1": [],
    "[": [],
    "{a,b}1": [],
}


@pytest.mark.parametrize("pattern", sorted(MATCHED))
def test_a_pattern_matches_the_files_that_it_matches_in_tensorflow(tmp_path: Path, pattern: str) -> None:
    for name in NAMES:
        (tmp_path / name).touch()
    wanted = [str(tmp_path / name) for name in MATCHED[pattern]]
    if wanted:
        assert list(hr.Dataset.list_files(f"{tmp_path}/{pattern}", shuffle=False)) == wanted
        return
    with pytest.raises(InvalidArgumentError, match=f"no file matches {re.escape(str(tmp_path))}"):
        hr.Dataset.list_files(f"{tmp_path}/{pattern}", shuffle=False)


def test_a_folder_with_brackets_in_its_name_is_written_with_backslashes(tmp_path: Path) -> None:
    (tmp_path / "d[1]").mkdir()
    (tmp_path / "d[1]" / "f").touch()
    assert list(hr.Dataset.list_files(rf"{tmp_path}/d\[1\]/*")) == [f"{tmp_path}/d[1]/f"]


def test_two_stars_give_what_is_in_a_folder_and_not_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "a").touch()
    (tmp_path / "sub" / "b").touch()
    found = hr.Dataset.list_files(f"{tmp_path}/**", shuffle=False)
    assert [path.removeprefix(f"{tmp_path}/") for path in found] == ["a", "sub", "sub/b", "sub/deep"]


@given(st.text("ab^!-]\\[*", min_size=1, max_size=4), st.booleans(), st.sampled_from("ab^!-]\\[*c"))
def test_characters_in_brackets_are_themselves_behind_a_backslash(members: str, negated: bool, name: str) -> None:
    escaped = "".join(f"\\{one}" for one in members)
    pattern = pythons_pattern(f"[{'^' if negated else ''}{escaped}]")
    assert fnmatch.fnmatchcase(name, pattern) == ((name in members) != negated)


@given(st.text("ab^!-]\\[*?", min_size=1, max_size=6))
def test_a_name_with_a_backslash_before_each_character_matches_itself_alone(name: str) -> None:
    pattern = pythons_pattern("".join(f"\\{one}" for one in name))
    assert fnmatch.fnmatchcase(name, pattern)
    assert not fnmatch.fnmatchcase(f"{name}a", pattern)


@given(st.text("ab^!-]\\[*?/", max_size=8))
def test_any_text_is_a_pattern(text: str) -> None:
    fnmatch.fnmatchcase("a", pythons_pattern(text))
