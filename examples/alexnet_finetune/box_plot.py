"""The picture: how long a batch took, as boxes, sequential above parallel.

A box is the middle half of the steps with their median, whiskers reach to 1.5 times the box, and circles are the steps
beyond. The first step of a way often is one: libraries set themselves up, and buffers fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from examples.alexnet_finetune.timing import Comparison
from headrace.errors import FailedPreconditionError, InvalidArgumentError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["check_can_be_drawn", "draw"]

COLOURS = {"sequential": "#b4513a", "parallel": "#0f806f"}
INK, FAINT = "#24302f", "#d5dcda"
SUFFIXES = (".png", ".svg", ".pdf")


def check_can_be_drawn(path: Path) -> None:
    """Sees that the picture can be written, before anything is measured.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InvalidArgumentError: the name ends in nothing that can be drawn.
        FailedPreconditionError: its folder cannot be made.
    """
    try:
        import matplotlib.figure  # noqa: F401  (asked only whether it is there)
    except ModuleNotFoundError:
        raise MissingExtraError(
            "the picture needs: pip install 'headrace[report]' (or leave it out with --no-plot)"
        ) from None
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidArgumentError(f"--plot {path}: a picture's name ends in {', '.join(SUFFIXES)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FailedPreconditionError(f"--plot {path}: {error.strerror}") from error


def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draws one row of boxes for each comparison into a file.

    Args:
        comparisons: what was timed.
        path: where to; ``.png``, ``.svg`` or ``.pdf``.

    Raises:
        FailedPreconditionError: the file cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 0.35 + 1.75 * len(comparisons)), layout="constrained")
    for axes, comparison in zip(figure.subplots(len(comparisons), squeeze=False)[:, 0], comparisons, strict=True):
        _draw_one(axes, comparison)
    try:
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "alexnet"}):
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise FailedPreconditionError(f"--plot {path}: {error.strerror}") from error


def _draw_one(axes: Axes, comparison: Comparison) -> None:
    times_ms = {run.way: np.array(run.steps_s) * 1e3 for run in comparison.runs}
    edge_ms = max(map(_edge, times_ms.values()))
    for height, (way, times) in zip((0, -1), times_ms.items(), strict=True):
        _draw_box(axes, times, height, COLOURS[way])
        _draw_beyond(axes, times[times > edge_ms], edge_ms, height, COLOURS[way])
    steps = len(comparison.runs[0].steps_s)
    axes.set_title(
        f"{comparison.task}: {comparison.ratio:.2f} times as fast",
        loc="left",
        fontsize=10.5,
        color=INK,
        fontweight="bold",
    )
    axes.set_yticks([0, -1], list(times_ms))
    axes.set_ylim(-1.55, 0.55)
    axes.set_xlim(0, edge_ms)
    axes.set_xlabel(f"time per batch of {comparison.batch_size} images, ms; {steps} steps", color=INK, fontsize=9)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(length=0, colors=INK, labelsize=9.5)


def _edge(times_ms: np.ndarray) -> float:
    """How far to the right one way needs to be seen; a lone step of many times the others would press all boxes flat."""
    low, high = np.percentile(times_ms, [25, 75])
    return float(min(times_ms.max(), high + 6 * (high - low) + 0.1 * high) * 1.05)


def _draw_box(axes: Axes, times_ms: np.ndarray, height: float, colour: str) -> None:
    line = {"color": colour, "linewidth": 1.4}
    axes.boxplot(
        times_ms,
        positions=[height],
        orientation="horizontal",
        widths=0.5,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.85},
        medianprops={"color": "white", "linewidth": 2},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": "o", "markersize": 3.6, "markerfacecolor": "none", "markeredgecolor": colour},
    )


def _draw_beyond(axes: Axes, times_ms: np.ndarray, edge_ms: float, height: float, colour: str) -> None:
    if not len(times_ms):
        return
    longest = f"{times_ms.max():,.0f} ms"
    words = longest if len(times_ms) == 1 else f"{len(times_ms)} beyond, up to {longest}"
    axes.plot([edge_ms * 0.99], [height], ">", color=colour, markersize=6, clip_on=False)
    axes.text(edge_ms * 0.975, height + 0.3, words, ha="right", va="center", color=INK, fontsize=8.5)
