"""A thread that answers onlookers on a socket, for as long as the door is open.

What always holds: nobody but this user gets in, as the socket has mode 0600 in a folder of mode 0700. A request is one line, of which nothing is
run and no object is made; an answer is one line of JSON. Who asks and does not listen is left after a second, and
closing waits for nobody longer than that. A copy of this process, made by fork, has none of it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Final

from headrace.log import LOG

if TYPE_CHECKING:
    import socket

__all__ = ["Door", "door"]

# Whoever ends the last run waits for the thread so long: it may just be answering.
_JOIN_S: Final = 1.0


def door() -> Door | None:
    """Makes the door of this process; None where there is none: by ``HEADRACE_LIVE=0``, and on systems without such sockets."""
    return Door() if os.environ.get("HEADRACE_LIVE") != "0" and hasattr(os, "geteuid") else None


class Door:
    """Lets onlookers in, in a thread of its own."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._serve, name="headrace-live", daemon=True)
        self.wake: int | None = None  # can be read when the door is to be closed
        self._wakes: int | None = None
        self.is_closed = False
        self.sockets: list[socket.socket] = []

    def open(self) -> None:
        """Lets them in."""
        self.wake, self._wakes = os.pipe()
        self._thread.start()

    def close(self) -> None:
        """Lets nobody in any more."""
        self.is_closed = True
        wakes, self._wakes = self._wakes, None
        if wakes is not None:
            with contextlib.suppress(BrokenPipeError):  # the thread has ended by itself
                os.write(wakes, b".")  # its end alone would not be seen where a copy of this process has it too
            os.close(wakes)
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_S)
        if not self._thread.is_alive():  # nor was it, where no thread could be started
            self._let_go()

    def _let_go(self) -> None:
        wake, self.wake = self.wake, None
        if wake is not None:
            os.close(wake)

    def leave_to_parent(self) -> None:
        """Closes what a copy of this process has of it."""
        for one in self.sockets:
            one.close()
        for descriptor in (self.wake, self._wakes):
            if descriptor is not None:
                os.close(descriptor)
        self.wake = self._wakes = None

    def _serve(self) -> None:
        try:
            from headrace.live.serving import (
                serve,
            )  # sockets and JSON, which a program that ends soon does not wait for

            serve(self)
        except Exception as refused:  # noqa: BLE001 - no run fails because nobody can look at it
            LOG.info("nobody can look at the pipelines of this process: %s", refused)
        finally:
            self._let_go()
