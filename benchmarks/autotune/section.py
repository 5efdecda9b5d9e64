"""What a run of this work says: in the terminal, and as its section in docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from autotune.rounds import Measured, Times
from machine import Machine, versions_of
from page import measured_on, table_line

HEADINGS: Final = ("shape", "AUTOTUNE", "best by hand", "ratio", "tf.data AUTOTUNE", "best setting", "what it is")


def rows(found: Sequence[Measured]) -> list[tuple[str, ...]]:
    """The cells of the table: steps a second, and what they are of the best setting."""
    return [
        (
            one.shape.name,
            f"{one.tuned:,.0f}",
            f"{one.by_hand[one.best]:,.0f}",
            f"{one.ratio:.2f}",
            "" if one.peer is None else f"{one.peer:,.0f}",
            str(one.best),
            one.shape.how,
        )
        for one in found
    ]


def section(machine: Machine, times: Times, found: Sequence[Measured]) -> str:
    """The section's text."""
    return "\n".join(_lines(machine, times, found))


def _lines(machine: Machine, times: Times, found: Sequence[Measured]) -> Iterator[str]:
    yield "### autotune"
    yield ""
    yield (
        "Steps a second with `AUTOTUNE` everywhere, which begins with one call at once, as they are "
        f"{times.finding_s:.0f} s after the start; beside the best of some settings by hand, and the same in tf.data. *ratio* is what part "
        "of the best setting's rate AUTOTUNE reaches."
    )
    yield ""
    yield table_line(HEADINGS)
    yield table_line(["---", *["---:"] * 4, "---", "---"])
    yield from map(table_line, rows(found))
    yield ""
    yield from measured_on(machine, times.turns, versions_of(("headrace", "numpy", "tensorflow-cpu")))
