"""The function of every contestant: five milliseconds an element, and one fault, of which it writes down when it came."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.testing import faults

COUNT: Final = 300
AT: Final = 100  # the element at which the fault comes
WORK_S: Final = 0.005
DEADLINE_S: Final = 1.0  # for an element, where a contestant takes one
RECORD: Final = 1024  # numbers of the file that belong to an element: a page

# In the order of the tables.
FAULTS: Final = {
    "killed": "a worker is killed (SIGKILL)",
    "raises": "the function raises at one element",
    "hangs": "the function does not return from one element",
    "truncated": "half of a mapped file is cut off",
    "parent": "the program is killed (SIGKILL)",
    "ctrl_c": "Ctrl-C",
}
ENDING: Final = ("parent", "ctrl_c")  # they come to the program and not to the function


def function_of(fault: str, folder: Path) -> Callable[[Any], int]:
    """The function with that fault, once: a second try succeeds."""
    if fault == "truncated":
        return _Read(folder / "records")
    action = {"killed": _kill, "raises": _raise, "hangs": _hang}.get(fault)
    if action is None:
        return worked
    noted = functools.partial(_noted, folder / "fault", action)
    return faults.inject(worked, noted, at=_is_it, record=folder / "record")


def worked(number: Any) -> int:
    """Takes its time."""
    time.sleep(WORK_S)
    return int(number)


def note(path: Path) -> None:
    """Writes down that the fault comes now; the first time counts."""
    if not path.exists():
        path.write_text(repr(time.monotonic()))


def _is_it(number: Any) -> bool:
    return int(number) == AT


def _noted(path: Path, action: Callable[[], None]) -> None:
    note(path)
    action()


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise() -> None:
    raise ValueError("a label is missing")


def _hang() -> None:
    threading.Event().wait()


class _Read:
    """Reads an element's record of a mapped file, as loaders of tokens do; who reads behind the end of a file that was cut dies of SIGBUS."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(b"".join(number.to_bytes(4, "little") * RECORD for number in range(COUNT)))
        self._path = path
        self._table: np.ndarray | None = None  # of this process

    def __getstate__(self) -> dict[str, Any]:
        return {"_path": self._path, "_table": None}

    def __call__(self, number: Any) -> int:
        if self._table is None:
            self._table = np.memmap(self._path, np.uint32, "r").reshape(-1, RECORD)
        time.sleep(WORK_S)
        if int(number) == AT and not (cut := self._path.with_name("fault")).exists():
            note(cut)
            faults.truncate(self._path, 0.5)
        return int(self._table[int(number), 0])
