"""What others do when they are asked for the same: asked in an environment where they are installed, where there is one."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SCRIPT: Final = ROOT / "benchmarks" / "elastic"
LIMIT_S: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a library did: with shuffled numbers, and with a mixture that is filtered and shuffled in a window."""

    name: str
    version: str
    numbers: list[str]
    mixture: list[str]


def answers_of(python: str) -> list[Answer]:
    """Asks each library that the interpreter has; what it has not is not installed, and says so."""
    asked = subprocess.run(
        [python, str(SCRIPT), "--json"], capture_output=True, text=True, timeout=LIMIT_S, cwd=ROOT, check=True
    )
    return [Answer(**answer) for answer in json.loads(asked.stdout)]
