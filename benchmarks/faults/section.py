"""The tables of docs/reliability.md: one for each fault, a row for each contestant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from faults.contestants import CONTESTANTS
from faults.function import FAULTS
from faults.watching import Outcome
from machine import Machine, describe_machine, versions_of
from page import put_sections, table_line

BEGIN: Final = "<!-- figures: written by benchmarks/faults -->"
_HEADINGS: Final = ("", "what happens", "lost", "doubled", "left behind")


def write_page(page: Path, outcomes: Mapping[tuple[str, str], Outcome]) -> None:
    """Puts the tables into the page."""
    title = "headrace and others"
    put_sections(page, {title: "\n".join([f"### {title}", "", *_lines(outcomes, describe_machine())])}, BEGIN)


def _lines(outcomes: Mapping[tuple[str, str], Outcome], machine: Machine) -> Iterator[str]:
    contestants = dict.fromkeys(contestant for _, contestant in outcomes)
    versions = versions_of(CONTESTANTS[contestant].package for contestant in contestants)
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield f"{machine.date}, commit {machine.commit}, {machine.cores} cores; {machine.python}, {told}."
    if machine.is_busy:
        yield "\n**The machine was not quiet, so the times are provisional; the counts are not.**"
    for fault in dict.fromkeys(fault for fault, _ in outcomes):
        yield f"\n**{FAULTS[fault][0].upper()}{FAULTS[fault][1:]}**\n"
        yield table_line(_HEADINGS)
        yield table_line(["---"] * len(_HEADINGS))
        for contestant in contestants:
            yield table_line([CONTESTANTS[contestant].name, *_cells(outcomes[fault, contestant])])


def _cells(outcome: Outcome) -> list[str]:
    lost, doubled = ("", "") if outcome.lost is None else (str(outcome.lost), str(outcome.doubled))
    left = "" if outcome.left is None else outcome.left or "nothing"
    return [outcome.said, lost, doubled, left]
