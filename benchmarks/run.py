"""headrace beside its peers, in one run: a table in the terminal, a JSON file, and figures in docs/benchmarks.md.

    python benchmarks/run.py                                 everything, and the page
    python benchmarks/run.py --quick                         a look: one short round
    python benchmarks/run.py --works csv --only headrace,torch

The page is written by a whole run alone: a part of the figures beside older ones would compare different days.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console

from contest import Candidate, Work
from idioms.cases import CASES
from idioms.command import chosen_settings as idioms_settings
from idioms.command import has_failed
from idioms.command import measured as measured_idioms
from idioms.command import show as show_idioms
from idioms.record import write_record as write_idioms_record
from idioms.section import section as idioms_section
from machine import Machine, describe_machine, versions_of
from measure import find_work
from pace import Pace
from page import around_figures, put_sections, write_page
from ranks.command import measured as measured_ranks
from ranks.command import states_of
from ranks.command import write_record as write_ranks_record
from ranks.jobs import JOBS
from ranks.section import section as ranks_section
from record import write_record
from rounds import Settings, run_rounds
from standing import OURS, Standing
from table import terminal_table

IDIOMS = "idioms"  # many small programs, measured in a way of their own
RANKS = "ranks"  # what dealing costs, which has no peers
WORKS = (
    "arrays_10mb",
    "arrays_1mb",
    "arrays_batched",
    "augmented",
    "csv",
    IDIOMS,
    "jpeg",
    "memory",
    "overhead",
    "overlap",
    "parquet",
    RANKS,
    "tfrecord",
    "tokens",
    "trainer",
    "wav",
)
Candidates: TypeAlias = list[tuple[Work[Any], list[Candidate[Any]]]]
ROOT = Path(__file__).resolve().parent.parent


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Measure headrace beside its peers.")
    parser.add_argument(
        "--works", default=",".join(WORKS), help="which works, with commas between (default: %(default)s)"
    )
    parser.add_argument(
        "--only", help="which candidates: libraries or single names, as headrace,torch_2 (default: all)"
    )
    parser.add_argument("--rounds", type=int, help="rounds beside the first, which warms up (default: 5; quick: 1)")
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the time and one round: figures to look at, not to quote"
    )
    parser.add_argument(
        "--data", type=Path, help="where the works' files are made and kept (default: a temporary folder)"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "benchmarks.json", help="where the record goes")
    parser.add_argument(
        "--page", type=Path, help="the page to write (default: docs/benchmarks.md after a run of whole works)"
    )
    return parser.parse_args(arguments)


def chosen_works(names: str) -> list[Work[Any]]:
    """The works of these names, without those that are measured in ways of their own."""
    wanted = names.split(",")
    if unknown := set(wanted) - set(WORKS):
        sys.exit(f"no such work: {', '.join(sorted(unknown))}. There are {', '.join(WORKS)}.")
    return [find_work(name) for name in wanted if name not in (IDIOMS, RANKS)]


def chosen_candidates(works: Sequence[Work[Any]], only: str | None) -> Candidates:
    """The candidates of each work that `only` names, by themselves or by family (torch: torch_0, torch_2 and so on)."""
    names = dict.fromkeys(one.name for work in works for one in work.candidates)
    wanted = list(names) if only is None else only.split(",")
    if unknown := [word for word in wanted if not any(_is_of(name, word) for name in names)]:
        sys.exit(f"no such candidate: {', '.join(unknown)}. There are {', '.join(names)}.")
    return [
        (work, [one for one in work.candidates if any(_is_of(one.name, word) for word in wanted)]) for work in works
    ]


def _is_of(name: str, word: str) -> bool:
    return name == word or name.startswith(f"{word}_")


def chosen_settings(options: argparse.Namespace, folder: Path) -> Settings:
    """How much to measure."""
    rounds = options.rounds if options.rounds is not None else (1 if options.quick else 5)
    if rounds < 1:
        sys.exit(f"--rounds {rounds}: at least one round must be measured.")
    return Settings(rounds=rounds, budget_s=0.3 if options.quick else 1.5, folder=folder)


def page_to_write(options: argparse.Namespace) -> Path | None:
    """The page that was asked for, or the project's own after a run of whole works; found fit before anything is measured."""
    is_whole = not options.quick and options.only is None
    page: Path | None = options.page or (ROOT / "docs" / "benchmarks.md" if is_whole else None)
    if page is not None:
        try:
            around_figures(page)
        except (OSError, ValueError) as error:
            sys.exit(f"{error}")
    return page


