"""The report's picture of the time of each step, as SVG that takes its colours from the page around it.

matplotlib draws with stand-in colours; each is replaced by a CSS variable, so that one picture serves a light and a
dark page. Text stays text: it can be searched, and takes the page's font.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headrace.cli.demo.training import Run
from headrace.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIRST_STEPS", "box_plot", "check_charts_can_be_drawn", "colour_of"]

FIRST_STEPS = 200  # as many as in the article that this picture comes from

# Stand-ins: near black, so that a picture taken out of its page is still legible.
_INK, _FAINT, _PAPER = "#010101", "#020202", "#030303"
_WAY_STANDINS = ("#040404", "#050505", "#060606", "#070707", "#080808")
_VARIABLES = {_INK: "--ink", _FAINT: "--line", _PAPER: "--paper"} | {
    standin: f"--way-{number}" for number, standin in enumerate(_WAY_STANDINS)
}

_FOR_A_PAGE = (
    (r"^.*?(?=<svg)", ""),  # the prolog of a file of its own
    (r' (width|height)="[^"]*pt"', ""),  # the page decides
    (r"<style.*?</style>", ""),  # it would apply to the whole page
    (r"font-family: [^;]*;", ""),  # so that the page's is inherited
)


def check_charts_can_be_drawn() -> None:
    """Sees that matplotlib is installed, before anything is measured.

    Raises:
        MissingExtraError: it is not.
    """
    try:
        import matplotlib.figure  # noqa: F401  (asked only whether it is there)
    except ModuleNotFoundError:
        message = "the report needs: pip install 'headrace[report]' (or leave it out with --no-report)"
        raise MissingExtraError(message) from None


def colour_of(number: int, ways: int) -> int:
    """Returns which of the page's way colours belongs to a way: the first and the last way take the ends of the scale.

    Args:
        number: the way's place, from 0.
        ways: how many ways there are.

    Example:
        >>> [colour_of(number, 3) for number in range(3)]
        [0, 2, 4]
    """
    last = len(_WAY_STANDINS) - 1
    return round(number * last / (ways - 1)) % len(_WAY_STANDINS) if ways > 1 else last


def box_plot(runs: Sequence[Run]) -> str:
    """Returns the time per batch over the first steps of each way: boxes, whiskers to 1.5 times the box, and the steps beyond.

    A step that fills a buffer can take a hundred times as long as the others, and would press every box flat: what lies
    beyond the edge is a triangle there, with the longest time in words.
    """
    times_ms = [[step.total_s * 1e3 for step in run.steps[:FIRST_STEPS]] for run in runs]
    edge_ms = max(map(_edge, times_ms))
    figure, axes = _canvas(height=0.75 + 0.62 * len(runs))
    for number, times in enumerate(times_ms):
        colour = _WAY_STANDINS[colour_of(number, len(runs))]
        _one_box(axes, times, -number, colour)
        _beyond(axes, [time for time in times if time > edge_ms], edge_ms, -number, colour)
    axes.set_yticks([-number for number in range(len(runs))], [run.way for run in runs])
    axes.set_ylim(-len(runs) + 0.4, 0.6)
    axes.set_xlim(0, edge_ms)
    axes.set_xlabel("time per batch, ms")
    axes.grid(axis="x", color=_FAINT, linewidth=0.8)
    return _svg(figure, "box")


def _edge(times_ms: Sequence[float]) -> float:
    """Returns how far to the right one way's box, whisker and nearer outliers need to be seen."""
    low, high = np.percentile(times_ms, [25, 75])
    whisker = high + 1.5 * (high - low)
    # Twice the whisker leaves room for what is slow; a lone straggler just beyond is still shown.
    return float(min(max(times_ms), 2 * whisker) * 1.06)


def _beyond(axes: Axes, times_ms: Sequence[float], edge_ms: float, height: float, colour: str) -> None:
    if not times_ms:
        return
    longest = f"{max(times_ms):,.0f} ms"
    text = longest if len(times_ms) == 1 else f"{len(times_ms)} beyond, up to {longest}"
    axes.plot([edge_ms * 0.988], [height], ">", color=colour, markersize=6, clip_on=False)
    # On paper of its own: circles that lie beneath are among those it counts, or beside the point.
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(edge_ms * 0.972, height, text, ha="right", va="center", color=_INK, fontsize=9, bbox=paper)


def _one_box(axes: Axes, times_ms: Sequence[float], height: float, colour: str) -> None:
    line = {"color": colour, "linewidth": 1.4}
    axes.boxplot(
        times_ms,
        positions=[height],
        orientation="horizontal",
        widths=0.52,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.85},
        medianprops={"color": _PAPER, "linewidth": 2},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": "o", "markersize": 3.6, "markerfacecolor": "none", "markeredgecolor": colour},
    )


def _canvas(height: float) -> tuple[Figure, Axes]:
    """Returns a figure of the page's width, inches high, with one pair of axes in the report's style."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_FAINT)
    axes.tick_params(length=0, colors=_INK)
    axes.xaxis.label.set_color(_INK)
    for background in (figure.patch, axes.patch):
        background.set_alpha(0)
    return figure, axes


def _svg(figure: Figure, name: str) -> str:
    """Returns a figure as an element of a page; its name keeps its ids apart from those of other pictures."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Type", "Format")))
    svg = buffer.getvalue()
    for pattern, replacement in _FOR_A_PAGE:
        svg = re.sub(pattern, replacement, svg, flags=re.DOTALL)
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for standin, variable in _VARIABLES.items():
        svg = svg.replace(standin, f"var({variable})")
    return svg
