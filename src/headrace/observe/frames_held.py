"""What an error keeps of the frames that it came through, for as long as somebody has it.

An exception has the frames in which it was raised, and each frame has those that called it. So a failed element has not only what the
user's function had in hand, but also the frames of headrace that called it, and these have the failed element. In that circle it would
stay, with files open and arrays in memory, until the garbage collector came by. Frames can be emptied when they are at their end:

- an error that becomes an element's is noted, in the thread in which it was raised
- where a thread is through with a piece of work, frames of headrace's own are emptied that led to what failed in it
- what is skipped or replaced lets go at once, as one piece of work may skip any number

Tracebacks show what they did, and the user's own frames stay as they are, for a debugger.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final
from weakref import WeakValueDictionary

__all__ = ["let_go_of_frames", "let_go_of_frames_of_failed", "note_failed"]

_OUR_FOLDER: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")  # noqa: PTH118, PTH120 - no I/O, and no pathlib for it
# CPython's flags of generators and coroutines: to clear the frame of one that waits would end it.
_MAY_GO_ON: Final = 0x20 | 0x80 | 0x200


class _Failed(threading.local):
    """The errors that came about in this thread and that somebody still has, by their ids: a user's class may be one that has no hash."""

    def __init__(self) -> None:
        self.errors = WeakValueDictionary[int, BaseException]()


_FAILED: Final = _Failed()


def note_failed(error: BaseException) -> None:
    """Notes an error that keeps the frames that are at work in this thread now."""
    _FAILED.errors[id(error)] = error


def let_go_of_frames_of_failed() -> None:
    """Empties the frames of all that was noted in this thread: for who has none under him any more that are at work for a run."""
    errors = _FAILED.errors
    if not errors:
        return
    for error in list(errors.values()):
        let_go_of_frames(error)
    errors.clear()


def let_go_of_frames(error: BaseException) -> None:
    """Empties the frames of headrace's own that an error and its causes have, as far as they are at their end.

    Example:
        >>> let_go_of_frames(ValueError("raised nowhere"))
    """
    for one in _errors(error):
        trace = one.__traceback__
        frame = None if trace is None else trace.tb_frame
        # Of those at their end: one at work may lie in the memory of another thread, which goes on.
        while frame is not None and _is_emptied(frame):
            frame = frame.f_back
        while trace is not None:
            _is_emptied(trace.tb_frame)
            trace = trace.tb_next


def _errors(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and those that led to it, each once."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            left += [other for other in (one.__cause__, one.__context__) if other is not None]
            yield one


def _is_emptied(frame: FrameType) -> bool:
    """Empties a frame if it is ours, and at its end."""
    code = frame.f_code
    if code.co_flags & _MAY_GO_ON or not code.co_filename.startswith(_OUR_FOLDER):
        return False
    try:
        frame.clear()
    except RuntimeError:  # it is at work
        return False
    # Whoever looked at its variables, as the watch of Python's lock and debuggers do, left a dict of them in it until Python 3.13: to look again empties it.
    frame.f_locals  # noqa: B018
    return True
