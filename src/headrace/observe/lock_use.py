"""What was seen of who held Python's lock, for each operation of a run, and what processes would do for it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from headrace.observe.stats import StageStats

__all__ = ["LockUse", "RunLockUse"]

# Of fewer moments nothing is said: the standard error of a share is 0.1 then.
_FEWEST: Final = 25
# What earlier epochs showed counts as so many: epochs may be too short to show anything by themselves.
_EARLIER: Final = 60
# What is left of a core's work, where its elements are sent to a process and back.
_SENDING: Final = 0.93
# Neither less held nor less gained is worth a word, as the figures are about as uncertain.
_HELD: Final = 0.3
_GAINED: Final = 1.2


@dataclasses.dataclass(slots=True)
class LockUse:
    """How often the threads of an operation were found in which state, in threads and moments.

    A thread that waits for the lock is in none of them: alone, it would hold it.

    Attributes:
        moments: in which at least one thread was in the operation.
        held: one thread had the lock.
        released: one worked without it.
        blocked: one slept, or waited for a file or the like.
    """

    moments: float = 0.0
    held: float = 0.0
    released: float = 0.0
    blocked: float = 0.0

    @property
    def gil_share(self) -> float | None:
        """The part of the working time in which the lock was held; None where too little was seen."""
        total = self.held + self.released + self.blocked
        return self.held / total if self.moments >= _FEWEST and total else None

    @property
    def blocked_share(self) -> float | None:
        """The part of the working time in which it slept, or waited for a file; None where too little was seen."""
        total = self.held + self.released + self.blocked
        return self.blocked / total if self.moments >= _FEWEST and total else None

    def speedup(self, processes: int, cores: int) -> float:
        """Returns how many times as many elements so many processes would make, beside what threads made."""
        total = self.held + self.released + self.blocked
        at_work = (self.held + self.released) / total
        there = min(processes, cores / at_work if at_work else math.inf) * _SENDING
        return there / (total / self.moments)

    def fade(self, most: float) -> None:
        """Has what was seen until now count as no more than so many moments."""
        if self.moments > most:
            part = most / self.moments
            self.moments, self.held = most, part * self.held
            self.released, self.blocked = part * self.released, part * self.blocked

    def __add__(self, other: LockUse) -> LockUse:
        return LockUse(
            max(self.moments, other.moments),
            self.held + other.held,
            self.released + other.released,
            self.blocked + other.blocked,
        )


class RunLockUse:
    """What was seen of one run.

    Args:
        run: the run, as its method that is marked with ``begins`` knows it.
        threads: the threads that work for it now.
        processes: of each operation that processes could call functions of, by the name of its stage, how many these would be.
        parts: the names of the functions' own operations, where a stage has several of them.
        cores: how many may run at once.
        seen: what was seen of its operations in earlier runs of the same plan, which is added to.
    """

    def __init__(
        self,
        run: object,
        threads: Callable[[], Sequence[int]],
        processes: Mapping[str, int],
        *,
        parts: Mapping[str, Sequence[str]],
        cores: int,
        seen: dict[str, LockUse] | None = None,
    ) -> None:
        self.run: Final = run
        self.threads: Final = threads
        self.moments = 0
        self._processes = processes
        self._parts = parts
        self._cores = cores
        self._uses: dict[str, LockUse] = {} if seen is None else seen
        for use in self._uses.values():
            use.fade(_EARLIER)

    def of(self, operation: str) -> LockUse:
        """Returns what was seen of an operation, to be added to."""
        return self._uses.setdefault(operation, LockUse())

    def told(self, stage: StageStats) -> StageStats:
        """Returns what a stage did, and with it what was seen of its operations."""
        found = [use for name in self._parts.get(stage.name, (stage.name,)) if (use := self._uses.get(name))]
        use = sum(found, LockUse())
        share = use.gil_share
        if share is None:
            return stage
        processes = self._processes.get(stage.name, 0)
        speedup = use.speedup(processes, self._cores) if processes else 0.0
        pays = share >= _HELD and speedup >= _GAINED
        return dataclasses.replace(
            stage,
            gil_share=share,
            blocked_share=use.blocked_share,
            processes=processes if pays else None,
            process_speedup=speedup if pays else None,
        )
