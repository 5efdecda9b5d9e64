"""The table at the end of a demo, and the sentences below it.

On a terminal that is too narrow for all columns, those that say least are left out, and a line says how many. What no
terminal cuts off, a file or a pipe, gets them all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from headrace.cli.demo.summary import Comparison, Summary
from headrace.observe.tables import counted

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["cells", "conclusion", "headings", "no_number_line", "print_table", "same_losses_line", "verdict_lines"]

# What is left out of a narrow table, in this order. The last two columns that stay are the way and the speed-up.
_LEFT_OUT: Final = ("last batch", "steps", "p95 per step", "median per step", "time waiting", "whole time")
_WIDE: Final = 1_000  # columns, more than the table has


def print_table(comparison: Comparison, console: Console) -> None:
    """Prints the table, and what it shows in words."""
    tables = [_table(comparison, _LEFT_OUT[:count], console) for count in range(len(_LEFT_OUT) + 1)]
    room = console.width if console.is_terminal else _WIDE
    left_out = next((count for count, table in enumerate(tables) if _width(table, console) <= room), len(_LEFT_OUT))
    needed = _width(tables[0], console)
    if not console.is_terminal:
        console.width = max(console.width, needed)  # what COLUMNS says is of a terminal
    console.print(tables[left_out])
    lines = [
        conclusion(comparison),
        *verdict_lines(comparison),
        same_losses_line(comparison),
        no_number_line(comparison),
    ]
    if left_out:
        lines.append(f"{counted(left_out, 'more column')} on a terminal of {needed} characters' width.")
    for line in filter(None, lines):
        console.print(_readable(line, console), highlight=False, soft_wrap=not console.is_terminal)


def _table(comparison: Comparison, left_out: Sequence[str], console: Console) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    stay = [number for number, heading in enumerate(headings()) if heading not in left_out]
    for number in stay:
        # The first word above the others keeps the table within 80 columns.
        heading = headings()[number].replace(" ", "\n", 1)
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for summary in comparison.summaries:
        row = cells(summary)
        table.add_row(*(_readable(row[number], console) for number in stay))
    return table


def _width(table: Table, console: Console) -> int:
    return console.measure(table, options=console.options.update(width=_WIDE)).maximum


def _readable(text: str, console: Console) -> str:
    """Returns the text with an x for the sign of multiplication where the output's encoding has none."""
    try:
        text.encode(console.encoding)
    except UnicodeEncodeError:
        return text.replace("×", "x")
    return text


def headings() -> tuple[str, ...]:
    """Returns the columns' names, fitting ``cells``."""
    return ("way", "steps", "last batch", "median per step", "p95 per step", "time waiting", "whole time", "speed-up")


def cells(summary: Summary) -> tuple[str, ...]:
    """Returns one line of the table, as a person reads it."""
    return (
        summary.way,
        f"{summary.steps:,}",
        f"{summary.last_batch:,}",
        f"{summary.median_s * 1e3:.2f} ms",
        f"{summary.p95_s * 1e3:.2f} ms",
        f"{summary.waiting:.0%}",
        f"{summary.whole_s:.2f} s",
        f"{summary.speed_up:.2f}×",
    )


def conclusion(comparison: Comparison) -> str:
    """Returns one sentence: how much faster the fastest way was than the first, and why."""
    first = comparison.summaries[0]
    best = min(comparison.summaries, key=lambda summary: summary.whole_s)
    if best is first:
        return f"No way was faster than {first.way} this time."
    waited = f"its steps waited {best.waiting:.0%} of their time for data, those of {first.way} {first.waiting:.0%}"
    return f"{best.way} is {best.speed_up:.2f}× as fast as {first.way}: {waited}."


def verdict_lines(comparison: Comparison) -> list[str]:
    """Returns a sentence for each pipeline: why its steps wait."""
    return [f"{run.way}: {run.verdict}" for run in comparison.runs if run.verdict]


def same_losses_line(comparison: Comparison) -> str:
    """Returns one sentence on the losses that are equal to the last bit, or nothing where there are none to compare."""
    if not comparison.same_losses:
        return ""
    *others, last = comparison.same_losses
    steps = next(len(run.steps) for run in comparison.runs if run.way == last)
    losses = "loss" if steps == 1 else f"{steps:,} losses"
    return f"identical losses: {', '.join(others)} and {last} gave the very same {losses}."


def no_number_line(comparison: Comparison) -> str:
    """Returns one sentence on the first loss that is no finite number, or nothing where all are."""
    for run in comparison.runs:
        for number, step in enumerate(run.steps, start=1):
            if not math.isfinite(step.loss):
                return (
                    f"The losses of {run.way} are no numbers from step {number:,} on: look in the files for nan, inf and "
                    "numbers that are too large to train on. The times are right all the same."
                )
    return ""
