"""Shares over time as a picture that is as wide as its page: lines of steps, on one axis of seconds and one of per cent.

The lines are an SVG that is stretched, with lines that are not; what is text stands beside it, so that it is stretched neither.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

import numpy as np

from headrace.frozen import frozen

__all__ = ["Line", "Window", "stairs", "windowed"]

# A step by itself is noise; so many windows are as fine as the picture shows.
_WINDOWS: Final = 60
# About so many numbers stand on the axis of time.
_TICKS: Final = 5


@frozen
class Window:
    """Some steps, one after another.

    Attributes:
        ended_s: when the last of them ended, in seconds since the first began.
        wait_share: the part of their time that they waited, from 0 to 1.
    """

    ended_s: float
    wait_share: float


def windowed(waits_s: Sequence[float], totals_s: Sequence[float], ended_s: Sequence[float]) -> tuple[Window, ...]:
    """Returns windows of equal numbers of steps.

    Args:
        waits_s: how long each step waited.
        totals_s: how long it took, waiting included.
        ended_s: when it ended.

    Example:
        >>> windowed([1.0, 0.0], [2.0, 2.0], [2.0, 4.0])
        (Window(ended_s=2.0, wait_share=0.5), Window(ended_s=4.0, wait_share=0.0))
    """
    edges = np.unique(np.linspace(0, len(totals_s), min(len(totals_s), _WINDOWS) + 1).astype(int)).tolist()
    windows = list(itertools.pairwise(edges))
    shares = [sum(waits_s[start:end]) / (sum(totals_s[start:end]) or 1.0) for start, end in windows]
    return tuple(Window(ended_s[end - 1], share) for (_, end), share in zip(windows, shares, strict=True))


@frozen
class Line:
    """A line of the picture.

    Attributes:
        windows: what it shows.
        style: of its colour.
    """

    windows: Sequence[Window]
    style: str = ""


def stairs(lines: Iterable[Line], axis: str) -> str:
    """Returns the picture; each line ends, with a dot, where its windows do.

    Args:
        lines: at least one, each with a window.
        axis: what the seconds are counted from, as text.
    """
    shown = list(lines)
    longest_s = max(line.windows[-1].ended_s for line in shown) or 1.0
    # Stairs, not a slope from point to point: a buffer that fills for a while is a block of waiting, not a tooth.
    drawn = "".join(_path(line, longest_s) for line in shown)
    grid = "".join(f'<path class="grid" d="M0 {height}H100"/>' for height in range(0, 101, 25))
    shares = "".join(f"<span>{share} %</span>" for share in range(100, -1, -25))
    seconds = "".join(f'<span style="left:{tick / longest_s:.2%}">{text}</span>' for tick, text in _ticks(longest_s))
    return (
        f'<div class="plot"><div class="y">{shares}</div>'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none">{grid}{drawn}</svg>'
        f'<div class="x">{seconds}</div><p class="axis">{escape(axis)}</p></div>'
    )


def _path(line: Line, longest_s: float) -> str:
    points = "".join(
        f"V{100 - 100 * window.wait_share:.2f}H{100 * window.ended_s / longest_s:.2f}" for window in line.windows
    )
    first, last = (100 - 100 * window.wait_share for window in (line.windows[0], line.windows[-1]))
    end = 100 * line.windows[-1].ended_s / longest_s
    # A line of no length with round ends is a dot, whatever the picture is stretched to.
    return (
        f'<path class="line" {line.style} d="M0 {first:.2f}{points}"/>'
        f'<path class="dot" {line.style} d="M{end:.2f} {last:.2f}h0"/>'
    )


def _ticks(longest_s: float) -> list[tuple[float, str]]:
    """Returns round numbers from zero on, with how they are written."""
    rough = longest_s / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(number * step, f"{number * step:,.{digits}f}") for number in range(int(longest_s / step + 1e-9) + 1)]
