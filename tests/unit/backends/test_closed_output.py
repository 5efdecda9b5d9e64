"""A program that has closed its input and output, as a service does, has processes as any other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from pathlib import Path
import headrace as hr

def doubled(x):
    os.system("echo from a shell; echo and an error 1>&2")  # what is written must not come between messages
    return 2 * x

executor, told, *closed = sys.argv[1:]
for descriptor in closed:
    os.close(int(descriptor))
dataset = hr.Dataset.range(5).map(doubled, num_parallel_calls=2).with_options(hr.Options(executor=executor))
Path(told).write_text(repr(list(dataset)))
"""


@pytest.mark.parametrize("executor", ["process", "subprocess"])
@pytest.mark.parametrize("closed", [("0",), ("1", "2"), ("0", "1", "2")], ids="".join)
def test_it_has_processes_whatever_it_closed(executor: str, closed: tuple[str, ...], tmp_path: Path) -> None:
    told = tmp_path / "told"
    subprocess.run([sys.executable, "-c", PROGRAM, executor, told, *closed], check=True, timeout=60)
    assert told.read_text() == "[0, 2, 4, 6, 8]"
