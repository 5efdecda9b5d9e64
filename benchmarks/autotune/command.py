"""The command line of this work.

python benchmarks/autotune                       everything, and its section of docs/benchmarks.md
python benchmarks/autotune --quick --only io     a look
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from autotune.rounds import Measured, Times, measured
from autotune.section import HEADINGS, rows, section
from autotune.shapes import SHAPES, Shape
from machine import describe_machine
from page import put_sections

ROOT = Path(__file__).resolve().parent.parent.parent
# AUTOTUNE has its whole time also where the rest is short.
QUICK = Times(warming_s=0.5, turn_s=0.4, turns=3)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Measure what AUTOTUNE reaches from a bad start.")
    parser.add_argument("--only", help="which shapes, with commas between (default: all)")
    parser.add_argument("--quick", action="store_true", help="short: figures to look at, not to quote")
    parser.add_argument("--no-peer", action="store_true", help="leave tf.data out")
    parser.add_argument("--verbose", action="store_true", help="say what AUTOTUNE decided")
    parser.add_argument("--page", type=Path, help="the page to write (default: docs/benchmarks.md after a whole run)")
    return parser.parse_args(arguments)


def chosen_shapes(only: str | None) -> list[Shape]:
    """The shapes of these names."""
    wanted = [shape.name for shape in SHAPES] if only is None else only.split(",")
    if unknown := set(wanted) - {shape.name for shape in SHAPES}:
        sys.exit(f"no such shape: {', '.join(sorted(unknown))}. There are {', '.join(one.name for one in SHAPES)}.")
    return [shape for shape in SHAPES if shape.name in wanted]


def report(one: Measured, console: Console, *, verbose: bool) -> None:
    """Say what came of a shape."""
    told = dict(zip(HEADINGS, rows([one])[0], strict=True))
    console.print(" | ".join(f"{name} {told[name]}" for name in HEADINGS[:-1]), highlight=False, soft_wrap=True)
    if verbose:
        for setting, steps in one.by_hand.items():
            console.print(f"    {setting}: {steps:,.0f}", highlight=False)
        for line in one.decisions:
            console.print(f"    {line}", highlight=False, markup=False, soft_wrap=True)


def main() -> None:
    """Measure and show."""
    options, console = parse(), Console(width=None if sys.stdout.isatty() else 160)
    times = QUICK if options.quick else Times()
    machine = describe_machine()
    found = []
    for shape in chosen_shapes(options.only):
        found.append(measured(shape, times, peer=not options.no_peer))
        report(found[-1], console, verbose=options.verbose)
    page = options.page or (ROOT / "docs" / "benchmarks.md" if not options.quick and options.only is None else None)
    if page is not None:
        put_sections(page, {"autotune": section(machine, times, found)})
