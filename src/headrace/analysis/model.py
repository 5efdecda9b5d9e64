"""How fast a pipeline can be: what each resource allows, and the least of that.

Every step takes seconds of some resources: of the thread that runs a chain of stages, of the workers of a map, of Python's lock,
of the cores. A resource that gives ``capacity`` seconds a second and of which a step takes ``demand_s`` allows ``capacity / demand_s``
steps a second; the pipeline is as fast as the resource that allows least. What a change would bring is the same sum over
changed figures.

Sources: the operational laws of queueing networks (Denning and Buzen 1978), which need no distribution of service times, for the
bound; resource-accounted rates as in Plumber (Kuchnik et al., MLSys 2022).
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterator
from typing import Final

from headrace.analysis.figures import BESIDE, CONSUMER, OWN, TRAINER, Kind, PipelineFigures, StageFigures, StepFigures
from headrace.frozen import frozen

__all__ = [
    "Limit",
    "Resource",
    "beside",
    "bottleneck",
    "buffered",
    "cached_before",
    "called",
    "limits",
    "rate",
    "roomier",
]

# The thread of a prefetch that is not there yet.
_BUFFER: Final = -2
# What an element of a cache in memory costs: its place, and a copy of its bytes.
_CACHED_S: Final = 1e-6
_CACHED_BYTES_PER_S: Final = 5e9
# What it takes to have an element from another process, and to call a function there, beside its own work.
_BROUGHT_S: Final = 2.5e-4
_SENT: Final = 1.12


class Resource(enum.Enum):
    """What a step takes seconds of."""

    THREAD = "thread"  # that runs a serial chain of stages
    WORKERS = "workers"  # of one stage
    LOCK = "lock"  # Python's, of one process
    CORES = "cores"
    COPY = "copy"  # the way to the device
    STEP = "step"  # the consumer's own work


@frozen
class Limit:
    """What one resource allows.

    Attributes:
        resource: which.
        key: the number of the stage that takes most of it; ``CONSUMER`` where that is none.
        demand_s: seconds of it that a step takes.
        capacity: seconds of it that there are in a second.
    """

    resource: Resource
    key: int
    demand_s: float
    capacity: float

    @property
    def rate(self) -> float:
        """Steps a second that it allows."""
        return self.capacity / self.demand_s if self.demand_s > 0 else math.inf


def limits(figures: PipelineFigures, step: StepFigures | None = None) -> tuple[Limit, ...]:
    """Returns what each resource allows, the narrowest first.

    Args:
        figures: what the stages do.
        step: what the consumer does; without it, the pipeline alone.
    """
    found = [*_threads(figures, step), *_workers(figures), *_shared(figures, step)]
    return tuple(sorted((limit for limit in found if limit.demand_s > 0), key=lambda limit: limit.rate))


def bottleneck(figures: PipelineFigures, step: StepFigures | None = None) -> Limit | None:
    """Returns the resource that allows least; None where nothing was measured."""
    return next(iter(limits(figures, step)), None)


def rate(figures: PipelineFigures, step: StepFigures | None = None) -> float:
    """Returns the steps a second that all resources allow; infinite where nothing was measured."""
    least = bottleneck(figures, step)
    return math.inf if least is None else least.rate


def _threads(figures: PipelineFigures, step: StepFigures | None) -> Iterator[Limit]:
    serial = [stage for stage in figures if stage.calls is None]
    for segment in dict.fromkeys([*(stage.segment for stage in serial), CONSUMER]):
        stages = [stage for stage in serial if stage.segment == segment]
        demand_s = sum(stage.demand_s for stage in stages)
        own_s = 0.0 if step is None or segment != CONSUMER else _own_s(figures, step)
        if own_s > demand_s:
            yield Limit(Resource.STEP, CONSUMER, own_s + demand_s, 1.0)
        elif stages:
            yield Limit(Resource.THREAD, _most(stages).key, own_s + demand_s, 1.0)
    if step is not None and step.copies_beside:
        yield Limit(Resource.COPY, CONSUMER, step.copied_s, 1.0)


def _own_s(figures: PipelineFigures, step: StepFigures) -> float:
    """Returns how long a step keeps its thread, whatever the pipeline does in it."""
    copied_s = 0.0 if step.copies_beside else step.copied_s
    brought_s = _BROUGHT_S if any(stage.process == BESIDE for stage in figures) else 0.0
    return step.alone_s + copied_s + brought_s


def _workers(figures: PipelineFigures) -> Iterator[Limit]:
    for stage in figures:
        if stage.calls is not None:
            yield Limit(Resource.WORKERS, stage.key, stage.demand_s, stage.capacity)


def _shared(figures: PipelineFigures, step: StepFigures | None) -> Iterator[Limit]:
    stages = figures.stages
    if not stages:
        return
    for process in (TRAINER, BESIDE) if figures.machine.lock else ():
        held = {stage.key: _held_s(stage) for stage in stages if stage.process == process}
        own_s = 0.0 if step is None or process != TRAINER else step.alone_s * step.lock_share
        if held:
            yield Limit(Resource.LOCK, max(held, key=lambda key: held[key]), sum(held.values()) + own_s, 1.0)
    busiest = max(stages, key=lambda stage: stage.visits * stage.cpu_s)
    cpu_s = sum(stage.visits * stage.cpu_s for stage in stages) + (0.0 if step is None else step.cpu_s)
    yield Limit(Resource.CORES, busiest.key, cpu_s, figures.machine.free_cores)


def _held_s(stage: StageFigures) -> float:
    """Returns for how long a step holds a lock in this stage."""
    return stage.demand_s * stage.lock_share


def _most(stages: list[StageFigures]) -> StageFigures:
    return max(stages, key=lambda stage: stage.demand_s)


# --- what a change would make of the figures ---------------------------------------------------------------------------


def called(figures: PipelineFigures, key: int, calls: int, *, in_processes: bool = False) -> PipelineFigures:
    """Returns the figures with so many calls of a stage at once, in processes of their own where that is asked for."""
    stage = figures.stage(key)
    if not in_processes:
        return figures.replaced(dataclasses.replace(stage, calls=calls))
    cpu_s = stage.cpu_s if stage.process == OWN else _SENT * stage.cpu_s
    return figures.replaced(dataclasses.replace(stage, calls=calls, process=OWN, cpu_s=cpu_s))


def roomier(figures: PipelineFigures, key: int) -> PipelineFigures:
    """Returns the figures with memory for all calls of a stage."""
    return figures.replaced(dataclasses.replace(figures.stage(key), fits=None))


def beside(figures: PipelineFigures) -> PipelineFigures:
    """Returns the figures with all that ran in the trainer's process in another one, which reads ahead."""
    stages = [
        dataclasses.replace(stage, process=BESIDE) if stage.process == TRAINER else stage for stage in buffered(figures)
    ]
    return dataclasses.replace(figures, stages=tuple(stages))


def buffered(figures: PipelineFigures) -> PipelineFigures:
    """Returns the figures with a prefetch at the end: what the consumer's thread ran has a thread of its own."""
    stages = [dataclasses.replace(stage, segment=_BUFFER) if stage.segment == CONSUMER else stage for stage in figures]
    return dataclasses.replace(figures, stages=tuple(stages))


def cached_before(figures: PipelineFigures, key: int) -> PipelineFigures:
    """Returns the figures of an epoch that a cache behind this stage has: neither it nor anything before it runs."""
    spared, stage = figures.upstream(key), figures.stage(key)
    read_s = _CACHED_S + stage.nbytes / _CACHED_BYTES_PER_S
    cache = StageFigures(
        key=key,
        name="cache",
        kind=Kind.CACHE,
        segment=stage.segment,
        visits=stage.visits,
        service_s=read_s,
        cpu_s=read_s,
    )
    kept = [other for other in figures if other.key not in spared]
    return dataclasses.replace(figures, stages=(cache, *kept))
