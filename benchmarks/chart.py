"""The chart of one work: a bar a library, and the limit as a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from contest import Program
from standing import OURS, Standing
from table import rate_text

OURS_COLOUR: Final = "#0f766e"
PEER_COLOUR: Final = "#94a3b8"
TEXT_COLOUR: Final = "#1e293b"
NAMES: Final = {"tensorflow-cpu": "tf.data", "torch": "torch DataLoader", "grain": "Grain", "spdl": "SPDL"}


def bars(standing: Standing) -> list[tuple[str, str, float, float]]:
    """For each library its name, what it is called, and its best rates: element by element, and batched by hand."""
    libraries = dict.fromkeys(row.candidate.library for row in standing.rows if row.rate and not row.is_limit)
    return [
        (
            library,
            NAMES.get(library, library),
            _best(standing, library, Program.ELEMENTS),
            _best(standing, library, Program.BATCHES),
        )
        for library in libraries
    ]


def _best(standing: Standing, library: str, program: Program) -> float:
    rates = [
        row.rate or 0.0
        for row in standing.rows
        if row.candidate.library == library and row.candidate.program is program
    ]
    return max(rates, default=0.0)


def draw_chart(standing: Standing, path: Path) -> None:
    """Write the chart as SVG: solid what a library does element by element, pale what it does batched by hand."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # Text stays text, and the same figures give the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "headrace", "font.family": "sans-serif"}):
        drawn = bars(standing)
        figure = Figure(figsize=(8.0, 1.3 + 0.42 * len(drawn)), layout="constrained")
        axes = figure.subplots()
        _draw_bars(axes, drawn)
        _draw_limit(axes, standing)
        _label(axes, standing, [name for _, name, _, _ in drawn])
        figure.savefig(path, metadata={"Date": None})
    # Matplotlib ends some lines with blanks, which every check for such would find.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def _draw_bars(axes: Any, drawn: list[tuple[str, str, float, float]]) -> None:
    for place, (library, _, elements, batches) in enumerate(drawn):
        colour = OURS_COLOUR if library == OURS else PEER_COLOUR
        best = max(elements, batches)
        axes.barh(place, best, height=0.62, color=colour, alpha=0.4, linewidth=0)
        axes.barh(place, elements, height=0.62, color=colour, linewidth=0)
        axes.annotate(
            rate_text(best),
            (best, place),
            (4, 0),
            textcoords="offset points",
            va="center",
            color=TEXT_COLOUR,
            bbox={"facecolor": "white", "linewidth": 0, "pad": 1},  # legible on the line of a limit that is near
        )


def _draw_limit(axes: Any, standing: Standing) -> None:
    limit = standing.limit
    if limit is None or limit.rate is None:
        return
    axes.axvline(limit.rate, color=TEXT_COLOUR, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.annotate(
        f"limit {rate_text(limit.rate)} ",
        (limit.rate, 1.0),
        xycoords=("data", "axes fraction"),
        ha="right",
        va="bottom",
        color=TEXT_COLOUR,
        fontsize="small",
    )


def _label(axes: Any, standing: Standing, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names, color=TEXT_COLOUR)
    axes.invert_yaxis()  # the fastest on top
    axes.set_xlabel("examples a second · solid: element by element, pale: batched by hand", color=TEXT_COLOUR)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.margins(x=0.16)  # room for the figures beside the bars
    axes.set_xlim(left=0)
    axes.set_title(standing.work.name, loc="left", fontweight="bold", color=TEXT_COLOUR)
    axes.tick_params(length=0, colors=TEXT_COLOUR)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
