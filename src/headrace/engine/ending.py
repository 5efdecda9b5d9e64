"""Which runs are open, and the interpreter's exit: they are closed, and what never returns keeps the process from nothing."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Final, Protocol

from headrace import exiting
from headrace.log import LOG
from headrace.observe.watch import WATCH
from headrace.semantics.timed_calls import LEFT_BEHIND

__all__ = ["OPEN_RUNS", "RUN_READ_BY", "is_inside_run"]


class Endable(Protocol):
    """A run, as far as its end goes."""

    @property
    def is_read(self) -> bool:
        """Whether a thread reads it at this moment."""
        ...

    def is_read_by(self, ident: int) -> bool:
        """Returns whether that thread reads it at this moment."""
        ...

    def stop(self) -> None:
        """Ends every wait."""
        ...

    def close(self) -> None:
        """Gives back what it holds."""
        ...


# Runs that may still be open, for the interpreter's exit.
OPEN_RUNS: Final[weakref.WeakSet[Endable]] = weakref.WeakSet()
# Which of them each thread reads at this moment: the inner one, where a function of one reads another.
RUN_READ_BY: Final[dict[int, Endable]] = {}
if hasattr(os, "register_at_fork"):  # a copy of this process has none of them
    os.register_at_fork(after_in_child=OPEN_RUNS.clear)
    os.register_at_fork(after_in_child=RUN_READ_BY.clear)
# How long a user's function may go on at the interpreter's exit before the process ends without it.
_EXIT_PATIENCE_S = 5.0
# What is waited for a thread before it is seen whether it only waits itself.
_GLANCE_S: Final = 0.02


# Threads for which that was waited in vain.
_given_up: Final[set[threading.Thread]] = set()


def is_inside_run() -> bool:
    """Returns whether who asks is called by a function of an open run: in the thread that reads it, or in one of headrace's own."""
    ident = threading.get_ident()
    run = RUN_READ_BY.get(ident)
    # Where Ctrl-C came as an inner one was left, it stands there still.
    if run is not None and (run.is_read_by(ident) or any(other.is_read_by(ident) for other in OPEN_RUNS)):
        return True
    return threading.current_thread().name.startswith("headrace-")


@exiting.ends_at_exit
def _end_open_runs() -> None:
    """Closes what is open; but a function that never returns must not keep the process from ending."""
    exiting.begin()  # from here on no thread of the user's opens another run
    runs = list(OPEN_RUNS)
    WATCH.end()
    for run in runs:
        run.stop()
    exiting.stop_others()
    end_s = time.monotonic() + _EXIT_PATIENCE_S
    busy = _join_ours(end_s)
    exiting.close_libraries()
    exiting.let_out(end_s)
    if busy:
        _given_up.update(busy)
        LOG.warning("the process ends while functions still run in %s", ", ".join(thread.name for thread in busy))
    if _given_up:
        return
    for run in runs:
        if not run.is_read:  # by a thread of the user's, which ends with the process
            run.close()


def _join_ours(end_s: float) -> list[threading.Thread]:
    """Waits for headrace's own threads; returns those that are still running."""
    left = set(_given_up)
    while ours := [thread for thread in threading.enumerate() if _is_ours(thread.name) and thread not in left]:
        if time.monotonic() >= end_s:
            return ours
        for thread in ours:
            try:
                thread.join(min(_GLANCE_S, max(0.0, end_s - time.monotonic())))
            except RuntimeError:  # another thread is starting it
                time.sleep(0)
        left.update(filter(exiting.waits_in_vain, ours))
    return []


def _is_ours(name: str) -> bool:
    return name.startswith("headrace-") and not name.startswith(LEFT_BEHIND)
