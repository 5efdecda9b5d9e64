"""The figures in docs/benchmarks.md: they stand between two marks, a section for each work, and the text around is people's.

A run writes the sections of the works that it measured. Each says when, at which commit and with which versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from chart import draw_chart
from machine import Machine
from rounds import Settings
from standing import OURS, Standing
from table import HEADINGS, cells

BEGIN: Final = "<!-- figures: written by benchmarks/run.py -->"
END: Final = "<!-- end of figures -->"


def write_page(
    page: Path, machine: Machine, versions: Mapping[str, str], settings: Settings, standings: Sequence[Standing]
) -> None:
    """Put tables and charts of works into the page; the charts lie beside it."""
    for standing in standings:
        draw_chart(standing, page.with_name(chart_name(standing)))
    put_sections(
        page,
        {standing.work.name: "\n".join(_section(standing, machine, versions, settings)) for standing in standings},
    )


def put_sections(page: Path, sections: Mapping[str, str], begin: str = BEGIN) -> None:
    """Put sections between the page's marks, in place of those of the same names."""
    before, figures, after = around_figures(page, begin)
    all_sections = {**_sections_of(figures), **sections}
    written = "\n\n".join(all_sections[name] for name in sorted(all_sections))
    page.write_text(f"{before}{begin}\n\n{written}\n\n{END}{after}")


def _sections_of(figures: str) -> dict[str, str]:
    """The sections that are there, by the name of their work."""
    parts = figures.split("\n### ")[1:]
    return {part.partition("\n")[0]: f"### {part.strip()}" for part in parts}


def around_figures(page: Path, begin: str = BEGIN) -> tuple[str, str, str]:
    """The text before the figures, they, and the text behind; raises ValueError if the page has no place for them."""
    before, found, rest = page.read_text().partition(begin)
    figures, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"{page.name} has no place for figures: it needs the lines {begin!r} and {END!r}")
    return before, figures, after


def chart_name(standing: Standing) -> str:
    """The file of a work's chart."""
    return f"benchmarks-{standing.work.name}.svg"


def _section(standing: Standing, machine: Machine, versions: Mapping[str, str], settings: Settings) -> Iterator[str]:
    yield f"### {standing.work.name}"
    yield ""
    yield f"{standing.work.title[0].upper()}{standing.work.title[1:]}. {' '.join(standing.headline())}"
    yield ""
    yield f"![Examples a second of each library in the work {standing.work.name}]({chart_name(standing)})"
    yield ""
    yield table_line((*HEADINGS, "how"))
    yield table_line(["---", "---", *["---:"] * (len(HEADINGS) - 2), "---"])
    for row in standing.rows:
        name, *others = cells(standing, row)
        shown = f"**{name}**" if row.candidate.library == OURS else name
        yield table_line((shown, *others, row.candidate.how))
    if failures := standing.failures():
        yield ""
        yield "Without a figure: " + "; ".join(failures) + "."
    libraries = dict.fromkeys(row.candidate.library for row in standing.rows)
    yield ""
    yield from measured_on(machine, settings.rounds, {one: versions[one] for one in libraries if one in versions})


def measured_on(machine: Machine, rounds: int, versions: Mapping[str, str]) -> Iterator[str]:
    """What a section ends with: when, where, at which commit and with which versions."""
    found = ", ".join(f"{library} {version}" for library, version in versions.items())
    yield (
        f"Measured on {machine.date} at commit {machine.commit}, {machine.cores} cores of {machine.cpu}, "
        f"{machine.memory_bytes / 2**30:.0f} GiB of memory, {machine.system}, {machine.python}; medians of "
        f"{rounds} rounds; {found}."
    )
    if machine.is_busy:
        yield f"**The machine was not quiet (load {machine.load:.1f}), so these figures are provisional.**"
    if machine.is_uneven:
        yield f"**The machine ran slower in {machine.pace.slow_share:.0%} of the run, so these figures are provisional.**"


def table_line(texts: Sequence[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
