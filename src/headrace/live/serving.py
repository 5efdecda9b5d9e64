"""The socket of a process: who comes is answered, one after the other."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.live.folder import SUFFIX, own_folder, remove_dead

if TYPE_CHECKING:
    from headrace.live.door import Door

__all__ = ["serve"]

# A request is a few words; who sends more wants something else.
_MOST_BYTES: Final = 4096
# How long a request may take to come, and its answer to be taken.
_PATIENCE_S: Final = 1.0
_WAITING: Final = 8
_MOST_TRIES: Final = 8


def serve(door: Door) -> None:
    """Answers until the door is closed.

    Raises:
        FailedPreconditionError: the folder for sockets is not this user's.
        OSError: there can be no socket.
    """
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        door.sockets = [listening]
        path = _listen(listening)
        stack.callback(_remove, path)
        remove_dead(path.parent)
        while not _is_closing(door, listening):
            with contextlib.suppress(OSError), listening.accept()[0] as connection:
                door.sockets = [listening, connection]
                _answer(door, connection)
            door.sockets = [listening]


def _listen(listening: socket.socket) -> Path:
    """Gives a socket its place, at which it listens from the first moment on: one that refuses is a dead process's."""
    for _ in range(_MOST_TRIES - 1):
        with contextlib.suppress(FileNotFoundError):  # who leaves a folder empty removes it
            return _listen_in(own_folder(), listening)
    return _listen_in(own_folder(), listening)


def _listen_in(folder: Path, listening: socket.socket) -> Path:
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    hidden, path = folder / f".{name}", folder / f"{name}{SUFFIX}"
    listening.bind(os.fspath(hidden))
    try:
        hidden.chmod(0o600)
        listening.listen(_WAITING)
        listening.setblocking(False)
        hidden.rename(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    return path


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # others are in it
        path.parent.rmdir()


def _is_closing(door: Door, one: socket.socket, *, sends: bool = False, until_s: float | None = None) -> bool:
    """Waits until a socket can be read, or written to; returns whether the door is to be closed instead.

    Raises:
        TimeoutError: neither came in time.
    """
    left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
    found = select.poll()
    found.register(one, select.POLLOUT if sends else select.POLLIN)
    if door.wake is not None:
        found.register(door.wake, select.POLLIN)
    ready = dict(found.poll(None if left_s is None else left_s * 1e3))
    if not ready:
        raise TimeoutError
    return door.is_closed or door.wake is None or door.wake in ready


def _answer(door: Door, connection: socket.socket) -> None:
    """Reads one request, and answers it."""
    connection.setblocking(False)
    until_s = time.monotonic() + _PATIENCE_S
    request = b""
    while b"\n" not in request:
        if len(request) >= _MOST_BYTES or _is_closing(door, connection, until_s=until_s):
            return
        part = connection.recv(_MOST_BYTES)
        if not part:
            return
        request += part
    from headrace.live.answering import answered  # when somebody asks

    answer = memoryview(answered(request.partition(b"\n")[0]))
    until_s = time.monotonic() + _PATIENCE_S
    while answer and not _is_closing(door, connection, sends=True, until_s=until_s):
        answer = answer[connection.send(answer) :]
