"""docs/conformance.md says what each library does where they differ; here it is run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.differences import PAGE, Row, disagreement, read_rows, row_links
from tests.conformance.programs import headrace_side

_TEXT = PAGE.read_text(encoding="utf-8")
ROWS = read_rows(_TEXT)


def test_every_row_of_a_table_has_its_programs_under_the_same_heading() -> None:
    linked = [(topic, anchor, what) for topic, anchor, what, _ in row_links(_TEXT)]
    assert linked == [(row.topic, row.id, row.what) for row in ROWS]
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert _TEXT.count("\n<details") == len(ROWS)


def test_every_row_says_what_each_library_does_and_why() -> None:
    short = [anchor for _, anchor, _, cells in row_links(_TEXT) if len(cells) != 3 or not all(cells)]
    assert not short


def test_a_row_stands_there_because_its_programs_or_what_they_print_differ() -> None:
    alike = [
        row.id
        for row in ROWS
        if len(set(row.programs.values())) == 1 and row.prints["tf.data"] == row.prints["headrace"]
    ]
    assert not alike


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_headrace_does_what_the_page_says(row: Row) -> None:
    words = disagreement(row, headrace_side())
    assert not words, words


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow: pip install tensorflow")
def test_tensorflow_does_what_the_page_says() -> None:
    # In a process of its own: it writes to the console, and what hangs in it never ends.
    command = [sys.executable, "-m", "tests.conformance", "--differences"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2], timeout=110
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
