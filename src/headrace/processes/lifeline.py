"""The end of a process with its trainer, though a function of it keeps Python's lock for ever and nothing in Python goes on there.

The trainer holds one end of a pair of sockets, the process the other. When the trainer is gone, however it went, the kernel closes its end and sends the
process a signal; the handler is the C library's own ``alarm``, which gets the signal's number as its seconds. So the process has that long to end by
itself, and is ended then by the alarm, for which no thread needs the lock. Linux only: elsewhere a process ends by itself or not at all.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

__all__ = ["Lifeline"]


class Lifeline:
    """The process's end.

    Args:
        descriptor: the socket, which it takes over; on it comes nothing but the end.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)
        if sys.platform == "linux":
            with contextlib.suppress(OSError, AttributeError):  # a C library or a kernel that has no such thing
                _have_it_heard(descriptor)

    def let_go(self, patience_s: float) -> None:
        """Has the process ended after so many seconds in any case, whatever its trainer does."""
        os.close(self._descriptor)  # first: a signal would set the alarm anew
        signal.setitimer(signal.ITIMER_REAL, patience_s)


def _have_it_heard(descriptor: int) -> None:
    import ctypes
    import fcntl

    if signal.getsignal(signal.SIGHUP) != signal.SIG_DFL:
        # Hangups are ignored, as with nohup: one of the terminal's is none of the trainer's end, and comes to no process with a session of its own.
        with contextlib.suppress(PermissionError):  # it has one
            os.setsid()
    number = int(signal.SIGHUP)  # the seconds that are left
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    library.signal(number, ctypes.cast(library.alarm, ctypes.c_void_p))
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, number)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
