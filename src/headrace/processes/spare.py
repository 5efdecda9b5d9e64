"""Processes that one run has let go, for the next: an epoch mostly begins when another has just ended.

A process that nobody takes ends by itself after a second.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Final

from headrace.processes.host import Host
from headrace.processes.setting import Setting

__all__ = ["give_host", "taken_host"]

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


def give_host(host: Host) -> None:
    """Keeps a process for another run, as long as it lives."""
    with _lock:
        _spare.append(host)
    host.when_ended(_drop_ended)


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
