"""Bars of the time in which a GPU computes, drawn from the table on a page: the page and its picture never differ."""

from __future__ import annotations

import re
from pathlib import Path

from docs.building.drawing import Drawing

__all__ = ["busy_bars"]

_ROW = re.compile(r"^\| (?P<job>\w*) ?\| `?(?P<words>[^|`]+)`? \| (?P<busy>\d+)% \|", re.MULTILINE)
_WIDTH, _LEFT, _RIGHT, _HEIGHT = 560, 250, 50, 26


def busy_bars(page: Path) -> str:
    """A bar for each form of each job's input: solid where the GPU computes, hatched where it waits."""
    rows = [(found["job"], found["words"], int(found["busy"])) for found in _ROW.finditer(page.read_text("utf-8"))]
    jobs = sum(bool(job) for job, _, _ in rows)
    drawing = Drawing(_WIDTH, _HEIGHT * len(rows) + 30 * jobs + 40)
    hatch = '<path class="d-hatch" d="M-2 8 L8 -2 M2 12 L12 2"/>'
    drawing.lines.append(
        f'<defs><pattern id="hr-busy" width="7" height="7" patternUnits="userSpaceOnUse">{hatch}</pattern></defs>'
    )
    y, width = 4, _WIDTH - _LEFT - _RIGHT
    for job, words, busy in rows:
        if job:
            y += 30
            drawing.text(10, y - 8, job, "d-bold")
        drawing.text(_LEFT - 10, y + 15, words.partition(" for map")[0], "d-end d-small")
        _bar(drawing, _LEFT, y, width * busy / 100, width)
        drawing.text(_WIDTH - _RIGHT + 8, y + 15, f"{busy}%")
        y += _HEIGHT
    _bar(drawing, _LEFT, y + 12, 14, 14, 12)
    drawing.text(_LEFT + 20, y + 23, "the GPU computes", "d-small")
    _bar(drawing, _LEFT + 150, y + 12, 0, 14, 12)
    drawing.text(_LEFT + 170, y + 23, "it waits", "d-small")
    return drawing.svg()


def _bar(drawing: Drawing, x: float, y: float, busy: float, width: float, height: float = 20) -> None:
    drawing.lines.append(
        f'<rect class="d-work" x="{x:.1f}" y="{y}" width="{busy:.1f}" height="{height}" rx="2"/>'
        f'<rect class="d-wait" style="fill:url(#hr-busy)" x="{x + busy:.1f}" y="{y}" width="{width - busy:.1f}" '
        f'height="{height}" rx="2"/>'
    )
