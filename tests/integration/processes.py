"""Programs that run in several processes at once, as a launcher starts them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

__all__ = ["in_processes"]

LIMIT_S = 110.0  # far beyond what any of this takes; a hang shall be a failure


def in_processes(program: str, count: int, environ: Mapping[str, str] | None = None) -> list[list[Any]]:
    """Returns what each of ``count`` processes told that ran a program, each with its ``RANK`` of ``WORLD_SIZE``.

    A program tells something by ``print("told", value)``; libraries print lines of theirs between.
    """
    common = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", **(environ or {})}
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=common | {"RANK": str(rank), "WORLD_SIZE": str(count)},
        )
        for rank in range(count)
    ]
    try:
        ended = [process.communicate(timeout=LIMIT_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    failed = [errors for process, (_, errors) in zip(processes, ended, strict=True) if process.returncode]
    assert not failed, "\n".join(failed)
    return [
        [ast.literal_eval(line.removeprefix("told ")) for line in output.splitlines() if line.startswith("told ")]
        for output, _ in ended
    ]
