"""Who finds the running pipelines of a user, and asks each process about them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from headrace.errors import FailedPreconditionError
from headrace.live.folder import SUFFIX, check_own, folders, pid_of, remove_dead

__all__ = ["Lookout", "ask", "chosen", "nothing_runs", "running", "sockets"]

# A process answers in milliseconds; one that computes with Python's lock, or has been stopped, does not.
_PATIENCE_S: Final = 2.0
# Between two short epochs, and between two looks for the next.
_BETWEEN_S: Final = 0.5
_AGAIN_S: Final = 0.02
_MOST_AT_ONCE: Final = 64
# Thousands of stages; more is no answer of ours.
_MOST_BYTES: Final = 64 << 20
_REQUEST: Final = b'{"ask":"runs"}\n'


def sockets(places: Iterable[Path] | None = None) -> Iterator[Path]:
    """Yields the sockets of this user's processes.

    Raises:
        FailedPreconditionError: the folder for them is somebody else's, or the system has no such sockets.
    """
    if not hasattr(os, "geteuid") or not hasattr(socket, "AF_UNIX"):
        raise FailedPreconditionError("pipelines are shown on Unix sockets, which this system does not have")
    for folder in folders() if places is None else places:
        with contextlib.suppress(FileNotFoundError):
            check_own(folder)
            remove_dead(folder)
            yield from sorted(folder.glob(f"*{SUFFIX}"))


def running(places: Iterable[Path] | None = None) -> list[dict[str, Any]]:
    """Returns what each process of this user tells that has a pipeline running.

    A process that does not answer has ``pid`` and ``error`` alone. Sockets that dead processes left are removed.

    Args:
        places: the folders in which sockets are; those of this user when None.

    Raises:
        FailedPreconditionError: the folder for sockets is somebody else's, or the system has no such sockets.
    """
    found = list(sockets(places))
    if not found:
        return []
    # Beside each other: one that is busy must not make the others late.
    with ThreadPoolExecutor(min(len(found), _MOST_AT_ONCE)) as threads:
        return [told for told in threads.map(ask, found) if told is not None]


class Lookout:
    """Looks again and again, and waits a little for who is between two epochs: a door is open as long as a run is.

    Args:
        look: returns what processes tell.
        patience_s: how long to wait for one that told of a pipeline in the look before.
    """

    def __init__(self, look: Callable[[], list[dict[str, Any]]] = running, patience_s: float = _BETWEEN_S) -> None:
        self._look = look
        self._patience_s = patience_s
        self._expected: frozenset[int] = frozenset()

    def __call__(self) -> list[dict[str, Any]]:
        """Returns what processes tell, each at its latest."""
        until_s = time.monotonic() + self._patience_s
        told = {process["pid"]: process for process in self._look()}
        while not self._expected <= _with_runs(told) and time.monotonic() < until_s:
            time.sleep(_AGAIN_S)
            again = {process["pid"]: process for process in self._look()}
            told |= {pid: process for pid, process in again.items() if pid not in _with_runs(told)}
        self._expected = _with_runs(told)
        return list(told.values())


def _with_runs(told: dict[int, dict[str, Any]]) -> frozenset[int]:
    return frozenset(pid for pid, process in told.items() if process["runs"])


def ask(path: Path, patience_s: float = _PATIENCE_S) -> dict[str, Any] | None:
    """Returns what a process tells; None where it has ended, or closes its door just now.

    Args:
        path: its socket.
        patience_s: how long it may take to answer.
    """
    until_s = time.monotonic() + patience_s
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(patience_s)
            connection.connect(str(path))
            connection.sendall(_REQUEST)
            return _parsed(path, _answer(connection, until_s))
    except ConnectionRefusedError:  # it listened before it had this name
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # others are in it
            path.parent.rmdir()
    except TimeoutError:
        return _silent(path, "it does not answer")
    except OSError:  # it closed the door
        pass
    return None


def _answer(connection: socket.socket, until_s: float) -> bytes:
    parts, nbytes = list[bytes](), 0
    while part := connection.recv(1 << 16):
        parts.append(part)
        nbytes += len(part)
        if nbytes > _MOST_BYTES or time.monotonic() > until_s:
            raise TimeoutError
    return b"".join(parts)


def _parsed(path: Path, answer: bytes) -> dict[str, Any] | None:
    if not answer:
        return None
    try:
        told = json.loads(answer)
    except ValueError:
        return _silent(path, "its answer is cut")
    return told if isinstance(told, dict) and "runs" in told else _silent(path, "it is of another version of headrace")


def _silent(path: Path, error: str) -> dict[str, Any]:
    return {"pid": pid_of(path), "program": "", "runs": [], "error": error}


def chosen(processes: Sequence[dict[str, Any]], which: str | None) -> list[dict[str, Any]]:
    """Returns the processes that are meant.

    Args:
        processes: all that there are.
        which: the number of one, or a part of what its program is called; None is all.
    """
    if which is None:
        return list(processes)
    if which.isdecimal():
        return [process for process in processes if process["pid"] == int(which)]
    return [process for process in processes if which in process["program"]]


def nothing_runs(processes: Sequence[dict[str, Any]], which: str | None) -> str:
    """Returns why there is nothing to show, in words."""
    if processes and which is not None:
        others = ", ".join(f"{process['program']} ({process['pid']})" for process in processes)
        return f"no pipeline runs in a process {which!r}; there are {others}"
    looked = " and ".join(map(str, folders()))
    return (
        "no pipeline of yours is running. One shows itself a second after its process has begun the first, "
        f"unless HEADRACE_LIVE=0; sockets were looked for in {looked}"
    )
