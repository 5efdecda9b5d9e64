"""Processes that one run has let go, for the next: an epoch mostly begins when another has just ended.

A process that nobody takes ends by itself after a second: a loop that has broken off leaves nothing. After an epoch that was read to its end it stays
for some minutes, as validation, or a checkpoint, comes between two epochs, and to start anew is to import all again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from typing import Final

from headrace.errors import HeadraceError
from headrace.processes.host import Host
from headrace.processes.setting import Setting

__all__ = ["end_idle", "give_host", "let_stay", "taken_host"]

# How long a process waits for the next epoch when one has been read to its end.
_STAYS_S: Final = 300.0

_lock = threading.RLock()  # a garbage collection may let a process go in the very thread that takes one
_spare: Final[list[Host]] = []


def taken_host(variables: Mapping[str, str]) -> Host:
    """Returns a process that is idle, or starts one.

    Args:
        variables: what its environment has beside that of this process; the same for all.
    """
    now = Setting.now()
    with _lock:
        while _spare:
            host = _spare.pop()
            if host.is_alive and host.setting == now:
                return host
    return Host(variables)


def give_host(host: Host, *, stays: bool) -> None:
    """Keeps a process for another run, as long as it lives; one that ``stays`` is told to wait longer."""
    if stays:
        let_stay(host)
    with _lock:
        _spare.append(host)
    host.when_ended(_drop_ended)


def let_stay(host: Host) -> None:
    """Has a process wait for the next epoch when it has ended its work; the next work makes it forget that."""
    with contextlib.suppress(HeadraceError):  # one that cannot be told ends sooner
        host.tell("stay", _STAYS_S)


def end_idle() -> None:
    """Ends those that nobody has taken, and waits for that."""
    with _lock:
        idle = [*_spare]
        _spare.clear()
    for host in idle:
        host.end()


def _drop_ended() -> None:
    """Lets go of those that have ended, and of the sockets that led to them."""
    with _lock:
        _spare[:] = [one for one in _spare if one.is_alive]


def _forget() -> None:
    """Forgets them all: they are those of the process that this one is a copy of."""
    global _lock  # noqa: PLW0603 - the other's thread may have held it
    _lock = threading.RLock()
    _spare.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
