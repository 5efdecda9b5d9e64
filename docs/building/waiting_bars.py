"""Bars of time waiting and time training, drawn from what programs on a page print: the page and its picture never differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from docs.building.drawing import Drawing

__all__ = ["waiting_bars"]

_PRINTED = re.compile(
    r"^(?:rank 0: )?\d+ steps in (?P<seconds>[\d.]+) s(?:, |\nthe loop waited .*\()(?P<waiting>\d+)%", re.MULTILINE
)
_WIDTH = 440
_LEFT = 124


def waiting_bars(page: Path, labels: Sequence[str]) -> str:
    """A bar for each "40 steps in 4.19 s, 79% of it waiting", or the like from a feed's ``stats()``, in the order of the page."""
    runs = [
        (float(found["seconds"]), int(found["waiting"]) / 100)
        for found in _PRINTED.finditer(page.read_text(encoding="utf-8"))
    ]
    drawing = Drawing(_WIDTH, 34 * len(runs) + 44)
    hatch = '<path class="d-hatch" d="M-2 8 L8 -2 M2 12 L12 2"/>'
    drawing.lines.append(
        f'<defs><pattern id="hr-hatch" width="7" height="7" patternUnits="userSpaceOnUse">{hatch}</pattern></defs>'
    )
    scale = (_WIDTH - _LEFT - 70) / max(seconds for seconds, _ in runs)
    for number, (label, (seconds, waiting)) in enumerate(zip(labels, runs, strict=True)):
        y = 14 + 34 * number
        wait, all_of_it = seconds * waiting * scale, seconds * scale
        drawing.text(_LEFT - 10, y + 16, label, "d-end")
        drawing.lines.append(
            f'<rect class="d-wait" style="fill:url(#hr-hatch)" x="{_LEFT}" y="{y}" width="{wait:.1f}" height="22" rx="2"/>'
            f'<rect class="d-work" x="{_LEFT + wait:.1f}" y="{y}" width="{all_of_it - wait:.1f}" height="22" rx="2"/>'
        )
        drawing.text(_LEFT + all_of_it + 8, y + 16, f"{seconds:.2f} s")
    y = 14 + 34 * len(runs) + 4
    drawing.lines.append(
        f'<rect class="d-wait" style="fill:url(#hr-hatch)" x="{_LEFT}" y="{y}" width="14" height="12" rx="2"/>'
        f'<rect class="d-work" x="{_LEFT + 140}" y="{y}" width="14" height="12" rx="2"/>'
    )
    drawing.text(_LEFT + 20, y + 11, "waiting for data", "d-small")
    drawing.text(_LEFT + 160, y + 11, "training", "d-small")
    return drawing.svg()
