"""Processes that play a part of a case each, and what they say of it in files: a process that is killed leaves a file, and no answer."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import multiprocessing
import os
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = [
    "HANG_S",
    "KILLED",
    "Played",
    "WrongError",
    "failure_of",
    "lines_of",
    "present",
    "processes_of",
    "run_all",
    "told",
]

# Far beyond what anything here takes; whoever hangs ends with the stacks of its threads.
HANG_S: Final = 100
KILLED: Final = -int(getattr(signal, "SIGKILL", signal.SIGTERM))

# How often what happened.
Played = Counter[str]


class WrongError(AssertionError):
    """Somebody got what it was not to get, or did not go on."""


def processes_of(method: str, preloaded: str) -> Any:
    """Returns how processes are started: in a ``fresh`` interpreter each, or of one that has imported a module."""
    if method == "fresh" or sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # many processes share a few cores
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([preloaded])
    return found


def run_all(processes: Any, tasks: Sequence[tuple[Callable[..., None], tuple[Any, ...]]]) -> list[int]:
    """Runs each task in a process of its own, all at once; returns with which status each ended."""
    started = []
    try:
        for function, arguments in tasks:
            process = processes.Process(target=function, args=arguments, daemon=True)
            process.start()
            started.append(process)
        for process in started:
            process.join(HANG_S + 20)
        return [process.exitcode if process.exitcode is not None else 1 for process in started]
    finally:
        for process in started:
            process.kill()
            process.join()
            process.close()


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Has whatever goes wrong inside written into a file, and ends the process."""
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    try:
        yield
    except BaseException:
        path.write_text(traceback.format_exc())
        os._exit(1)
    faulthandler.cancel_dump_traceback_later()


def failure_of(path: Path) -> str:
    """Returns what went wrong, as it was written there."""
    return path.read_text() if path.exists() else "nothing was said"


def present(path: Path) -> Path:
    """Returns a file that a process was to write, if it has."""
    failed = path.with_suffix(".failed")
    if failed.exists() or not path.exists():
        raise WrongError(failed.read_text() if failed.exists() else f"nothing was said in {path.name}")
    return path


def lines_of(path: Path) -> list[Any]:
    """Returns what a process said, a line each; who is killed while it says so leaves a line that is not whole."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]
