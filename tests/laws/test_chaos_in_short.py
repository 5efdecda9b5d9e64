"""The short form of ``python -m tests.chaos``: what programs read of a plan, whoever dies, is what nobody disturbed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 110.0  # far beyond what it takes; a hang shall be a failure


@pytest.mark.skipif(sys.platform != "linux", reason="which processes are left is read from /proc")
def test_programs_go_on_with_any_executor_whoever_dies() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--seed", "7", "--plans", "2", "--fresh", "0"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(count) for count, name in (line.split(maxsplit=1) for line in done.stdout.splitlines())}
    assert counts["plans"] == 2
    # These numbers have among them each of these.
    assert counts["processes that died"] > 0
    assert counts["processes replaced"] > 0
    assert counts["programs that went on from a state"] > 1
