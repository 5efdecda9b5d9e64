"""What ``make waiting`` measures, prints and writes into pages."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from examples.waiting.__main__ import PAGES, PLACE, main, rows, written
from examples.waiting.measuring import Job, Measured, Tried, measured

DOCS = Path(__file__).parents[3]


def job(taken: list[Any]) -> Job:
    def step(inputs: Any, labels: Any) -> None:
        taken.append((inputs.tolist(), labels.tolist()))

    return Job("pairs", lambda: hr.Dataset.range(4).map(lambda x: (x, -x)).batch(2), step, 0.5)


def test_whole_epochs_are_measured_without_the_first() -> None:
    taken: list[Any] = []
    pairs = job(taken)
    found = measured(pairs, pairs.naive(), "as written first", 1e-9)
    assert taken == 2 * [([0, 1], [0, -1]), ([2, 3], [-2, -3])]
    assert found.busy == pytest.approx(found.steps_per_s / 2)


def found() -> Tried:
    profile = hr.Dataset.range(8).batch(2).profile(seconds=0.1)
    before = Measured(words="as written first", steps_per_s=10.0, busy=0.31)
    after = Measured(words=".prefetch(1)", steps_per_s=25.0, busy=0.775, promised=2.0)
    return Tried(job([]), profile, before, (after,))


def test_a_row_tells_what_was_promised_and_what_came() -> None:
    assert list(rows([found()]))[2:] == [
        "| pairs | as written first | 31% | 10.0 |  |  |",
        "|  | `.prefetch(1)` | 78% | 25.0 | 2.0 × | 2.5 × |",
    ]


def test_what_is_printed_is_written_where_pages_show_it() -> None:
    for page in PAGES:
        assert len(PLACE.findall((DOCS / page).read_text(encoding="utf-8"))) == 1
    shown = "a\n<!-- pairs: printed by make waiting -->\n\nold\n\n<!-- pairs: to here -->\nb\n<!-- written by make waiting -->\n\n|\n\n<!-- to here -->\n"
    one = found()
    assert written(shown, [one], "| new |") == shown.replace("old", f"```text\n{one.profile}\n```").replace(
        "\n|\n", "\n| new |\n"
    )
    other = dataclasses.replace(one.job, name="other")
    assert "old" in written(shown, [dataclasses.replace(one, job=other)], "|")


def test_a_job_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--jobs", "photos"])
    assert "choose from" in capsys.readouterr().err
