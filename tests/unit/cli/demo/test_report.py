from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.cli.demo.recorded import JOB, PARALLEL, RUNS
from tests.unit.page.reading import Reader, check_needs_nothing

from headrace.cli.demo.charts import box_plot, check_charts_can_be_drawn, colour_of
from headrace.cli.demo.report import report_page, write_report
from headrace.cli.demo.summary import compare
from headrace.errors import FailedPreconditionError, MissingExtraError
from headrace.page.machine import this_machine

pytest.importorskip("matplotlib")

COMPARISON = compare(RUNS, same_losses=("sequential", "parallel"))


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(COMPARISON, JOB, this_machine())


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    return check_needs_nothing(page)


def test_the_page_holds_every_part(page: str, read: Reader) -> None:
    for heading in ("Where the time went", "Time per batch", "Waiting for data", "The pipeline", "The machine"):
        assert heading in read.text
    assert "The same training, 4.0 times as fast" in read.text
    assert page.count("<svg") == 2
    assert "10 ms" not in re.findall(r"<title>(.*)</title>", page)[0]


def test_the_pictures_take_their_colours_from_the_page(page: str) -> None:
    assert "fill: var(--ink)" in page
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) <= {"#000000"}


def test_names_from_outside_are_shown_as_they_are(page: str) -> None:
    assert "map &#x27;f&lt;g&gt;&#x27; (train.py:4)" in page


def test_the_page_tells_nothing_of_the_folders_of_the_machine(page: str) -> None:
    assert "/home/ada" not in page
    assert "rows/*.csv" in page
    assert str(Path.home()) + "/" not in page or str(Path.home()) == "/"


def test_the_page_says_why_steps_wait_where_a_pipeline_was_judged(read: Reader) -> None:
    assert "Steps wait 50% of the time: list_files 'rows/*.csv' takes 10 ms." in read.text
    unjudged = compare([PARALLEL], same_losses=())
    assert "Why steps wait" not in report_page(unjudged, JOB, this_machine())


def test_runs_without_a_pipeline_need_no_pipeline_section() -> None:
    bare = compare([replace(PARALLEL, stages=(), plan="")], same_losses=())
    assert "The pipeline" not in report_page(bare, JOB, this_machine())


def test_the_report_is_written_whole(tmp_path: Path, page: str) -> None:
    write_report(tmp_path / "report.html", COMPARISON, JOB, this_machine())
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    with pytest.raises(FailedPreconditionError, match="cannot write"):
        write_report(tmp_path / "notes" / "report.html", COMPARISON, JOB, this_machine())


def test_every_way_has_a_colour_of_its_own() -> None:
    for ways in range(1, 6):
        assert len({colour_of(number, ways) for number in range(ways)}) == ways


def test_without_matplotlib_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[report\]'"):
        check_charts_can_be_drawn()


def test_a_step_that_fills_a_buffer_does_not_press_the_boxes_flat() -> None:
    # As real steps are: no two alike, and the first a hundred times as long.
    steps = [replace(step, total_s=0.01 + number / 1e4) for number, step in enumerate(PARALLEL.steps)]
    picture = box_plot([replace(PARALLEL, steps=(replace(steps[0], total_s=1.0), *steps[1:]))])
    assert "1,000 ms" in picture
    assert ">1000<" not in picture
