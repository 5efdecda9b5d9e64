"""Ctrl-C at a place of one's choice: a ``KeyboardInterrupt`` at the n-th point where CPython would look for a signal.

CPython looks for one where a Python function begins, behind a call of a function in C, and where a loop goes back:
nowhere else. Only frames of headrace in the calling thread count; the user's own are theirs.
"""

from __future__ import annotations

import dis
import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import headrace

__all__ = ["Interruption", "interrupted"]

_ROOT = str(Path(headrace.__file__).parent)
_LOOKS = ("RESUME", "JUMP_BACKWARD", "CALL")


@functools.cache
def _names(code: CodeType) -> dict[int, str]:
    return {instruction.offset: instruction.opname for instruction in dis.get_instructions(code)}


def _finalizes(frame: FrameType | None) -> bool:
    """Whether it is called because an object is dropped: Python prints what is raised there, and goes on."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_code.co_filename == weakref.__file__:
            return True
        frame = frame.f_back
    return False


class Interruption:
    """Counts the points that are passed, and interrupts at one of them; ``came`` says whether it was reached."""

    def __init__(self, point: int) -> None:
        self.left = point
        self.came = False
        self.where = ""
        self._last: dict[FrameType, str] = {}  # the instruction before, of frames that are under way

    def begin(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        assert event == "call"
        if frame.f_back in self._last:  # the call was of a function in Python, which looks by itself
            self._last[frame.f_back] = ""
        if self.came or not frame.f_code.co_filename.startswith(_ROOT) or _finalizes(frame):
            return None
        frame.f_trace_opcodes = True
        self._last[frame] = ""
        return self.step

    def step(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if event == "return":
            self._last.pop(frame, None)
        if event == "exception":  # the call that raised does not look, and its handler is no place to be interrupted at
            self._last[frame] = ""
        if event == "opcode" and not self.came:
            if self._last.get(frame, "").startswith(_LOOKS):
                self.left -= 1
                if self.left < 0:
                    self.came = True
                    self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_qualname}"
                    raise KeyboardInterrupt
            self._last[frame] = _names(frame.f_code).get(frame.f_lasti, "")
        return self.step

    def forget(self) -> None:
        """Lets go of the frames that the interruption ended, and of what they hold."""
        self._last.clear()


@contextmanager
def interrupted(point: int) -> Iterator[Interruption]:
    """Interrupts this thread at a point of what it does inside."""
    interruption = Interruption(point)
    before = sys.gettrace()
    sys.settrace(interruption.begin)
    try:
        yield interruption
    finally:
        sys.settrace(before)
        interruption.forget()
