"""The two tables as text: cases beside their bounds, and with what can be added to them."""

from __future__ import annotations

from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from idioms.rounds import is_failure
from idioms.sides import VARIANTS
from idioms.standing import NOT_SLOWER, Standing, slowed_most_first, worst_first

Cells = tuple[str, ...]
BOUND_HEADINGS: Final = (
    "",
    "program",
    "a figure is for",
    "ns",
    "× plain",
    "× tf.data",
    "× torch",
    "of bound",
    "within",
)
VARIANT_HEADINGS: Final = ("", "program", "again", "prefetch(1)", "prefetch(2)", "AUTOTUNE", "within")


def ns_text(ns: float | None) -> str:
    """Nanoseconds for people."""
    return "failed" if ns is None else f"{ns:,.0f}" if ns >= 100 else f"{ns:.1f}"


def ratio_text(ratio: float | None) -> str:
    """A ratio for people; nothing where there is none."""
    if ratio is None:
        return ""
    return (
        f"{ratio:,.0f}"
        if ratio >= 100
        else f"{ratio:.1f}"
        if ratio >= 10
        else f"{ratio:.2f}"
        if ratio >= 0.1
        else f"{ratio:.2g}"
    )


def bound_cells(standing: Standing) -> Cells:
    """A case beside its bound."""
    case, share = standing.measured.case, standing.of_bound
    return (
        case.name,
        case.written,
        case.unit.value,
        ns_text(standing.ns),
        ratio_text(standing.times_plain),
        ratio_text(standing.times_tfdata),
        ratio_text(standing.times_torch),
        ratio_text(share),
        "yes" if share is not None and share <= 1 else "no",
    )


def variant_cells(standing: Standing) -> Cells:
    """A case with what can be added to it, as parts of its speed without."""
    case, worst = standing.measured.case, standing.worst_variant
    found = [ratio_text(standing.with_variant(variant)) for variant in VARIANTS]
    again = ratio_text(standing.again)
    return (case.name, case.written, again, *found, "yes" if worst is not None and worst >= NOT_SLOWER else "no")


def bound_rows(standings: list[Standing]) -> list[Cells]:
    """The first table's rows."""
    return [bound_cells(one) for one in worst_first(standings)]


def variant_rows(standings: list[Standing]) -> list[Cells]:
    """The second table's rows."""
    return [variant_cells(one) for one in slowed_most_first(standings)]


def failures(standings: list[Standing]) -> list[str]:
    """Why sides that have a program have no figure, a line each."""
    return [
        f"{one.measured.case.name}, {side}: {reason}"
        for one in standings
        for side, reason in one.measured.failures.items()
        if is_failure(reason)
    ]


def headline(standings: list[Standing]) -> str:
    """What the figures say, in a sentence or two."""
    within = sum(1 for one in standings if one.of_bound is not None and one.of_bound <= 1)
    said = f"{within} of {len(standings)} programs are within their bound."
    if changed := slowed_most_first(standings):
        kept = sum(1 for one in changed if (one.worst_variant or 0.0) >= NOT_SLOWER)
        noisy = sum(1 for one in changed if (one.again or 0.0) < NOT_SLOWER)
        said += f" {kept} of {len(changed)} keep {NOT_SLOWER} of their speed whatever is added; with nothing added, {noisy} seem not to."
    return said


def terminal_table(headings: Cells, rows: list[Cells]) -> Table:
    """A table for the terminal without the programs, which are long; what is out of its bound in red."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown = [place for place, heading in enumerate(headings) if heading != "program"]
    for place in shown:
        is_text = headings[place] in {"", "a figure is for"}
        table.add_column(headings[place], justify="left" if is_text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(row[place]) for place in shown), style="red" if row[-1] == "no" else "")
    return table
