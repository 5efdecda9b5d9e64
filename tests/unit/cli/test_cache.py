"""``headrace cache``: what a person sees of the caches in a folder, and what is removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from headrace.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    list(hr.Dataset.range(3).cache(tmp_path, key="a"))
    list(hr.Dataset.range(1000).batch(10).cache(tmp_path, key="b"))
    return tmp_path


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)


def test_ls_names_each_cache(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "ls", str(folder)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("a.elements")
    assert "3 elements  key a" in first
    assert "100 elements  key b" in second
    assert main(["cache", "ls", "--json", str(folder)]) == 0
    assert [json.loads(line)["elements"] for line in capsys.readouterr().out.splitlines()] == [3, 100]


def test_verify_finds_what_is_broken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "verify", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == ["a.elements  whole", "b.elements  whole", "2 caches, 0 broken"]
    damage(folder / "b.elements")
    (folder / "a.elements").write_bytes(b"")
    assert main(["cache", "verify", str(folder)]) == 1
    a, b, summary = capsys.readouterr().out.splitlines()
    assert "this is no file of elements" in a
    assert "not as they were written" in b
    assert summary == "2 caches, 2 broken"
    assert main(["cache", "ls", str(folder)]) == 0
    assert "this is no file of elements" in capsys.readouterr().out


def test_clear_removes_caches_and_leftovers_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "a.elements.1-x.part").write_text("left")
    assert main(["cache", "clear", str(folder)]) == 0
    assert capsys.readouterr().out == "2 caches removed\n"
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert main(["cache", "ls", str(folder)]) == 0
    assert capsys.readouterr().out == f"no cache in {folder}\n"


def test_a_cache_that_is_being_filled_is_named_and_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with iter(hr.Dataset.range(3).cache(tmp_path, key="k")) as iterator:
        next(iterator)
        assert main(["cache", "ls", str(tmp_path)]) == 0
        assert "k.elements  is being filled" in capsys.readouterr().out
        assert main(["cache", "clear", str(tmp_path)]) == 0
        assert "left" in capsys.readouterr().out
        assert len(list(iterator)) == 2
    assert (tmp_path / "k.elements").exists()


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "verify", str(tmp_path / "absent")]) == 1
    assert capsys.readouterr().err.strip() == f"headrace: error: no such folder: {tmp_path / 'absent'}"
