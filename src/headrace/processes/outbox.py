"""Messages of several threads over one connection, one after the other."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterable
from typing import Final

from headrace.processes.connection import Connection
from headrace.processes.descriptors import copied

__all__ = ["LOGGED", "Outbox"]

# In place of the number of a question: something for the log.
LOGGED: Final = 2**64 - 1


class Outbox:
    """Sends numbered messages in their order, each as a whole.

    A garbage collection, or a signal, may have a thread send something in the middle of sending: then nobody may wait for the
    lock. Who finds it taken leaves the message to who has it, and that one looks again after it let go.

    Args:
        connection: where they go.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: deque[tuple[bytes, tuple[int, ...]]] = deque()
        self._sending = threading.Lock()
        self._sender: int | None = None  # the thread that has it

    @property
    def is_sending_here(self) -> bool:
        """Whether this very thread is in the middle of sending: a handler of signals came between, and what it puts is not sent before it ends."""
        return self._sender == threading.get_ident()

    def put(self, number: int, body: bytes, descriptors: Iterable[int] = ()) -> None:
        """Sends a message, or has the thread send it that sends at this moment. What cannot be sent is dropped, as nobody reads it.

        Raises:
            ResourceExhaustedError: this process may have no more descriptors.
        """
        # Its sender may close them before another thread sends them.
        self._waiting.append((number.to_bytes(8, "big") + body, copied(descriptors)))
        here = threading.get_ident()
        while self._waiting and self._sending.acquire(blocking=False):
            try:
                self._sender = here
                self._send_all()
            finally:
                self._sender = None
                self._sending.release()

    def close(self, patience_s: float) -> None:
        """Closes the connection, whose other end is gone, once the thread has left it that sends at this moment."""
        if self._sending.acquire(timeout=patience_s):
            try:
                self._connection.close()
            finally:
                self._sending.release()

    def _send_all(self) -> None:
        while self._waiting:
            message, descriptors = self._waiting.popleft()
            try:
                with contextlib.suppress(OSError):
                    self._connection.send(message, descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
