"""Where an iterator is in its life, and what brings it from one phase to the next."""

from __future__ import annotations

import enum
from typing import Final

__all__ = ["BEGIN", "END", "ENDED", "LOAD", "LOSE", "LOST", "NEW", "NEXT", "RUNNING", "Phase"]


class Phase(enum.IntEnum):
    """Where an iterator is in its life."""

    NEW = enum.auto()  # nothing was asked for yet
    RUNNING = enum.auto()
    ENDED = enum.auto()  # at its end, by close(), or by an error of the engine's: no element comes any more
    LOST = enum.auto()  # the same, and nobody knows where it stands


NEW, RUNNING, ENDED, LOST = Phase
# What happens to an iterator.
BEGIN: Final = "begin"  # its run was made
END: Final = "end"
LOSE: Final = "lose"  # Ctrl-C came, and executor="inline" was within an element
LOAD: Final = "load"  # it goes on from a state

# What is not here does not happen. A phase changes in a line of its own under the lock, for close() comes from any thread, and
# not in a method, at whose beginning Ctrl-C may come; for the same reason phases are ints, whose hash is C's, as that of texts is.
NEXT: Final = {
    (NEW, BEGIN): RUNNING,
    (ENDED, BEGIN): ENDED,  # closed by another thread just when the run began
    (NEW, END): ENDED,
    (RUNNING, END): ENDED,
    (ENDED, END): ENDED,
    (LOST, END): LOST,
    (NEW, LOSE): LOST,
    (RUNNING, LOSE): LOST,
    (ENDED, LOSE): LOST,  # closed by another thread while an element was made
    (LOST, LOSE): LOST,
    (NEW, LOAD): NEW,
    (RUNNING, LOAD): NEW,
    (ENDED, LOAD): NEW,
    (LOST, LOAD): NEW,
}
