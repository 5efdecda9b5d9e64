"""Where a run is in its life, and what may happen to it there."""

from __future__ import annotations

import enum
from typing import Final

__all__ = ["CLOSE", "CLOSED", "CLOSING", "GIVE_BACK", "KEEP", "NEXT", "OPEN", "STOP", "STOPPED", "Phase"]


class Phase(enum.IntEnum):
    """Where a run is in its life."""

    OPEN = enum.auto()  # its stages are made and read
    STOPPED = enum.auto()  # every wait ends, and nothing new begins
    CLOSING = enum.auto()  # the same, and a thread joins what works for it
    CLOSED = enum.auto()  # what its stages held is given back, or is being given back


OPEN, STOPPED, CLOSING, CLOSED = Phase
# What happens to a run.
STOP: Final = "stop"
CLOSE: Final = "close"
GIVE_BACK: Final = "give back"  # no thread is within its stages: they are closed
KEEP: Final = "keep"  # Ctrl-C came meanwhile, or a stage could not be closed: close() may try again

# What is not here does not happen. A phase changes in a line of its own under the lock, for stop() and close() come from any
# thread, and not in a method, at whose beginning Ctrl-C may come; for the same reason phases are ints, whose hash is C's, as that of texts is.
NEXT: Final = {
    (OPEN, STOP): STOPPED,
    (STOPPED, STOP): STOPPED,
    (CLOSING, STOP): CLOSING,
    (CLOSED, STOP): CLOSED,
    (OPEN, CLOSE): CLOSING,
    (STOPPED, CLOSE): CLOSING,
    (CLOSING, CLOSE): CLOSING,  # once more, by the thread that Ctrl-C cut short
    (CLOSED, CLOSE): CLOSED,
    (CLOSING, GIVE_BACK): CLOSED,
    (CLOSING, KEEP): CLOSING,
    (CLOSED, KEEP): CLOSING,
}
