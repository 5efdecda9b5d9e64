"""What was timed, as a table and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from examples.alexnet_finetune.timing import Comparison

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_table"]


def print_table(comparison: Comparison, console: Console) -> None:
    """Prints a line for each way, and how many times as fast the parallel one was."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", title=comparison.task, title_justify="left")
    table.add_column("way", no_wrap=True)
    for heading in ("median\nper batch", "slowest\nbatch", "images\nper second", "time\nwaiting", "\nratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for run, ratio in zip(comparison.runs, (1.0, comparison.ratio), strict=True):
        table.add_row(
            run.way,
            f"{run.median_ms:,.0f} ms",
            f"{max(run.steps_s) * 1e3:,.0f} ms",
            f"{comparison.batch_size * len(run.steps_s) / run.whole_s:,.0f}",
            f"{run.waiting:.0%}",
            f"{ratio:.2f}×",
        )
    console.print(table)
    if comparison.same_losses:
        count = len(comparison.runs[0].losses)
        console.print(f"identical losses: both ways gave the very same {count:,}.", highlight=False)
