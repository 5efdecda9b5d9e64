"""What is known of a pipeline and of what consumes it, as the model needs it.

Every figure is of one step: one element that the pipeline delivers, a batch as a rule. A stage that makes 64 elements for
a batch is visited 64 times.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from typing import Final

from headrace.frozen import frozen

__all__ = [
    "BESIDE",
    "CONSUMER",
    "OWN",
    "TRAINER",
    "Kind",
    "MachineFigures",
    "PipelineFigures",
    "StageFigures",
    "StepFigures",
]

# The thread that takes the steps, and runs all stages behind the last that has a thread of its own.
CONSUMER: Final = -1
# So much of a core there is always.
_LEAST_CORES: Final = 0.5
# Whose lock a stage's work takes: that of the trainer's process, that of one process beside it, or one of many processes, each its own.
TRAINER, BESIDE, OWN = "trainer", "beside", "own"


class Kind(enum.Enum):
    """What a stage is, as far as advice depends on it."""

    SOURCE = "source"
    MAP = "map"
    INTERLEAVE = "interleave"
    CACHE = "cache"
    PREFETCH = "prefetch"
    OTHER = "other"


@frozen(kw_only=True)
class StageFigures:
    """What one stage does for a step.

    Attributes:
        key: its number, which tells it from all others.
        name: as ``explain`` and ``stats`` show it; several stages may have one name.
        kind: what it is.
        reads: the numbers of the stages that it reads.
        segment: the thread in which it runs, or which waits for its workers: ``CONSUMER``, or another number for each prefetch.
        visits: how many elements it makes for a step.
        service_s: seconds of its own work for an element, in one thread.
        cpu_s: the part of them in which a processor worked.
        lock_share: the part of its work in which it held Python's lock, from 0 to 1.
        calls: how many of its calls may run at once; None where it has no workers.
        most_calls: how many calls at once there may be; None where there may be as many as one likes.
        is_tuned: whether AUTOTUNE chooses ``calls``.
        in_use: how many of its calls ran at once, on average.
        fits: how many of its calls at once the memory budget has room for; None where there is room for all.
        process: where its calls run, and so whose lock they take: ``TRAINER``, ``BESIDE`` or ``OWN``.
        p50_s: what an element takes at the median.
        longest_s: what the slowest element took.
        nbytes: bytes of an element that it makes.
        epoch_nbytes: bytes of all that it makes in an epoch; None where their number is not known.
        misses: of a cache, whether epochs after the first are made again, as it keeps none.
        may_be_cached: whether each epoch has the same of its elements, and there is an end of them.
        depth: of a prefetch, how many elements it may hold; None where that is left to headrace.
    """

    key: int
    name: str
    kind: Kind = Kind.OTHER
    reads: tuple[int, ...] = ()
    segment: int = CONSUMER
    visits: float = 1.0
    service_s: float = 0.0
    cpu_s: float = 0.0
    lock_share: float = 0.0
    calls: int | None = None
    most_calls: int | None = None
    is_tuned: bool = False
    in_use: float = 0.0
    fits: float | None = None
    process: str = TRAINER
    p50_s: float = 0.0
    longest_s: float = 0.0
    nbytes: float = 0.0
    epoch_nbytes: float | None = None
    misses: bool = False
    may_be_cached: bool = True
    depth: int | None = None

    @property
    def demand_s(self) -> float:
        """Seconds of its work for a step, whoever does it."""
        return self.visits * self.service_s

    @property
    def capacity(self) -> float:
        """How many of its calls may run at once, as far as there is memory for what they make."""
        calls = float(self.calls or 1)
        return calls if self.fits is None else min(calls, self.fits)


@frozen(kw_only=True)
class MachineFigures:
    """What the process may use.

    Attributes:
        cores: how many threads can run at once.
        taken: how many of them other programs use.
        lock: whether threads share a lock; not so in free-threaded Python.
        ram_budget_bytes: how many bytes the pipeline may hold; 0 where that is not known.
    """

    cores: int
    taken: float = 0.0
    lock: bool = True
    ram_budget_bytes: int = 0

    @property
    def free_cores(self) -> float:
        """How many cores there are for the pipeline and its consumer: each program has a share, however busy the others are."""
        return max(_LEAST_CORES, self.cores - self.taken)


@frozen(kw_only=True)
class StepFigures:
    """What a step does with an element once it has it.

    Attributes:
        alone_s: seconds of a step on elements that are there already.
        beside_s: the same, while the pipeline runs beside it.
        copied_s: seconds in which the element was copied to the device.
        copies_beside: whether it is copied while the step before computes.
        waited_s: seconds that a step waited for its element, the copy with it where that is not beside.
        waited_longest_s: what the step waited that waited longest.
        late_share: the part of the steps that come late, that is wait at least half as long as those do in which most of the waiting lies.
        uneven_share: the part of all waiting that fell on the quarter of the steps that waited longest.
        cpu_s: seconds of a processor in the trainer's process for a step alone.
        lock_share: the part of ``alone_s`` in which it holds Python's lock.
    """

    alone_s: float
    beside_s: float
    copied_s: float = 0.0
    copies_beside: bool = True
    waited_s: float = 0.0
    waited_longest_s: float = 0.0
    late_share: float = 0.0
    uneven_share: float = 0.0
    cpu_s: float = 0.0
    lock_share: float = 0.0

    @property
    def waiting_share(self) -> float:
        """The part of the time that steps wait, from 0 to 1."""
        whole_s = self.waited_s + self.beside_s
        return self.waited_s / whole_s if whole_s > 0 else 0.0


@frozen(kw_only=True)
class PipelineFigures:
    """What all stages do, sources first."""

    stages: tuple[StageFigures, ...]
    machine: MachineFigures

    def __iter__(self) -> Iterator[StageFigures]:
        return iter(self.stages)

    def stage(self, key: int) -> StageFigures:
        """Returns the stage of that number."""
        return next(stage for stage in self.stages if stage.key == key)

    def upstream(self, key: int) -> frozenset[int]:
        """Returns the numbers of a stage and of all that it reads, directly or not."""
        return frozenset({key}).union(*(self.upstream(read) for read in self.stage(key).reads))

    def replaced(self, stage: StageFigures) -> PipelineFigures:
        """Returns the same with another stage in place of that of its number."""
        stages = tuple(stage if other.key == stage.key else other for other in self.stages)
        return dataclasses.replace(self, stages=stages)
