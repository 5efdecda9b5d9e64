"""The figures in docs/benchmarks.md: what stands between two marks is written anew, the text around it is people's."""

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
    before, after = around_figures(page)
    for standing in standings:
        draw_chart(standing, page.with_name(chart_name(standing)))
    figures = "\n".join(_figures(machine, versions, settings, standings))
    page.write_text(f"{before}{BEGIN}\n\n{figures}\n{END}{after}")


def around_figures(page: Path) -> tuple[str, str]:
    """The text before and after the figures; raises ValueError if the page has no place for them."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page.name} has no place for figures: it needs the lines {BEGIN!r} and {END!r}")
    return before, after


def chart_name(standing: Standing) -> str:
    """The file of a work's chart."""
    return f"benchmarks-{standing.work.name}.svg"


def _figures(
    machine: Machine, versions: Mapping[str, str], settings: Settings, standings: Sequence[Standing]
) -> Iterator[str]:
    yield f"Measured on {machine.date} at commit {machine.commit}: {machine.cores} cores of {machine.cpu},"
    yield f"{machine.memory_bytes / 2**30:.0f} GiB of memory, {machine.system}, {machine.python}."
    yield f"Medians of {settings.rounds} rounds."
    if machine.is_busy:
        yield f"**The machine was not quiet (load {machine.load:.1f}), so these figures are provisional.**"
    yield ""
    yield "Versions: " + ", ".join(f"{library} {found}" for library, found in versions.items()) + "."
    for standing in standings:
        yield ""
        yield from _section(standing)


def _section(standing: Standing) -> Iterator[str]:
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


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
