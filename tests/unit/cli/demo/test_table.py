from __future__ import annotations

import io
import math
from dataclasses import replace

import pytest
from rich.console import Console
from tests.unit.cli.demo.recorded import NAIVE, PARALLEL, RUNS

from headrace.cli.demo.summary import compare
from headrace.cli.demo.table import conclusion, no_number_line, print_table, same_losses_line

COMPARISON = compare(RUNS, same_losses=("sequential", "parallel"))

PRINTED = """\
                   last     median        p95      time    whole
 way        steps  batch  per step   per step  waiting     time  speed-up
 naive      10     3      40.00 ms   40.00 ms  75%       0.40 s  1.00×
 sequential 10     3      20.00 ms   20.00 ms  50%       0.20 s  2.00×
 parallel   10     3      10.00 ms   10.00 ms  0%        0.10 s  4.00×
"""


def printed(width: int, *, terminal: bool = False) -> str:
    output = io.StringIO()
    print_table(COMPARISON, Console(file=output, width=width, force_terminal=terminal, color_system=None))
    return output.getvalue()


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip(" ─")]


def test_the_table_holds_what_a_person_wants_to_know() -> None:
    assert words(printed(80))[:5] == words(PRINTED)


def test_the_table_fits_into_eighty_columns() -> None:
    assert all(len(line.rstrip()) <= 80 for line in printed(80).splitlines()[:6])
    assert "…" not in printed(80)


@pytest.mark.parametrize("width", range(29, 100))
def test_a_narrow_terminal_shows_whole_columns_and_says_how_many_are_left_out(width: int) -> None:
    lines = printed(width, terminal=True).splitlines()
    assert "…" not in "".join(lines)
    assert all(len(line) <= width for line in lines)
    table = " ".join(lines)
    assert all(word in table for word in ("naive", "parallel", "speed-up", "4.00×"))
    assert ("more column" in table) == (width < len(printed(80).splitlines()[0]))


def test_a_pipe_gets_all_columns_whatever_the_terminal_s_width() -> None:
    assert words(printed(30))[:5] == words(PRINTED)


def test_the_table_can_be_written_in_ascii() -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_table(COMPARISON, Console(file=output, width=80))
    output.seek(0)
    text = output.read()
    assert "4.00x" in text
    assert "parallel is 4.00x as fast as naive" in text


def test_losses_that_are_no_numbers_are_told_with_the_first_step() -> None:
    steps = (*PARALLEL.steps[:3], *(replace(step, loss=math.nan) for step in PARALLEL.steps[3:]))
    broken = [NAIVE, replace(PARALLEL, steps=steps), replace(PARALLEL, way="again", steps=steps)]
    comparison = compare(broken, same_losses=("parallel", "again"))
    assert no_number_line(comparison).startswith("The losses of parallel are no numbers from step 4 on: ")
    assert comparison.same_losses == ("parallel", "again")
    assert no_number_line(COMPARISON) == ""


def test_sentences_say_what_it_shows_and_why() -> None:
    *_, reason, why, same = printed(80).splitlines()
    assert why == "sequential: Steps wait 50% of the time: list_files '/home/ada/rows/*.csv' takes 10 ms."
    assert (
        reason == "parallel is 4.00× as fast as naive: its steps waited 0% of their time for data, those of naive 75%."
    )
    assert same == "identical losses: sequential and parallel gave the very same 10 losses."


def test_a_way_that_is_not_faster_is_not_praised() -> None:
    slower = compare([NAIVE, replace(PARALLEL, whole_s=5.0)], same_losses=())
    assert conclusion(slower) == "No way was faster than naive this time."
    assert same_losses_line(slower) == ""
