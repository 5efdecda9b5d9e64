"""The table of one work: its cells as text, and as a table in the terminal."""

from __future__ import annotations

from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from contest import Program
from rounds import NOT_INSTALLED, Row
from standing import OURS, Standing

HEADINGS: Final = ("", "written", "examples/s", "spread", "of limit", "headrace", "memory")
WRITTEN: Final = {
    Program.LIMIT: "kernel",
    Program.ELEMENTS: "elements",
    Program.BATCHES: "by hand",
}


def rate_text(rate: float) -> str:
    """A rate for people: small ones with a decimal."""
    return f"{rate:,.0f}" if rate >= 1_000 else f"{rate:.1f}"


def cells(standing: Standing, row: Row) -> tuple[str, ...]:
    """One row as text; a failure stands where the figures would."""
    written = WRITTEN[row.candidate.program]
    if row.rate is None:
        return (row.name, written, NOT_INSTALLED if row.failure == NOT_INSTALLED else "failed", "", "", "", "")
    share, times = standing.share_of_limit(row), standing.times_slower(row)
    return (
        row.name,
        written,
        rate_text(row.rate),
        f"{(max(row.rates) - min(row.rates)) / row.rate:.0%}" if len(row.rates) > 1 else "",
        "" if share is None else f"{share:.2g}" if share < 0.1 else f"{share:.2f}",
        "" if times is None else f"{times:.2f} ×" if times < 10 else f"{times:,.0f} ×",
        "" if row.peak_bytes is None else f"{row.peak_bytes / 2**20:,.0f} MiB",
    )


def terminal_table(standing: Standing) -> Table:
    """The table of a work for the terminal, headrace in colour."""
    title = f"{standing.work.name}: {standing.work.title}"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number < 2 else "right", no_wrap=True)
    for row in standing.rows:
        style = "bold green" if row.candidate.library == OURS else "dim" if row.is_limit else ""
        table.add_row(*cells(standing, row), style=style)
    return table
