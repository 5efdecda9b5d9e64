"""``headrace doctor``: what a person is told of a pipeline, of headrace's or another's, and of mistakes."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from headrace.cli import main

PROGRAM = """
import headrace as hr


def data():
    return hr.Dataset.range(100).map(lambda x: x + 1).batch(8)


def other():
    return [1, 2, 3]


def once():
    return iter([1, 2, 3])


def nothing():
    return None


def empty():
    return []


def broken():
    raise ValueError("no data here")


def step(element):
    pass


def pairs():
    return hr.Dataset.range(100).map(lambda x: (x, x)).batch(8)


def of_pair(images, labels):
    pass


class Torn:
    def __iter__(self):
        yield 1
        raise OSError("the share is gone")


def wrong(element):
    raise KeyError("label")
"""
SHORT = ["--seconds", "0.1"]


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doctored.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def test_a_dataset_is_profiled_with_its_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "doctored.py:data", "--step", "doctored.py:step", *SHORT]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Steps ")
    assert "stage" in told


def test_a_step_may_take_the_components_of_an_element(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "doctored.py:pairs", "--step", "doctored.py:of_pair", *SHORT]) == 0
    assert capsys.readouterr().out.startswith("Steps ")


def test_all_figures_come_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "doctored.py:data", "--json", *SHORT]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["verdict"]["waiting_share"] == 1
    assert figures["steps_per_s"] > 0


@pytest.mark.parametrize("with_step", [[], ["--step", "doctored.py:step"]])
def test_what_is_not_headraces_is_looked_at_from_outside(
    capsys: pytest.CaptureFixture[str], with_step: list[str]
) -> None:
    assert main(["doctor", "doctored.py:other", *with_step, *SHORT]) == 0
    assert "list alone: " in capsys.readouterr().out
    assert main(["doctor", "doctored.py:other", "--json", *with_step, *SHORT]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "list"


def test_what_is_advised_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "doctored.py:data", "--apply", *SHORT]) == 0
    assert capsys.readouterr().out.startswith("The pipeline gives ")


@pytest.mark.parametrize("target", ["data", "other"])
def test_a_page_is_written_beside_what_is_printed(capsys: pytest.CaptureFixture[str], target: str) -> None:
    assert main(["doctor", f"doctored.py:{target}", "--json", "--report", "page.html", *SHORT]) == 0
    told = capsys.readouterr()
    verdict = json.loads(told.out)["verdict"]["text"]
    assert told.err == "report: page.html\n"
    assert html.escape(verdict) in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["doctored.py:once"], 2, "can be iterated once"),
        (["doctored.py:nothing"], 2, "must return something to iterate, but returned None"),
        (["doctored.py:empty"], 1, "the dataset is empty"),
        (["doctored.py:broken"], 1, "broken() raised ValueError: no data here (doctored.py:26)"),
        (["doctored.py:data", "--step", "doctored.py:wrong"], 1, "wrong() raised KeyError: 'label' (doctored.py:48)"),
        (
            ["doctored.py:data", "--step", "doctored.py:of_pair"],
            1,
            "the step is of_pair(images, labels), which cannot be",
        ),
        (
            ["doctored.py:Torn"],
            1,
            "the Torn that doctored.py:Torn() returned raised OSError: the share is gone (doctored.py:44)",
        ),
        (["doctored.py:dat"], 2, "did you mean doctored.py:data?"),
        (["doctored.py:data", "--report", "no/page.html"], 1, "cannot write no/page.html: No such file or directory"),
        (["doctored.py:other", "--apply"], 2, "--apply changes headrace's own datasets"),
    ],
)
def test_mistakes_are_told_in_a_line(
    capsys: pytest.CaptureFixture[str], words: list[str], status: int, told: str
) -> None:
    assert main(["doctor", *words, *SHORT]) == status
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
