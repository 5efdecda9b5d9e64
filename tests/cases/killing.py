"""Where a process is killed: at the n-th time that it comes to a point, by itself, as ``kill -9`` would.

The points are counted and never timed, so that a case ends at the same place each time (among threads: at about the same).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from hypothesis import strategies as st
from tests.laws.jobs import described

import headrace

__all__ = ["POINTS", "Kill", "armed", "described_within", "kills", "passed"]

_ROOT: Final = str(Path(headrace.__file__).parent)
# How often each is passed, about, in a case.
POINTS: Final = {
    "a function of an element": 30,
    "half of a state written": 4,
    "a state written beside": 4,
    "a state saved": 4,
    "a line of headrace": 0,  # see below
}


@dataclass(frozen=True, slots=True)
class Kill:
    """After how many passes of which point."""

    point: str
    after: int


def kills() -> st.SearchStrategy[Kill]:
    """Each point as often as the others, and lines twice as often; of these some hundred or some ten thousand are passed."""
    counted = [st.builds(Kill, st.just(point), st.integers(0, times - 1)) for point, times in POINTS.items() if times]
    power = st.integers(4, 15)
    lines = power.flatmap(lambda n: st.integers(2**n, 2 ** (n + 1)))
    line = st.builds(Kill, st.just("a line of headrace"), lines)
    return st.one_of(*counted, line, line)


_left: dict[str, int] = {}


def armed(kill: Kill | None) -> None:
    """Has this process killed there."""
    if kill is None:
        return
    _left[kill.point] = kill.after
    if kill.point == "a line of headrace":
        threading.settrace(_begin)
        sys.settrace(_begin)


def passed(point: str) -> None:
    """Says that this process comes to a point."""
    if point in _left:
        _left[point] -= 1
        if _left[point] < 0:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # on Windows SIGTERM ends as hard


def described_within(*element: Any) -> str:
    """Returns an element in words, the same in every process."""
    passed("a function of an element")
    return described(*element)


def _begin(frame: FrameType, _event: str, _: Any) -> Callable[..., Any] | None:
    return _line if frame.f_code.co_filename.startswith(_ROOT) else None


def _line(_frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
    if event == "line":
        passed("a line of headrace")
    return _line
