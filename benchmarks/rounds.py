"""Rounds: every candidate in a fresh process, again and again in turn, so that what disturbs one round disturbs all.

House rules. One process at a time, and nothing else is done while it is timed. The first round warms the machine up
(files in the page cache, compiled modules): its times are thrown away, and in it alone memory is watched, because
watching takes time from what it watches. A candidate that fails is not tried again; its reason stands where its figures
would.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

import psutil

from contest import Candidate, Program, Work
from pace import Pace

HERE: Final = Path(__file__).resolve().parent
SAMPLE_EVERY_S: Final = (
    0.05  # short beside the second that a candidate runs, long beside the millisecond a sample takes
)
NOT_INSTALLED: Final = "not installed"
GIVE_UP_AFTER_S: Final = 300.0  # the slowest peer needs 20 s; what takes this long hangs


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much is measured."""

    rounds: int  # beside the first, which warms up
    budget_s: float  # of timed epochs in each process
    folder: Path  # the works' data


@dataclass(slots=True)
class Row:
    """All that is known about one candidate: a row of the table."""

    candidate: Candidate[Any]
    rates: list[float] = field(default_factory=list)  # examples a second, one a round
    examples: int = 0  # in an epoch
    peak_bytes: int | None = None
    failure: str | None = None

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name

    @property
    def rate(self) -> float | None:
        """Examples a second: the median of the rounds, or None where there is none."""
        return median(self.rates) if self.rates and self.failure is None else None

    @property
    def is_limit(self) -> bool:
        """Whether it is a bare kernel rather than a library."""
        return self.candidate.program is Program.LIMIT


Report: TypeAlias = Callable[[str], None]  # is told each measurement as it ends


def run_rounds(
    work: Work[Any], candidates: Sequence[Candidate[Any]], settings: Settings, report: Report, pace: Pace
) -> list[Row]:
    """Measure the candidates of one work in turn, round after round."""
    folder = settings.folder / work.name
    folder.mkdir(parents=True, exist_ok=True)
    work.make(folder)
    rows = [Row(candidate) for candidate in candidates]
    for row in rows:
        if not row.candidate.is_installed:
            row.failure = NOT_INSTALLED
            report(f"{work.name} {row.name}: {NOT_INSTALLED}")
    for number in range(settings.rounds + 1):
        # There and back: a machine that slows down steadily treats first and last alike.
        for row in rows if number % 2 == 0 else reversed(rows):
            if row.failure is None:
                pace.lap()
                _measure(work, row, settings, is_warm_up=number == 0)
                report(f"{work.name} {row.name}, {_round(number, settings)}: {_last(row)}")
    return rows


def _round(number: int, settings: Settings) -> str:
    return f"round {number} of {settings.rounds}" if number else "warm-up"


def _last(row: Row) -> str:
    if row.failure is not None:
        return f"failed: {row.failure}"
    return f"{row.rates[-1]:,.0f}/s" if row.rates else "done"


def _measure(work: Work[Any], row: Row, settings: Settings, *, is_warm_up: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        result, log = Path(scratch) / "result.json", Path(scratch) / "log"
        with log.open("w") as output:
            process = _start(work, row.candidate, settings, result, output)
            peaks = _peaks_bytes(process) if is_warm_up else None
            ended = _wait(process, peaks, row)
        _read(row, result, log, process.returncode if ended else None, is_warm_up=is_warm_up)


def _start(
    work: Work[Any], candidate: Candidate[Any], settings: Settings, result: Path, output: Any
) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / "measure.py"), work.name, candidate.name]
    command += ["--data", str(settings.folder / work.name), "--result", str(result)]
    command += ["--budget-s", str(settings.budget_s)]
    source = str(HERE.parent / "src")  # the headrace of this checkout, installed or not
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
    # A session of its own, so that the workers it leaves behind can be ended with it.
    return subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)


def _wait(process: subprocess.Popen[bytes], peaks: Iterator[int] | None, row: Row) -> bool:
    """Wait for the process, watching its memory where `peaks` says; False if it had to be ended."""
    try:
        if peaks is None:
            process.wait(GIVE_UP_AFTER_S)
            return True
        for _ in range(round(GIVE_UP_AFTER_S / SAMPLE_EVERY_S)):
            row.peak_bytes = next(peaks)
            with suppress(subprocess.TimeoutExpired):
                process.wait(SAMPLE_EVERY_S)
                return True
        return False
    except subprocess.TimeoutExpired:
        return False
    finally:
        # Also after Ctrl-C, and for the workers of a candidate that left some.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _peaks_bytes(process: subprocess.Popen[bytes]) -> Iterator[int]:
    """The most memory that the process and all below it held together so far, each time it is asked."""
    peak = 0
    root = psutil.Process(process.pid)
    while True:
        with suppress(psutil.Error):
            peak = max(peak, sum(map(_held_bytes, [root, *root.children(recursive=True)])))
        yield peak


def _held_bytes(process: psutil.Process) -> int:
    """Resident memory; where the system tells (Linux), a page that n processes share counts 1/n in each."""
    try:
        memory = process.memory_full_info()
    except psutil.Error:
        return 0  # it has just ended
    return int(getattr(memory, "pss", 0) or memory.rss)


def _read(row: Row, result: Path, log: Path, exit_code: int | None, *, is_warm_up: bool) -> None:
    if exit_code is None:
        row.failure = f"no end after {GIVE_UP_AFTER_S:.0f} s"
    elif not result.exists():
        lines = log.read_text(errors="replace").strip().splitlines()
        row.failure = f"exit code {exit_code}: {lines[-1] if lines else 'no output'}"
    else:
        outcome = json.loads(result.read_text())
        row.failure = outcome.get("failed")
        row.examples = outcome.get("examples", 0)
        if row.failure is None and not is_warm_up:
            row.rates.append(outcome["examples_per_s"])
