"""A trace: every slice lies within those around it, every arrow has two ends, and the file is whole or not there."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.observe.recorder import Recorder


def traced(ds: hr.Dataset, path: Path) -> list[dict[str, Any]]:
    with hr.trace(path):
        for _ in ds:
            pass
    written = path.read_bytes()
    events: list[dict[str, Any]] = json.loads(gzip.decompress(written) if path.suffix == ".gz" else written)[
        "traceEvents"
    ]
    return events


def added(x: int) -> int:
    return x + 1


PIPELINES = {
    "serial": hr.Dataset.range(500).map(added).batch(8),
    "workers": hr.Dataset.range(500).map(added, num_parallel_calls=2).batch(8).prefetch(2),
    "processes": hr.Dataset.range(50).map(added, num_parallel_calls=2, executor="process").batch(8),
    "interleave": hr.Dataset.range(20).interleave(lambda _: hr.Dataset.range(20), num_parallel_calls=2).batch(8),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("file", ["trace.json", "trace.json.gz"])
def test_threads_have_slices_that_nest_and_arrows_with_two_ends(name: str, file: str, tmp_path: Path) -> None:
    events = traced(PIPELINES[name], tmp_path / file)
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    slices = defaultdict(list)
    arrows: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            assert event["tid"] in named
            assert event["dur"] >= 0
            slices[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] in "sf":
            arrows[event["id"]].append(event["ph"])
    for spans in slices.values():
        open_until: list[float] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= start + 1:  # a microsecond: both ends are read from the clock twice
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 1
            open_until.append(end)
    for ends in arrows.values():  # what was made and never taken, at the end, has one
        assert ends.count("s") == 1 or "f" not in ends
        assert ends.count("f") <= 1
    assert any(len(ends) == 2 for ends in arrows.values())
    told = {event["name"] for event in events if event["ph"] == "X"}
    assert {"wait", "step"} <= told
    assert any(name.startswith("batch") for name in told)


def test_no_trace_no_events(tmp_path: Path) -> None:
    assert Recorder.active is None
    with pytest.raises(ZeroDivisionError), hr.trace(tmp_path / "trace.json"):
        raise ZeroDivisionError
    assert Recorder.active is None
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]  # what happened until then is worth a look


def test_one_trace_at_a_time_and_only_where_it_can_be_written(tmp_path: Path) -> None:
    with (
        hr.trace(tmp_path / "one.json"),
        pytest.raises(hr.errors.FailedPreconditionError, match="another trace"),
        hr.trace(tmp_path / "two.json"),
    ):
        pass
    with pytest.raises(FileNotFoundError, match="there is no folder"), hr.trace(tmp_path / "none" / "trace.json"):
        pass
    assert Recorder.active is None
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]


def test_the_latest_events_are_kept() -> None:
    recorder = Recorder(most=10)
    for number in range(25):
        recorder.did("work", number, number + 1)
    assert recorder.dropped == 15
    assert [event["ts"] for event in recorder.events() if event["ph"] == "X"] == [
        number * 1e6 for number in range(15, 25)
    ]
