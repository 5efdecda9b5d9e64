"""``results.jsonl``: a line of JSON for each evaluation of a job, in the order of its steps.

What always holds: the file is replaced whole, so nobody ever reads half a line; and it has one line a step: a job that goes
on from a step makes the lines after it anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Results"]


class Results:
    """The results in a folder, which no other job writes to.

    Args:
        folder: where.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "results.jsonl"

    def add(self, step: int, metrics: Mapping[str, float]) -> None:
        """Adds a line, which takes the place of those of this step and of later ones.

        What is no number is written as protobuf's JSON does: ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({name: _as_json(value) for name, value in metrics.items()}, allow_nan=False)
        beside = self._path.with_name(f".{self._path.name}.part")
        beside.write_text("".join(f"{kept}\n" for kept in [*self._lines_before(step), line]))
        beside.replace(self._path)

    def _lines_before(self, step: int) -> list[str]:
        if not self._path.exists():
            return []
        *whole, last = self._path.read_text().split("\n")
        lines = [*whole, last] if _parsed(last) is not None else whole  # half a line, which something else wrote
        return [line for line in lines if line and _step_of(line) < step]


def _as_json(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _parsed(line: str) -> Any:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _step_of(line: str) -> float:
    """Returns the step of a line; before all others, where it says none: nobody's to throw away."""
    step = (_parsed(line) or {}).get("global_step")
    return step if isinstance(step, int | float) else -math.inf
