"""A process of the elastic job ends with the one that started it, whatever it waits for."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

LIMIT_S = 60.0  # a hang shall be a failure

PROGRAM = """
    import multiprocessing, os, signal, threading

    from examples.elastic.parent_watch import end_with_parent

    def wait_for_ever(ready):
        end_with_parent()
        ready.send(None)
        threading.Event().wait()

    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        context.Process(target=wait_for_ever, args=(theirs,)).start()
        ours.recv()
        print("both are there", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are sent signals")
def test_a_process_that_waits_for_ever_ends_when_the_one_that_started_it_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    ) as process:
        try:
            # The output ends when the last process that could write to it has ended.
            output, _ = process.communicate(timeout=LIMIT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (output, process.returncode) == ("both are there\n", -signal.SIGKILL)
