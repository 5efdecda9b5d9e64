"""Why steps wait, as one cause and one sentence.

What is asked, in this order:

1. Do steps wait at all? Where they hardly do, nothing in the pipeline can make them faster: the *consumer* is the slower side,
   unless its own work takes longer beside the pipeline than alone (*trainer_slowed*). Where the pipeline would be slower still, steps wait for
   it within that work, as for Python's lock.
2. Is it the way to the device (*copy*)?
3. Is the pipeline, alone, fast enough on the average? Then what waits is not its rate: few elements come late, seldom (*straggler*) or again and
   again (*burst*), the step itself takes longer beside it (*trainer_slowed*), or nothing is made while a step runs (*buffer*).
4. Else the resource that allows least is the cause: a *cache* that is made anew in each epoch, Python's lock (*gil*), workers which the memory
   budget holds back (*memory_budget*) or of which there are too few (*parallelism*), a *source*, or a *map*.

Of several ranks that step together, one that waits for its data while the others wait for it is the cause of all (*rank*).
"""

from __future__ import annotations

import enum
from typing import Final

from headrace.analysis.figures import CONSUMER, OWN, Kind, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.model import Limit, Resource, bottleneck, called, rate, roomier
from headrace.frozen import frozen

__all__ = ["HARDLY", "MARGIN", "Cause", "Finding", "judge"]

# Steps that wait for less than this part of the time wait for nothing that could be mended.
HARDLY: Final = 0.05
# Figures of two runs of the same differ by about this.
MARGIN: Final = 1.1
# Of the waiting, so much in one thing makes it the cause.
_MOST: Final = 0.5
# Where steps wait alike, a quarter of them has a quarter of the waiting; of a pipeline that comes in lumps nearly all.
UNEVEN: Final = 0.8
# Less than one step in a hundred that waits for long waits for a single element.
_SINGLE: Final = 0.01
# What is ready has to be handed over, to another thread or from another process: short steps wait so much for that alone.
_HANDED: Final = 0.1
# Twice as many calls bring so much where it is for want of them that it is slow.
_MORE: Final = 1.25
# An element that takes so many times as long as half of them stands out.
_FAR: Final = 5


class Cause(enum.StrEnum):
    """Why steps wait."""

    SOURCE = "source"
    MAP = "map"
    GIL = "gil"
    PARALLELISM = "parallelism"
    BUFFER = "buffer"
    BURST = "burst"
    STRAGGLER = "straggler"
    MEMORY_BUDGET = "memory_budget"
    CONSUMER = "consumer"
    COPY = "copy"
    CACHE = "cache"
    TRAINER_SLOWED = "trainer_slowed"
    RANK = "rank"


@frozen
class Finding:
    """Why steps wait.

    Attributes:
        cause: the cause, by its name.
        key: the number of the stage that causes it; None where it is none.
        waiting_share: the part of the time that steps wait, from 0 to 1.
    """

    cause: Cause
    key: int | None
    waiting_share: float

    @property
    def waits(self) -> bool:
        """Whether steps wait so long that it is worth a word."""
        return self.waiting_share >= HARDLY


def judge(figures: PipelineFigures, step: StepFigures, alone_rate: float) -> Finding:
    """Returns why steps wait.

    Args:
        figures: what the stages of the pipeline do.
        step: what its consumer does.
        alone_rate: steps a second that the pipeline gave without a consumer.
    """
    cause, key = _cause(figures, step, alone_rate)
    return Finding(cause, key, step.waiting_share)


def _cause(figures: PipelineFigures, step: StepFigures, alone_rate: float) -> tuple[Cause, int | None]:
    is_slowed = step.beside_s > MARGIN * step.alone_s
    if not figures.stages or (step.waiting_share < HARDLY and not is_slowed):
        return Cause.CONSUMER, None
    if step.waiting_share < HARDLY and alone_rate * step.alone_s * MARGIN >= 1:
        return Cause.TRAINER_SLOWED, None
    if step.copied_s > _MOST * step.waited_s and not (step.copies_beside and step.copied_s * alone_rate < 1):
        return Cause.COPY, None
    # An element that comes late may hold up so many others that the pipeline is slow on the average, though all that it does is not.
    enough = max(alone_rate, rate(figures)) if step.uneven_share > UNEVEN else alone_rate
    if enough * step.alone_s >= MARGIN:
        return _between(figures, step)
    return _slowest(figures)


def _between(figures: PipelineFigures, step: StepFigures) -> tuple[Cause, int | None]:
    """Returns why steps wait for a pipeline that is fast enough on the average."""
    if step.uneven_share > UNEVEN and step.waited_longest_s > step.alone_s:
        return (Cause.STRAGGLER if step.late_share < _SINGLE else Cause.BURST), _late(figures).key
    own = [stage for stage in figures if stage.segment == CONSUMER]
    if not own and step.beside_s > MARGIN * step.alone_s:
        return Cause.TRAINER_SLOWED, None
    if not own and step.waiting_share < _HANDED:
        return Cause.CONSUMER, None
    return Cause.BUFFER, figures.stages[-1].key


def _late(figures: PipelineFigures) -> StageFigures:
    """Returns the stage of which some elements take far longer than others; of several that with the most work."""
    uneven = [stage for stage in figures if stage.longest_s > _FAR * stage.p50_s] or [*figures]
    return max(uneven, key=lambda stage: stage.demand_s)


def _slowest(figures: PipelineFigures) -> tuple[Cause, int | None]:
    """Returns why the pipeline is not faster."""
    limit = bottleneck(figures)
    if limit is None:
        return Cause.BUFFER, None
    stage = figures.stage(limit.key)
    for cache in (other for other in figures if other.misses):
        if stage.key in figures.upstream(cache.key):
            return Cause.CACHE, cache.key
    if limit.resource is Resource.LOCK:
        return Cause.GIL, stage.key
    if limit.resource is Resource.WORKERS and rate(roomier(figures, stage.key)) > MARGIN * rate(figures):
        return Cause.MEMORY_BUDGET, stage.key
    before, in_threads, in_processes = rate(figures), _doubled(figures, limit, stage), 0.0
    if stage.process != OWN:
        in_processes = _doubled(figures, limit, stage, in_processes=True)
    if in_processes > _MORE * before and in_processes > MARGIN * in_threads:
        return Cause.GIL, stage.key
    if in_threads > _MORE * before:
        return Cause.PARALLELISM, stage.key
    return (Cause.SOURCE if stage.kind is Kind.SOURCE else Cause.MAP), stage.key


def _doubled(figures: PipelineFigures, limit: Limit, stage: StageFigures, *, in_processes: bool = False) -> float:
    """Returns how fast it would be with twice as many calls at once, in threads or in processes; 0 where there is none to make."""
    if stage.kind not in (Kind.MAP, Kind.INTERLEAVE) or stage.most_calls == 1 or limit.resource is Resource.CORES:
        return 0.0
    calls = 2 * (stage.calls or 1)
    if stage.most_calls is not None:
        calls = min(calls, stage.most_calls)
    return rate(called(figures, stage.key, calls, in_processes=in_processes))
