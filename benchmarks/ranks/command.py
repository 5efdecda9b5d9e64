"""The command line of this work.

python benchmarks/ranks                         everything; the page is written by `make bench`
python benchmarks/ranks --quick --only csv      a look
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from ranks.jobs import JOBS, Job
from ranks.rounds import Measured, measured_states, run_rounds
from ranks.section import sentences
from ranks.states import States

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Measure what it costs to deal a plan to ranks.")
    parser.add_argument("--only", help="which plans, with commas between (default: all, and the states)")
    parser.add_argument("--rounds", type=int, help="rounds beside the first, which warms up (default: 5; quick: 2)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: figures to look at, not to quote")
    parser.add_argument("--data", type=Path, help="where its files are made and kept (default: a temporary folder)")
    return parser.parse_args(arguments)


def chosen_jobs(only: str | None) -> list[Job]:
    """The jobs of these names."""
    wanted = [job.name for job in JOBS] if only is None else only.split(",")
    if unknown := set(wanted) - {job.name for job in JOBS}:
        sys.exit(f"no such plan: {', '.join(sorted(unknown))}. There are {', '.join(job.name for job in JOBS)}.")
    return [job for job in JOBS if job.name in wanted]


def measured(jobs: Sequence[Job], rounds: int, folder: Path, console: Console) -> list[Measured]:
    """Measure the jobs, and say a line after each."""

    def report(one: Measured) -> None:
        console.print(f"ranks {one.job.name}: distributed_batch has {one.ratio:.2f} of batch's speed", highlight=False)

    return run_rounds(jobs, rounds, folder, report)


def states_of(folder: Path, console: Console) -> States:
    """Measure the states, and say what came of it."""
    states = measured_states(folder)
    for line in sentences(states):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return states


def write_record(path: Path, found: Sequence[Measured], states: States) -> None:
    """Write a run to a file, as JSON."""
    jobs = {one.job.name: {"plain_s": one.plain, "dealt_s": one.dealt, "ratio": one.ratio} for one in found}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"format": 1, "jobs": jobs, "states": asdict(states)}, indent=2) + "\n")


def main() -> None:
    """Measure and show."""
    options, console = parse(), Console(width=None if sys.stdout.isatty() else 160)
    sys.path.append(str(SOURCE))  # the headrace of this checkout, installed or not
    with tempfile.TemporaryDirectory(prefix="headrace-benchmarks-") as temporary:
        folder = options.data or Path(temporary)
        measured(chosen_jobs(options.only), options.rounds or (2 if options.quick else 5), folder, console)
        if options.only is None:
            states_of(folder, console)
