"""What looks at a run while it is open, from other threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.observe.lock_probe import PROBE
from headrace.observe.onlookers import ONLOOKERS
from headrace.observe.stalls import Vigil
from headrace.observe.watch import WATCH, Watched

if TYPE_CHECKING:
    from headrace.observe.lock_use import RunLockUse

__all__ = ["RunWatch"]


class RunWatch:
    """Looks whether a run waits for too long, and who holds Python's lock meanwhile; and lets others look at it from outside.

    Args:
        vigil: warns of a wait, where it has patience.
        lock_use: gets what is seen of the lock; None where nothing is to be seen.
    """

    def __init__(self, vigil: Vigil, lock_use: RunLockUse | None = None) -> None:
        self._vigil = vigil
        self._lock_use = lock_use

    def begin(self, *, may_hang: bool = True) -> None:
        """Looks at the run from now on; where it cannot hang, who reads it says often enough that it lasts."""
        watches: list[Watched] = []
        if may_hang and self._vigil.patience_s is not None:
            watches.append(self._vigil)
        if self._lock_use is not None:
            PROBE.begin(self._lock_use)
            watches.append(PROBE)
        ONLOOKERS.begins(self)
        if may_hang and ONLOOKERS.is_waiting:
            watches.append(ONLOOKERS)
        if watches:
            WATCH.add(*watches)

    def end(self) -> None:
        """Looks at it no more; may be called again, and before it began."""
        WATCH.remove(self._vigil)
        if self._lock_use is not None:
            PROBE.end(self._lock_use)
        ONLOOKERS.ends(self)
