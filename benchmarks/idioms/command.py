"""The command line of the idioms.

python benchmarks/idioms                                    everything; the page is written by `make bench`
python benchmarks/idioms --quick                            a look
python benchmarks/idioms --only flat_map --no-peers --quick a row in seconds
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from idioms.case import Case
from idioms.cases import CASES
from idioms.record import write_record
from idioms.rounds import Measured, Settings, run_rounds
from idioms.sides import BESIDE_OURS, OURS, PEERS, PLAIN, SIDES
from idioms.standing import Standing
from idioms.table import BOUND_HEADINGS, VARIANT_HEADINGS, bound_rows, failures, headline, terminal_table, variant_rows
from machine import describe_machine
from pace import Pace

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Measure programs as people write them.")
    parser.add_argument(
        "--only", help="which cases: parts of their names, or of their programs, with commas between (default: all)"
    )
    parser.add_argument("--no-peers", action="store_true", help="headrace and the plain loop alone")
    parser.add_argument("--no-variants", action="store_true", help="without what prefetch and AUTOTUNE change")
    parser.add_argument("--rounds", type=int, help="how many rounds (default: 5; quick: 3)")
    parser.add_argument("--quick", action="store_true", help="short epochs: figures to look at, not to quote")
    parser.add_argument(
        "--cpu", action="store_true", help="the processor's time of all threads, for a machine that others use, too"
    )
    parser.add_argument("--json", type=Path, help="where each round's figure is written (default: nowhere)")
    parser.add_argument(
        "--list", action="store_true", help="the names of the cases and their programs, and nothing else"
    )
    return parser.parse_args(arguments)


def chosen_cases(only: str | None) -> list[Case]:
    """The cases whose names have one of these parts; where there is none, those whose programs have."""
    parts = only.split(",") if only else [""]
    named = [case for case in CASES if any(part in case.name for part in parts)]
    found = named or [case for case in CASES if any(part in case.written for part in parts)]
    if not found:
        sys.exit(f"no case is called {only}. See --list.")
    return found


def chosen_settings(*, quick: bool, rounds: int | None = None, cpu: bool = False) -> Settings:
    """How much to measure, of all sides."""
    return Settings(
        sides=SIDES,
        rounds=rounds or (3 if quick else 5),
        budget_s=0.02 if quick else 0.05,
        clock="cpu" if cpu else "wall",
    )


def _chosen_sides(options: argparse.Namespace) -> Sequence[str]:
    sides: Iterable[str] = (PLAIN, OURS)
    if not options.no_variants:
        sides = (*sides, *BESIDE_OURS)
    if not options.no_peers:
        sides = (*sides, *PEERS)
    return tuple(sides)


def measured(cases: Sequence[Case], settings: Settings, console: Console, pace: Pace) -> list[Standing]:
    """Measure the cases, and say a line after each."""
    started_s = time.perf_counter()

    def report(one: Measured) -> None:
        figures = ", ".join(f"{side} {ns:,.0f}" for side in settings.sides if (ns := one.ns(side)) is not None)
        console.print(f"idioms {one.case.name}: {figures} ns", highlight=False, markup=False, soft_wrap=True)

    found = [Standing(one) for one in run_rounds(cases, settings, report, pace)]
    console.print(f"idioms: {len(found)} cases in {time.perf_counter() - started_s:.0f} s", highlight=False)
    return found


def show(standings: list[Standing], console: Console) -> None:
    """Print the tables and what they say."""
    console.print(terminal_table(BOUND_HEADINGS, bound_rows(standings)))
    if changed := variant_rows(standings):
        console.print(terminal_table(VARIANT_HEADINGS, changed))
    for line in (headline(standings), *failures(standings)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def has_failed(standings: Sequence[Standing]) -> bool:
    """Whether headrace has no figure for a program as it is written."""
    return any(OURS in one.measured.failures for one in standings)


def main() -> None:
    """Measure and show; exit with 1 if headrace itself failed."""
    options = parse()
    cases = chosen_cases(options.only)
    console = Console(width=None if sys.stdout.isatty() else 160)
    if options.list:
        for case in cases:
            console.print(f"{case.name:32} {case.written}", highlight=False, markup=False, soft_wrap=True)
        return
    sys.path.insert(0, str(SOURCE))  # the headrace of this checkout, installed or not
    settings = chosen_settings(quick=options.quick, rounds=options.rounds, cpu=options.cpu)
    settings = Settings(
        sides=_chosen_sides(options), rounds=settings.rounds, budget_s=settings.budget_s, clock=settings.clock
    )
    machine = describe_machine()
    standings = measured(cases, settings, console, machine.pace)
    show(standings, console)
    if options.json is not None:
        write_record(options.json, machine, settings, standings)
    sys.exit(has_failed(standings))
