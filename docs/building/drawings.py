"""All drawings of the pages, by the names of their files in docs/pictures.

python -m docs.building.drawings    # writes them anew
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docs.building.busy_bars import busy_bars
from docs.building.ideas import elements, resume
from docs.building.running_parts import for_maintainers, for_users
from docs.building.waiting_bars import waiting_bars

__all__ = ["DRAWINGS", "PICTURES", "drawn"]

DOCS = Path(__file__).parents[1]
PICTURES = DOCS / "pictures"

KNOBS = ["as written first", "prefetch(1)", "AUTOTUNE", "… and cache()", "16 calls"]
DRAWINGS: dict[str, Callable[[], str]] = {
    "knobs.svg": lambda: waiting_bars(DOCS / "howto" / "faster.md", KNOBS),
    "elements.svg": elements,
    "resume.svg": resume,
    "busy.svg": lambda: busy_bars(DOCS / "guide" / "waiting.md"),
    "start-waiting.svg": lambda: waiting_bars(DOCS / "start.md", ["before", "first run after", "second run after"]),
    "what-runs-where.svg": for_users,
    "running-parts.svg": for_maintainers,
}


def drawn() -> dict[str, str]:
    """Every drawing, as it lies in its file."""
    return {name: draw() for name, draw in DRAWINGS.items()}


if __name__ == "__main__":
    for name, svg in drawn().items():
        (PICTURES / name).write_text(svg, encoding="utf-8")
