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
    """Put tables and charts into the page, between its marks; the charts lie beside it."""
    before, figures, after = around_figures(page)
    sections = _sections_of(figures)
    for standing in standings:
        draw_chart(standing, page.with_name(chart_name(standing)))
        sections[standing.work.name] = "\n".join(_section(standing, machine, versions, settings))
    written = "\n\n".join(sections[name] for name in sorted(sections))
    page.write_text(f"{before}{BEGIN}\n\n{written}\n\n{END}{after}")


def _sections_of(figures: str) -> dict[str, str]:
    """The sections that are there, by the name of their work."""
    parts = figures.split("\n### ")[1:]
    return {part.partition("\n")[0]: f"### {part.strip()}" for part in parts}


def around_figures(page: Path) -> tuple[str, str, str]:
    """The text before the figures, they, and the text behind; raises ValueError if the page has no place for them."""
    before, begin, rest = page.read_text().partition(BEGIN)
    figures, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page.name} has no place for figures: it needs the lines {BEGIN!r} and {END!r}")
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
    yield _line((*HEADINGS, "how"))
    yield _line(["---", "---", *["---:"] * (len(HEADINGS) - 2), "---"])
    for row in standing.rows:
        name, *others = cells(standing, row)
        shown = f"**{name}**" if row.candidate.library == OURS else name
        yield _line((shown, *others, row.candidate.how))
    if failures := standing.failures():
        yield ""
        yield "Without a figure: " + "; ".join(failures) + "."
    libraries = dict.fromkeys(row.candidate.library for row in standing.rows)
    found = ", ".join(f"{library} {versions[library]}" for library in libraries if library in versions)
    yield ""
    yield (
        f"Measured on {machine.date} at commit {machine.commit}, {machine.cores} cores of {machine.cpu}, "
        f"{machine.memory_bytes / 2**30:.0f} GiB of memory, {machine.system}, {machine.python}; medians of "
        f"{settings.rounds} rounds; {found}."
    )
    if machine.is_busy:
        yield f"**The machine was not quiet (load {machine.load:.1f}), so these figures are provisional.**"


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
