from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console
from tests.unit.cli.demo.recorded import NAIVE, RUNS

from headrace.cli.demo.progress import LiveProgress, PlainProgress, Progress, SilentProgress, progress_on


def shown(progress: Progress, output: io.StringIO) -> str:
    with progress:
        progress.file_made(1, 2)
        progress.file_made(2, 2)
        progress.note("75 rows")
        for run in RUNS:
            progress.way_starts(run.way, len(run.steps))
            for step in run.steps:
                progress.step_ends(step)
            progress.way_ends(run)
    return output.getvalue()


def console_on(output: io.StringIO, *, terminal: bool) -> Console:
    return Console(file=output, width=100, force_terminal=terminal, color_system=None)


def test_plain_lines_tell_a_few_steps_of_each_way_and_the_last() -> None:
    output = io.StringIO()
    lines = shown(PlainProgress(console_on(output, terminal=False)), output).splitlines()
    assert lines[:2] == ["made 2 CSV files", "75 rows"]
    assert lines[2] == "naive       step  2/10  loss 0.750  accuracy  50%  waiting  75%"
    assert [line.split()[2] for line in lines if line.startswith("parallel")] == [
        "2/10",
        "4/10",
        "6/10",
        "8/10",
        "10/10",
    ]
    assert "\x1b" not in "".join(lines)


def test_a_live_display_ends_with_every_way_at_its_last_step() -> None:
    output = io.StringIO()
    last = shown(LiveProgress(console_on(output, terminal=True)), output).rsplit("\x1b[2K", 1)[-1]
    assert "10/10" in last
    text = output.getvalue()
    assert all(run.way in text for run in RUNS)
    assert "waiting  75%" in text


@pytest.mark.parametrize("width", [20, 30, 40, 41, 60, 66, 67, 68, 78, 79, 80, 200])
def test_a_line_of_the_live_display_fits_into_any_width_and_is_not_cut(width: int) -> None:
    output = io.StringIO()
    console = Console(file=output, width=width, force_terminal=True, color_system=None)
    last = shown(LiveProgress(console), output).rsplit("\x1b[2K", 1)[-1]
    assert all(len(line) <= width for line in last.splitlines())
    assert "…" not in last
    assert "parallel" in last
    assert "10/10" in last
    assert ("waiting" in last) == (width >= 57)
    assert ("loss" in last) == (width >= 38)


def test_a_live_display_has_no_thread() -> None:
    output = io.StringIO()
    before = threading.active_count()
    with LiveProgress(console_on(output, terminal=True)) as progress:
        progress.way_starts("naive", 10)
        assert threading.active_count() == before


def test_a_live_display_is_not_drawn_at_every_step() -> None:
    class StandingClock:
        def now_s(self) -> float:
            return 0.0

    output = io.StringIO()
    with LiveProgress(console_on(output, terminal=True), clock=StandingClock()) as progress:
        progress.way_starts("naive", 10)
        drawn = len(output.getvalue())
        for step in NAIVE.steps:
            progress.step_ends(step)
        assert len(output.getvalue()) == drawn


@pytest.mark.parametrize(
    ("terminal", "quiet", "kind"),
    [
        (True, False, LiveProgress),
        (True, True, LiveProgress),
        (False, False, PlainProgress),
        (False, True, SilentProgress),
    ],
)
def test_where_the_output_goes_decides_how_it_is_shown(terminal: bool, quiet: bool, kind: type) -> None:
    assert type(progress_on(console_on(io.StringIO(), terminal=terminal), quiet=quiet)) is kind
