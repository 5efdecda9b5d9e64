"""The short form of ``python -m tests.ranks``: what new processes read of a plan, killed or not, are its global batches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_S = 110.0  # far beyond what it takes; a hang shall be a failure


def test_new_processes_go_on_with_any_number_of_ranks_whoever_is_killed() -> None:
    # These numbers have among them killed processes, states of different steps, and some that cannot be merged.
    done = subprocess.run(
        [sys.executable, "-m", "tests.ranks", "--seed", "0", "--plans", "10", "--fresh", "0"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(count) for count, name in (line.split(maxsplit=1) for line in done.stdout.splitlines())}
    assert counts["plans"] == 10
    assert counts["killed"] > 3
    assert counts["of different steps"] > 0
