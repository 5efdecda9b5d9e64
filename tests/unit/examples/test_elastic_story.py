"""What the elastic job makes of what its ranks said: which batches count, which are equal, and what the page says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from examples.elastic.page import page
from examples.elastic.saves import Merged
from examples.elastic.story import Outcome, Part, Plan
from examples.elastic.worker import Read
from headrace.page.machine import Machine

PLAN = Plan(ranks=(2, 1), steps=4, batch=4, streams=2, seed=0)
MACHINE = Machine(cpu="a", cores=2, memory_bytes=1, system="b", python="3", versions={"headrace": "0"}, device="CPU")


def rows_of(step: int, rank: int, ranks: int) -> list[bytes]:
    """A rank's rows of global batch ``step``, which has four."""
    return [f"{step}.{row}".encode() for row in range(4)][rank::ranks]


def part_of(ranks: int, steps: range, *, read: range | None = None, killed: int | None = None) -> Part:
    """What a job did that saved ``steps`` and read ``read``."""
    merged = Merged(path=Path("merged"), step=steps.start, saved_at=(steps.start,), state_bytes=1000, merge_s=0.0)
    part = Part(ranks=ranks, first=steps.start, killed=killed, merged=merged if steps.start else None)
    for step in read or steps:
        for rank in range(ranks):
            part.reads[step, rank] = Read(step=step, rows=rows_of(step, rank, ranks), mix=(5, 3, 2))
    part.losses = {step: [1.0] * ranks for step in steps}
    return part


def outcome_of(*parts: Part) -> Outcome:
    return Outcome(plan=PLAN, undisturbed=part_of(2, range(4)), parts=parts)


def test_a_batch_counts_once_and_as_the_job_read_it_that_learned_from_it() -> None:
    outcome = outcome_of(part_of(2, range(2), read=range(3), killed=1), part_of(1, range(2, 4)))
    assert [(expected == found, ranks) for expected, found, ranks in outcome.batches] == [(True, 2)] * 2 + [
        (True, 1)
    ] * 2
    assert (outcome.equal, outcome.again) == (4, 1)


@pytest.mark.parametrize("rows", [[b"another"] * 4, rows_of(3, 0, 1)[::-1], rows_of(2, 0, 1)])
def test_other_rows_another_order_and_an_earlier_batch_are_found_and_told(rows: list[bytes]) -> None:
    later = part_of(1, range(2, 4))
    later.reads[3, 0] = Read(step=3, rows=rows, mix=(1, 1, 1))
    outcome = outcome_of(part_of(2, range(2), killed=1), later)
    assert outcome.equal == 3
    written = page(outcome, "plan", [], MACHINE)
    assert "<h1>2 and 1 processes: not the same batches</h1>" in written
    assert written.count("DIFFERS") == 1
    assert "3 of 4" in written
