"""The table at the end of a demo, and the two sentences below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from headrace.cli.demo.summary import Comparison, Summary

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["cells", "conclusion", "headings", "print_table", "same_losses_line"]


def print_table(comparison: Comparison, console: Console) -> None:
    """Print the table, and what it shows in words."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings()):
        # The first word above the others keeps the table within 80 columns.
        table.add_column(heading.replace(" ", "\n", 1), justify="right" if number else "left", no_wrap=True)
    for summary in comparison.summaries:
        table.add_row(*cells(summary))
    console.print(table)
    for line in (conclusion(comparison), same_losses_line(comparison)):
        if line:
            console.print(line, highlight=False, soft_wrap=not console.is_terminal)


def headings() -> tuple[str, ...]:
    """The columns' names, fitting ``cells``."""
    return ("way", "steps", "last batch", "median per step", "p95 per step", "time waiting", "whole time", "speed-up")


def cells(summary: Summary) -> tuple[str, ...]:
    """One line of the table, as a person reads it."""
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
    """One sentence: how much faster the fastest way was than the first, and why."""
    first = comparison.summaries[0]
    best = min(comparison.summaries, key=lambda summary: summary.whole_s)
    if best is first:
        return f"No way was faster than {first.way} this time."
    waited = f"its steps waited {best.waiting:.0%} of their time for data, those of {first.way} {first.waiting:.0%}"
    return f"{best.way} is {best.speed_up:.2f}× as fast as {first.way}: {waited}."


def same_losses_line(comparison: Comparison) -> str:
    """One sentence on the losses that are equal to the last bit, or nothing where there are none to compare."""
    if not comparison.same_losses:
        return ""
    *others, last = comparison.same_losses
    steps = next(len(run.steps) for run in comparison.runs if run.way == last)
    losses = "loss" if steps == 1 else f"{steps:,} losses"
    return f"identical losses: {', '.join(others)} and {last} gave the very same {losses}."
