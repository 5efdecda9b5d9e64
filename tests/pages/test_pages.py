"""The pages for a newcomer are true: their programs run, in their order, and print what the pages show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.building.drawings import DRAWINGS, PICTURES
from tests.pages.page import Command, Part, same_output, steps_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    str(path.relative_to(DOCS))
    for path in (
        DOCS / "index.md",
        DOCS / "start.md",
        DOCS / "guide/ranks.md",
        *(page for folder in ("ideas", "howto", "from") for page in DOCS.glob(f"{folder}/*.md")),
    )
)
NOT_ALL_IS_INSTALLED = 77


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_is_what_its_programs_print(page: str) -> None:
    # In a process of its own: what a page starts, sets or leaves is its own, and what hangs ends.
    command = [sys.executable, "-m", "tests.pages", str(DOCS / page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=DOCS.parent, timeout=110)
    if done.returncode == NOT_ALL_IS_INSTALLED:
        pytest.skip(done.stdout.splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr


def test_figures_may_differ_and_words_and_counts_may_not() -> None:
    shown = "95 steps in 1.23 s, 30% waiting\n"
    assert same_output(shown, "95 steps in  0.04 s,  7% waiting")
    assert not same_output(shown, "96 steps in 1.23 s, 30% waiting")
    assert not same_output(shown, "95 steps in 1.23 s, 30% training")
    assert not same_output(shown, "")


def test_a_part_of_a_program_is_held_to_the_text_below_it_or_to_its_own_comments() -> None:
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nprint(2)  # 2\n```\n\n```console\n$ a b\nc\n$ d\n```\n"
    shown, said, *commands = steps_of(page)
    assert isinstance(shown, Part)
    assert isinstance(said, Part)
    assert [part.prints_what_is_said("1\n") for part in (shown, said)] == [True, False]
    assert [part.prints_what_is_said("2\n") for part in (shown, said)] == [False, True]
    assert not said.prints_what_is_said("")
    assert [(command.words, command.prints) for command in commands if isinstance(command, Command)] == [
        ("a b", "c\n"),
        ("d", ""),
    ]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_what_its_program_draws(name: str) -> None:
    assert (PICTURES / name).read_text(encoding="utf-8") == DRAWINGS[name](), "python -m docs.building.drawings"


def test_the_figures_of_the_first_page_are_those_of_the_benchmarks_and_of_the_demo() -> None:
    home, benchmarks, readme = (
        path.read_text(encoding="utf-8")
        for path in (DOCS / "index.md", DOCS / "benchmarks.md", DOCS.parent / "README.md")
    )
    rows = re.findall(r"^\| (?:rows|JPEG).*$", home, re.MULTILINE)
    figures = [figure for row in rows for figure in re.findall(r"\d[\d,]*\d", row) if figure != "32"]
    assert len(figures) == 11
    assert [figure for figure in figures if f" {figure} " not in benchmarks] == []
    demo = re.findall(r"^ *(?:naive|feed|queue|sequential|parallel) +174 .*$", home, re.MULTILINE)
    assert len(demo) == 5
    assert [line for line in demo if line.strip() not in readme] == []


def test_stopped_runs_on_pages_end_as_the_others() -> None:
    killed = re.findall(r"^a = (.*)$", (DOCS / "howto/resume.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(killed) == 2
    assert len(set(killed)) == 1
    losses = re.findall(
        r"^(?:75 steps, )?loss (\d\.\d+)$", (DOCS / "start.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(losses) == 4
    assert len(set(losses)) == 1


def test_the_classes_in_the_drawing_of_a_run_are_there() -> None:
    drawing = DRAWINGS["running-parts.svg"]()
    names = set(
        re.findall(
            r"\b(?:[A-Z][a-z]+){2,}\b|\b(?:Gate|Channel|Budget)\b",
            re.sub(r"<style>.*?</style>", "", drawing, flags=re.DOTALL),
        )
    )
    sources = "".join(path.read_text(encoding="utf-8") for path in (DOCS.parent / "src").rglob("*.py"))
    assert {"ParallelStage", "WorkerPool", "Gate", "BatchMemory"} <= names
    assert [name for name in names if f"class {name}" not in sources] == []
