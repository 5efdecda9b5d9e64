"""Drawings as SVG: boxes, arrows and words, in colours that fit light and dark pages.

A drawing lies in docs/pictures as a file, so that it shows wherever the page is read, and follows the reader's setting for dark
pages there. On the site it is put into the page itself, and follows the site's own switch (``placed``).
"""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Iterable

__all__ = ["Drawing", "placed"]

_LIGHT = (
    "--d-ink:#1d2423;--d-soft:#5b6765;--d-line:#9aa6a4;--d-paper:#ffffff;--d-room:#f3f5f4;--d-yours:#d7e8fa;"
    "--d-yours-line:#3f7fc1;--d-block:#ece1f7;--d-block-line:#8b5cb8;--d-channel:#dcefd9;--d-channel-line:#4a9544;"
    "--d-wait:#c47a1d;--d-work:#0f766e"
)
_DARK = (
    "--d-ink:#e4e9e8;--d-soft:#a3afad;--d-line:#697573;--d-paper:#1e2129;--d-room:#2a2e38;--d-yours:#1d3b5a;"
    "--d-yours-line:#6aa9e6;--d-block:#3d2a55;--d-block-line:#b58ee0;--d-channel:#22451f;--d-channel-line:#7cc476;"
    "--d-wait:#e3a556;--d-work:#3fb5a8"
)
_RULES = """\
.hr-drawing text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;fill:var(--d-ink)}
.hr-drawing .d-small{font-size:11.5px;fill:var(--d-soft)}
.hr-drawing .d-code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px}
.hr-drawing .d-bold{font-weight:600}
.hr-drawing .d-middle{text-anchor:middle}
.hr-drawing .d-end{text-anchor:end}
.hr-drawing .d-page{fill:var(--d-paper)}
.hr-drawing .d-room{fill:var(--d-room);stroke:var(--d-line);stroke-dasharray:5 3}
.hr-drawing .d-stage{fill:var(--d-paper);stroke:var(--d-line)}
.hr-drawing .d-yours{fill:var(--d-yours);stroke:var(--d-yours-line)}
.hr-drawing .d-block{fill:var(--d-block);stroke:var(--d-block-line)}
.hr-drawing .d-channel{fill:var(--d-channel);stroke:var(--d-channel-line)}
.hr-drawing .d-arrow{fill:none;stroke:var(--d-soft);stroke-width:1.4}
.hr-drawing .d-wait{fill:none;stroke:var(--d-wait);stroke-width:1.2}
.hr-drawing .d-hatch{stroke:var(--d-wait);stroke-width:1.4}
.hr-drawing .d-work{fill:var(--d-work)}"""
_BY_READER = re.compile(r"@media \(prefers-color-scheme:dark\)\{\.hr-drawing\{(.*?)\}\}")
_IMAGE = re.compile(r'<img alt="(?P<alt>[^"]*)" src="[^"]*pictures/(?P<name>[\w-]+\.svg)"\s*/?>')


@dataclasses.dataclass(slots=True)
class Drawing:
    """Lines of SVG, put down one after the other; what comes later lies on top."""

    width: float
    height: float
    lines: list[str] = dataclasses.field(default_factory=list)

    def box(self, kind: str, x: float, y: float, width: float, height: float) -> None:
        """A rectangle with round corners; ``kind`` is its class."""
        self.lines.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>')

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        """Words whose base line begins at a point, or has its middle or end there (``d-middle``, ``d-end``)."""
        attribute = f' class="{kind}"' if kind else ""
        self.lines.append(f'<text{attribute} x="{x:g}" y="{y:g}" xml:space="preserve">{html.escape(words)}</text>')

    def texts(self, x: float, y: float, lines: Iterable[str], kind: str = "d-small", step: float = 16) -> None:
        """Lines of words, one below the other."""
        for number, words in enumerate(lines):
            self.text(x, y + step * number, words, kind)

    def arrow(self, *points: tuple[float, float]) -> None:
        """A line through points, with a head at the last one."""
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        (x0, y0), (x1, y1) = points[-2:]
        if x0 == x1:
            back = 5 if y1 > y0 else -5
            head = f"M{x1 - 4:g} {y1 - back:g} L{x1:g} {y1:g} L{x1 + 4:g} {y1 - back:g}"
        else:
            back = 5 if x1 > x0 else -5
            head = f"M{x1 - back:g} {y1 - 4:g} L{x1:g} {y1:g} L{x1 - back:g} {y1 + 4:g}"
        self.lines.append(f'<path class="d-arrow" d="M{path} {head}"/>')

    def svg(self) -> str:
        """The file."""
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}"'
        style = f"{_RULES}\n.hr-drawing{{{_LIGHT}}}\n@media (prefers-color-scheme:dark){{.hr-drawing{{{_DARK}}}}}"
        page = f'<rect class="d-page" width="{self.width:g}" height="{self.height:g}" rx="8"/>'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="hr-drawing" {size} role="img">'
        return "\n".join([head, f"<style>\n{style}\n</style>", page, *self.lines, "</svg>", ""])


def placed(page: str, drawings: dict[str, str]) -> str:
    """A page of the site with its drawings in it, instead of links to their files."""

    def put(found: re.Match[str]) -> str:
        drawing = drawings.get(found["name"])
        if drawing is None:
            return found[0]
        by_site = _BY_READER.sub(r'[data-md-color-scheme="slate"] .hr-drawing{\1}', drawing)
        named = by_site.replace('role="img"', f'role="img" aria-label="{found["alt"]}"', 1)
        return f'<span class="hr-drawing-box">{named.strip()}</span>'.replace("\n", "")

    return _IMAGE.sub(put, page)
