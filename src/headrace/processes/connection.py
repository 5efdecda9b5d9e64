"""Messages between two processes: texts of bytes, with descriptors beside them, over a pair of sockets."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import weakref
from collections.abc import Sequence
from typing import Final, Self

from headrace.errors import ResourceExhaustedError
from headrace.processes.descriptors import refused_by_system

__all__ = ["Connection", "connected", "socket_pair"]

# Of every end: Python asks the system for each of these where it is not told.
_KIND: Final = (getattr(socket, "AF_UNIX", socket.AF_INET), socket.SOCK_STREAM, 0)
_HEAD: Final = struct.Struct("!QI")
_MOST_DESCRIPTORS: Final = 64
_LAST_STANDARD: Final = 2  # descriptors up to this one are a program's input and output
_AT_ONCE: Final = 1 << 20


class _End(socket.socket):
    """A socket that is closed when nobody has it any more, in a cycle as well; a copy of this process then closes its own alone."""

    def __del__(self) -> None:
        self.close()


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Returns two connected sockets, neither of which is where a program that has closed its output still writes to.

    Raises:
        OSError: this process may have no more descriptors.
    """
    first, second = socket.socketpair()
    return _beyond_standard(first), _beyond_standard(second)


def _beyond_standard(end: socket.socket) -> socket.socket:
    if end.fileno() > _LAST_STANDARD:
        return end
    import fcntl  # there is none on Windows, where nothing comes here

    with end:
        return socket.socket(*_KIND, fileno=fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, _LAST_STANDARD + 1))


def connected() -> tuple[Connection, socket.socket]:
    """Returns a connection and its other end, which is sent to another process and closed here.

    Raises:
        ResourceExhaustedError: this process may have no more descriptors.
    """
    try:
        mine, its = socket_pair()
    except OSError as error:
        raise refused_by_system("sockets", error) from error
    return Connection(mine), its


class Connection:
    """One end of a pair of sockets. One thread at a time may send, and one may receive.

    Args:
        end: the socket, which it takes over.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = _End(*_KIND, fileno=end.detach())
        _open.add(self)

    @classmethod
    def received(cls, descriptor: int) -> Self:
        """Returns the end of which this process was sent a descriptor, which it takes over."""
        return cls(socket.socket(*_KIND, fileno=descriptor))

    def fileno(self) -> int:
        """Returns the descriptor, for who waits on several."""
        return self._socket.fileno()

    def send(self, message: bytes | bytearray | memoryview, descriptors: Sequence[int] = ()) -> None:
        """Sends a message.

        Raises:
            OSError: the other end is gone.
        """
        size = memoryview(message).nbytes
        head = _HEAD.pack(size, len(descriptors))
        if size <= _AT_ONCE:
            head, message = head + bytes(message), b""
        sent = socket.send_fds(self._socket, [head], list(descriptors)) if descriptors else self._socket.send(head)
        if sent < len(head):
            self._socket.sendall(memoryview(head)[sent:])
        if message:
            self._socket.sendall(message)

    def receive(self) -> tuple[bytearray, list[int]] | None:
        """Returns the next message and the descriptors that came with it; None when the other end is gone.

        Raises:
            ResourceExhaustedError: this process may have no more descriptors.
        """
        descriptors: list[int] = []
        head = b""
        try:
            while len(head) < _HEAD.size:
                part, found, _, _ = socket.recv_fds(self._socket, _HEAD.size - len(head), _MOST_DESCRIPTORS)
                descriptors += found
                if not part:
                    return self._nothing(descriptors)
                head += part
            size, wanted = _HEAD.unpack(head)
            if len(descriptors) != wanted:  # the kernel drops what there is no room for, and says nothing
                self._nothing(descriptors)
                self.shut()  # what they lead to would be mistaken for something else
                raise ResourceExhaustedError(
                    "this process has no descriptors left for the memory that it shares with another one: raise its limit "
                    "(ulimit -n), or keep fewer large batches"
                )
            message = bytearray(size)
            view, filled = memoryview(message), 0
            while filled < size:
                count = self._socket.recv_into(view[filled:])
                if not count:
                    return self._nothing(descriptors)
                filled += count
        except ConnectionError:
            return self._nothing(descriptors)
        return message, descriptors

    @staticmethod
    def _nothing(descriptors: list[int]) -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    def shut(self) -> None:
        """Ends every wait on it, at both ends; from any thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def leave_to_parent(self) -> None:
        """Closes the copy of this end that a copy of this process has: what is said there would be taken for this one's."""
        self._socket.close()

    def close(self) -> None:
        """Closes this end, which no other thread may be using."""
        self.shut()
        self._socket.close()


_open: Final[weakref.WeakSet[Connection]] = weakref.WeakSet()


def _leave_all() -> None:
    for one in list(_open):
        one.leave_to_parent()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
