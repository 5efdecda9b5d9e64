"""What was seen of who held Python's lock, for each operation of a run, and what processes would do for it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from headrace.frozen import mutable

if TYPE_CHECKING:
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
# So many standard errors more than expected is no chance.
_CHANCE: Final = 2


@mutable
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
        return self.held / self.total if self.moments >= _FEWEST and self.total else None

    @property
    def blocked_share(self) -> float | None:
        """The part of the working time in which it slept, or waited for a file; None where too little was seen."""
        return self.blocked / self.total if self.moments >= _FEWEST and self.total else None

    def speedup(self, processes: int, cores: int) -> float:
        """Returns how many times as many elements so many processes would make, beside what threads made."""
        at_work = (self.held + self.released) / self.total
        there = min(processes, cores / at_work if at_work else math.inf) * _SENDING
        return there / (self.total / self.moments)

    def fade(self, most: float) -> None:
        """Has what was seen until now count as no more than so many moments."""
        if self.moments > most:
            part = most / self.moments
            self.moments, self.held = most, part * self.held
            self.released, self.blocked = part * self.released, part * self.blocked

    def with_held(self, moments: float) -> LockUse:
        """Returns the same with the lock held in so many moments more, or fewer."""
        return dataclasses.replace(self, moments=max(0.0, self.moments + moments), held=max(0.0, self.held + moments))

    @property
    def total(self) -> float:
        """How often one of its threads was found in any state."""
        return self.held + self.released + self.blocked

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
        elsewhere: the names of the stages whose calls run in processes.
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
        elsewhere: Collection[str] = (),
        seen: dict[str, LockUse] | None = None,
    ) -> None:
        self.run: Final = run
        self.threads: Final = threads
        self.moments = 0
        self._processes = processes
        self._parts = parts
        self._cores = cores
        self._elsewhere = elsewhere
        self._uses: dict[str, LockUse] = {} if seen is None else seen
        for use in self._uses.values():
            use.fade(_EARLIER)

    def of(self, operation: str) -> LockUse:
        """Returns what was seen of an operation, to be added to."""
        return self._uses.setdefault(operation, LockUse())

    def told(self, stages: Iterable[StageStats]) -> tuple[StageStats, ...]:
        """Returns what stages did, and with it what was seen of their operations."""
        stages = tuple(stages)
        uses = self._where_it_was_held(stages)
        return tuple(self._told(stage, uses[stage.name]) for stage in stages)

    def _where_it_was_held(self, stages: Sequence[StageStats]) -> dict[str, LockUse]:
        """Returns what was seen of each stage, with the lock held where it was held.

        Who waits for the lock has it when somebody lets go of it: between two elements, or in a sort of NumPy, whatever held it before. In one thread that
        shows the operations that let go, and never the one that does not. So no operation is counted more often than it was at work; what is more was seen
        of those that were at work unseen.
        """
        names = dict.fromkeys(stage.name for stage in stages)
        uses = {
            name: sum(filter(None, map(self._uses.get, self._parts.get(name, (name,)))), LockUse()) for name in names
        }
        here = [stage for stage in stages if stage.name not in self._elsewhere]
        at_work = sum(stage.parallelism for stage in here)
        moments = sum(use.total for use in uses.values())
        if not at_work:
            return uses
        expected = dict.fromkeys(names, 0.0)
        for stage in here:
            expected[stage.name] += stage.parallelism / at_work * moments
        excess = {name: max(0.0, uses[name].held - most - _CHANCE * math.sqrt(most)) for name, most in expected.items()}
        room = {name: max(0.0, most - uses[name].total) for name, most in expected.items()}
        more, unseen = sum(excess.values()), sum(room.values())
        moved = min(more, unseen)
        if not moved:
            return uses
        return {name: use.with_held(moved * (room[name] / unseen - excess[name] / more)) for name, use in uses.items()}

    def _told(self, stage: StageStats, use: LockUse) -> StageStats:
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
