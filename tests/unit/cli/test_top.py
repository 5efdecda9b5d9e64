"""``headrace top``: what it prints of what processes tell."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

import headrace as hr
from headrace.cli import main
from headrace.cli.top import command
from headrace.cli.top.view import view
from headrace.live import answering
from headrace.observe.decisions import WORKERS, Decision
from headrace.observe.iterators import ITERATORS
from headrace.observe.tables import plain


def decode(x: int) -> int:
    if x == 3:
        raise ValueError("truncated JPEG")
    return x


@pytest.fixture
def process() -> dict[str, Any]:
    """What this process tells of a pipeline with all that there is to show."""
    ds = hr.Dataset.range(1000).shuffle(50, seed=1).map(decode, num_parallel_calls=2, on_error="skip").batch(4)
    with iter(ds.prefetch(2)) as iterator:
        for _ in range(30):
            next(iterator)
        assert iterator in ITERATORS.begun
        told: dict[str, Any] = json.loads(answering.answered(b'{"ask":"runs"}'))
    told["runs"] = [run for run in told["runs"] if "decode" in str(run["plan"])]
    (run,) = told["runs"]
    run["bottleneck"], run["verdict"] = 2, "map 'decode' takes most"
    run["stalls"] = [{"stage": "map 'decode'", "origin": "element 7", "held_s": 3.0, "thread": "headrace-worker-1"}]
    return told


def printed(processes: list[dict[str, Any]], width: int) -> list[str]:
    output = io.StringIO()
    Console(file=output, width=width, force_terminal=False).print(view(processes))
    return output.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 140])
def test_each_stage_has_a_line_and_the_one_that_holds_all_up_is_lit(width: int, process: dict[str, Any]) -> None:
    lines = printed([process], width)
    assert all(len(line) <= width for line in lines)
    lit = [line for line in lines if line.startswith("▶")]
    assert len(lit) == 1
    assert "map 'decode'" in lit[0]
    for name in ("range", "shuffle", "batch", "prefetch"):
        assert any(line.startswith(f"  {name}") for line in lines)
    text = " ".join(" ".join(lines).split())
    assert f"pid {process['pid']}" in text
    assert "map 'decode' takes most" in text
    assert "1 skipped; the first: element 3 ValueError: truncated JPEG" in text
    assert "has held element 7 for 3.00 s, in headrace-worker-1" in text


def test_a_wide_screen_has_more_figures_than_a_narrow_one(process: dict[str, Any]) -> None:
    heads = [next(line for line in printed([process], width) if "per s" in line).split() for width in (60, 80, 140)]
    assert len(heads[0]) < len(heads[1]) < len(heads[2])
    assert {"held", "p50", "input"} <= set(heads[1])
    assert {"p99", "cpu", "elements"} <= set(heads[2])


def test_ranks_are_named_and_a_process_that_does_not_answer_says_so(process: dict[str, Any]) -> None:
    silent = {"pid": 77, "program": "", "runs": [], "error": "it does not answer"}
    text = "\n".join(printed([process | {"rank": 1, "world_size": 4}, silent, process | {"runs": []}], 100))
    assert "rank 1 of 4" in text
    assert "pid 77\n  it does not answer" in text
    assert "between two runs" in text


def test_what_was_decided_is_told(process: dict[str, Any]) -> None:
    process["runs"][0]["stats"]["decisions"] = [plain(Decision("map 'decode'", 1.5, WORKERS, 1, 2, "more calls pay"))]
    assert any("1.500 s  map 'decode': workers 1 → 2: more calls pay" in line for line in printed([process], 100))


def test_names_from_elsewhere_give_a_terminal_no_commands(process: dict[str, Any]) -> None:
    process["program"] = "train\x1b[2J.py"
    process["runs"][0]["stats"]["failures"][0]["first"][0]["message"] = "bad\x1b]0;title\x07[red]x[/red]"
    text = "\n".join(printed([process], 200))
    assert "\x1b" not in text
    assert "[red]x[/red]" in text


def test_once_prints_what_runs_and_json_has_all_of_it(
    process: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "running", lambda: [process])
    assert main(["top", "--once"]) == 0
    assert "map 'decode'" in capsys.readouterr().out
    assert main(["top", "--json", str(process["pid"])]) == 0
    assert json.loads(capsys.readouterr().out) == [process]


def test_where_nothing_runs_it_says_what_would_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "running", list)
    monkeypatch.setattr(command, "_PATIENCE_S", 0)
    assert main(["top", "--once"]) == 1
    assert "no pipeline of yours is running" in capsys.readouterr().err
    assert main(["top", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