def measured(candidates: Candidates, settings: Settings, console: Console, pace: Pace) -> list[Standing]:
    """Run all rounds of all works."""
    report = partial(console.print, highlight=False, markup=False)
    return [Standing.of(work, run_rounds(work, chosen, settings, report, pace)) for work, chosen in candidates]


def show(standings: Sequence[Standing], console: Console) -> None:
    """Print the tables and what they say."""
    for standing in standings:
        console.print()
        console.print(terminal_table(standing))
        for line in (*standing.headline(), *standing.failures()):
            console.print(line, highlight=False, markup=False)


def measure_idioms(options: argparse.Namespace, console: Console, machine: Machine, page: Path | None) -> bool:
    """Measure the idioms, show them and write their section; whether headrace failed in one of them."""
    settings = idioms_settings(quick=options.quick, rounds=options.rounds)
    machine = dataclasses.replace(machine, pace=Pace())
    found = measured_idioms(CASES, settings, console, machine.pace)
    show_idioms(found, console)
    write_idioms_record(options.json.with_name("idioms.json"), machine, settings, found)
    if page is not None:
        put_sections(page, {IDIOMS: idioms_section(machine, settings, found)})
    return has_failed(found)


def measure_ranks(
    options: argparse.Namespace, folder: Path, console: Console, machine: Machine, page: Path | None
) -> None:
    """Measure what dealing costs, show it and write its section."""
    rounds = options.rounds or (2 if options.quick else 5)
    found, states = measured_ranks(JOBS, rounds, folder, console), states_of(folder, console)
    write_ranks_record(options.json.with_name("ranks.json"), found, states)
    if page is not None:
        put_sections(page, {RANKS: ranks_section(machine, rounds, found, states)})


def main() -> None:
    """Measure, show, record; exit with 1 if headrace itself failed."""
    options, console = parse(), Console(width=None if sys.stdout.isatty() else 120)
    sys.path.append(str(ROOT / "src"))  # the headrace of this checkout, installed or not
    candidates = chosen_candidates(chosen_works(options.works), options.only)
    page = page_to_write(options)
    machine = describe_machine()
    if machine.is_busy:
        console.print(
            f"The machine is busy (load {machine.load:.1f}): the figures will be provisional.", style="yellow"
        )
    with tempfile.TemporaryDirectory(prefix="headrace-benchmarks-") as temporary:
        settings = chosen_settings(options, options.data or Path(temporary))
        standings = measured(candidates, settings, console, machine.pace)
        if RANKS in options.works.split(",") and options.only is None:
            measure_ranks(options, settings.folder, console, machine, page)
    show(standings, console)
    rows = [row for standing in standings for row in standing.rows]
    versions = versions_of(row.candidate.library for row in rows)
    write_record(options.json, machine, versions, settings, standings)
    console.print(f"\nrecord: {options.json}", highlight=False)
    if page is not None:
        write_page(page, machine, versions, settings, standings)
    failed = any(row.failure is not None for row in rows if row.candidate.library == OURS)
    if IDIOMS in options.works.split(",") and options.only is None:
        failed |= measure_idioms(options, console, machine, page)
    if page is not None:
        console.print(f"page: {page}", highlight=False)
    sys.exit(failed)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell reports it
