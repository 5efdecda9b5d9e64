"""Why steps wait, as one cause and one sentence.

What is asked, in this order:

1. Do steps wait at all? Where they hardly do, nothing in the pipeline can make them faster: the *consumer* is the slower side,
   unless its own work takes longer beside the pipeline than alone (*trainer_slowed*).
2. Is the pipeline, alone, fast enough on the average? Then what waits is not its rate: the way to the device (*copy*), single
   elements (*straggler*), many slow ones in a row (*burst*), or that nothing is made while a step runs (*buffer*).
3. Else the resource that allows least is the cause: Python's lock (*gil*), workers of which there are too few (*parallelism*) or which
   the memory budget holds back (*memory_budget*), a *cache* that never has what is asked for, a *source*, or a *map*.
"""

from __future__ import annotations

import enum
from typing import Final

from headrace.analysis.figures import CONSUMER, Kind, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.model import Limit, Resource, bottleneck, called, rate
from headrace.frozen import frozen

__all__ = ["HARDLY", "MARGIN", "Cause", "Finding", "judge"]

# Steps that wait for less than this part of the time wait for nothing that could be mended.
HARDLY: Final = 0.05
# Figures of two runs of the same differ by about this.
MARGIN: Final = 1.1
# Of the waiting, so much in one thing makes it the cause.
_MOST: Final = 0.5
# A stage that holds so much of its share of the memory is held back by it.
_FULL: Final = 0.9
# Fewer slow elements a step than this are single ones: they come once in a hundred steps, or less.
_SINGLE: Final = 0.01


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
    if step.waiting_share < HARDLY or not figures.stages:
        return (Cause.TRAINER_SLOWED if step.beside_s > MARGIN * step.alone_s else Cause.CONSUMER), None
    if step.copied_s > _MOST * step.waited_s:
        return Cause.COPY, None
    if alone_rate * step.alone_s >= MARGIN:
        return _between(figures, step)
    return _slowest(figures)


def _between(figures: PipelineFigures, step: StepFigures) -> tuple[Cause, int | None]:
    """Returns why steps wait for a pipeline that is fast enough on the average."""
    slow = max(figures, key=lambda stage: stage.slow_visits * stage.longest_s)
    if slow.longest_s > step.alone_s and slow.slow_visits * slow.longest_s > _MOST * step.waited_s:
        return (Cause.STRAGGLER if slow.slow_visits < _SINGLE else Cause.BURST), slow.key
    own = [stage for stage in figures if stage.segment == CONSUMER]
    if not own and step.beside_s > MARGIN * step.alone_s:
        return Cause.TRAINER_SLOWED, None
    return Cause.BUFFER, figures.stages[-1].key


def _slowest(figures: PipelineFigures) -> tuple[Cause, int | None]:
    """Returns why the pipeline is not faster."""
    limit = bottleneck(figures)
    if limit is None:
        return Cause.BUFFER, None
    stage = figures.stage(limit.key)
    missed = [other for other in figures if other.kind is Kind.CACHE and not other.hits and other.hits is not None]
    for cache in missed:
        if stage.key in figures.upstream(cache.key):
            return Cause.CACHE, cache.key
    if limit.resource is Resource.LOCK:
        return Cause.GIL, stage.key
    if stage.held_share >= _FULL and limit.resource is Resource.WORKERS:
        return Cause.MEMORY_BUDGET, stage.key
    if _gains_by_calls(figures, limit, stage):
        return Cause.PARALLELISM, stage.key
    if _gains_by_calls(figures, limit, stage, elsewhere=True):
        return Cause.GIL, stage.key
    return (Cause.SOURCE if stage.kind is Kind.SOURCE else Cause.MAP), stage.key


def _gains_by_calls(
    figures: PipelineFigures, limit: Limit, stage: StageFigures, *, elsewhere: bool | None = None
) -> bool:
    """Returns whether more calls at once would make it faster, in threads or elsewhere."""
    if stage.kind not in (Kind.MAP, Kind.INTERLEAVE) or limit.resource is Resource.CORES:
        return False
    more = 2 * (stage.calls or 1)
    return rate(called(figures, stage.key, more, elsewhere=elsewhere)) > MARGIN * rate(figures)
