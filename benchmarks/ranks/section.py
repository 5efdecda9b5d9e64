"""What a run of this work says: in the terminal, and as its section in docs/benchmarks.md."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from machine import Machine, versions_of
from page import measured_on, table_line
from ranks.rounds import Measured
from ranks.states import States

HEADINGS: Final = ("plan", "`batch`, s for 10⁶", "`distributed_batch`", "speed", "what it does")


def rows(found: Sequence[Measured]) -> list[tuple[str, ...]]:
    """The cells of the table of speeds."""
    return [
        (
            one.job.name,
            f"{statistics.median(one.plain):.3g}",
            f"{statistics.median(one.dealt):.3g}",
            f"{one.ratio:.2f}",
            f"{one.job.how}; global batches of {one.job.batch}",
        )
        for one in found
    ]


def sentences(states: States) -> Iterator[str]:
    """The figures of states in words."""
    yield (
        f"`range(10**10).shuffle(10**10)` gives its first batch after {states.start_s * 1e3:.0f} ms; its state at element 10⁹ is loaded, and "
        f"the next batch given, in {states.load_s * 1e3:.1f} ms; the process then has {states.held_bytes / 2**20:.0f} MiB."
    )
    yield (
        f"The state of {states.streams} streams of `interleave(TFRecordDataset).shuffle(10_000).filter(f)` has {states.bytes_a_stream:,.0f} bytes a "
        f"stream and is taken in {states.taken_s * 1e3:.2f} ms; loaded, the next batch comes after {states.loaded_s * 1e3:.0f} ms."
    )


def section(machine: Machine, rounds: int, found: Sequence[Measured], states: States) -> str:
    """The section's text."""
    return "\n".join(_lines(machine, rounds, found, states))


def _lines(machine: Machine, rounds: int, found: Sequence[Measured], states: States) -> Iterator[str]:
    yield "### ranks"
    yield ""
    yield (
        "The cost of dealing: the plan of a rank that is alone, with `distributed_batch` and its default number of streams, beside the same plan "
        "with `batch`; *speed* is the part of the speed that is left."
    )
    yield ""
    yield table_line(HEADINGS)
    yield table_line(["---", "---:", "---:", "---:", "---"])
    yield from map(table_line, rows(found))
    yield ""
    yield from sentences(states)
    yield ""
    yield from measured_on(machine, rounds, versions_of(("headrace", "numpy")))
