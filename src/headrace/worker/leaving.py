"""How a process of headrace's own ends: what its functions wrote is written, and nothing of theirs can keep it."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import NoReturn

__all__ = ["leave", "leave_where_lost"]

_PID = os.getpid()
_COPY = (
    "headrace: a copy of this process, which a function made with os.fork, has come back from that function, and ends: "
    "end it within the function, with os._exit\n"
)
_LOST = "headrace: a function closed descriptors that were not its own, with them what leads to the program: its process ends\n"


def leave(status: int = 0) -> NoReturn:
    """Ends the process."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a function may have put anything in its place, or closed it
            stream.flush()
    os._exit(status)


def leave_where_lost(error: OSError) -> None:
    """Ends the process where a descriptor is not there any more that nobody else may close, or that a copy has not: nothing would come from it."""
    if error.errno == errno.EBADF:
        with contextlib.suppress(OSError):  # it may have closed this one as well
            os.write(2, (_LOST if os.getpid() == _PID else _COPY).encode())
        leave(1)
