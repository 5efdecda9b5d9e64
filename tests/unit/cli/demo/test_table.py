from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console
from tests.unit.cli.demo.recorded import NAIVE, PARALLEL, RUNS

from headrace.cli.demo.summary import compare
from headrace.cli.demo.table import conclusion, print_table, same_losses_line

COMPARISON = compare(RUNS, same_losses=("sequential", "parallel"))

PRINTED = """\
                   last     median        p95      time    whole
 way        steps  batch  per step   per step  waiting     time  speed-up
 naive      10     3      40.00 ms   40.00 ms  75%       0.40 s  1.00×
 sequential 10     3      20.00 ms   20.00 ms  50%       0.20 s  2.00×
 parallel   10     3      10.00 ms   10.00 ms  0%        0.10 s  4.00×
"""


def printed(width: int) -> str:
    output = io.StringIO()
    print_table(COMPARISON, Console(file=output, width=width))
    return output.getvalue()


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip(" ─")]


def test_the_table_holds_what_a_person_wants_to_know() -> None:
    assert words(printed(80))[:5] == words(PRINTED)


def test_the_table_fits_into_eighty_columns() -> None:
    assert all(len(line.rstrip()) <= 80 for line in printed(80).splitlines()[:6])
    assert "…" not in printed(80)


def test_two_sentences_say_what_it_shows() -> None:
    *_, reason, same = printed(80).splitlines()
    assert (
        reason == "parallel is 4.00× as fast as naive: its steps waited 0% of their time for data, those of naive 75%."
    )
    assert same == "identical losses: sequential and parallel gave the very same 10 losses."


def test_a_way_that_is_not_faster_is_not_praised() -> None:
    slower = compare([NAIVE, replace(PARALLEL, whole_s=5.0)], same_losses=())
    assert conclusion(slower) == "No way was faster than naive this time."
    assert same_losses_line(slower) == ""
