"""What could be changed, and how many steps a second the model expects of it.

What a change is worth is a ratio of two sums of the model, before and after, and never of a sum and a measurement: an error that is in
both leaves the ratio alone.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Iterator
from typing import Final

from headrace.analysis.figures import CONSUMER, Kind, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.model import buffered, cached_before, called, rate
from headrace.frozen import frozen

__all__ = ["Change", "Way", "changes"]

# What brings less is not worth a word.
_WORTH: Final = 1.05
# So near the best is as good, with fewer workers.
_NEARLY: Final = 0.97
# Calls that wait may be more than the cores; more than this many mostly load what they wait for.
_MOST_CALLS: Final = 64
# A function that holds the lock for less than this part of its work has left it in threads already.
_HOLDING: Final = 0.3


class Way(enum.StrEnum):
    """What is changed."""

    CALLS = "calls"  # more calls of a map or an interleave at once
    PROCESSES = "processes"  # a map's function called in processes
    PREFETCH = "prefetch"  # elements made while a step runs
    CACHE = "cache"  # what a stage made is kept from the first epoch on
    SUBPROCESS = "subprocess"  # the pipeline leaves the trainer's process


@frozen
class Change:
    """One change of a pipeline.

    Attributes:
        way: what is changed.
        key: of which stage, by its number; None where it is of all.
        calls: how many calls at once, where that is what changes.
        expected_speedup: steps a second afterwards by those before, as the model says.
        figures: what the stages would do.
    """

    way: Way
    key: int | None
    calls: int | None
    expected_speedup: float
    figures: PipelineFigures


def changes(figures: PipelineFigures, step: StepFigures | None) -> tuple[Change, ...]:
    """Returns what would make steps faster, what brings most first.

    Args:
        figures: what the stages do.
        step: what the consumer does; None where the pipeline alone is to be faster.
    """
    before = rate(figures, step)
    found = [
        dataclasses.replace(change, expected_speedup=rate(change.figures, step) / before)
        for change in _possible(figures, step)
    ]
    worth = [change for change in found if change.expected_speedup >= _WORTH]
    return tuple(sorted(worth, key=lambda change: -change.expected_speedup))


def _possible(figures: PipelineFigures, step: StepFigures | None) -> Iterator[Change]:
    for stage in figures:
        if stage.kind in (Kind.MAP, Kind.INTERLEAVE):
            yield from _calls(figures, stage, Way.CALLS, None, step)
        if stage.kind is Kind.MAP and stage.lock_share >= _HOLDING and not stage.is_elsewhere:
            yield from _calls(figures, stage, Way.PROCESSES, True, step)
        if stage.may_be_cached and stage.kind in (Kind.MAP, Kind.INTERLEAVE, Kind.SOURCE):
            yield Change(Way.CACHE, stage.key, None, 1.0, cached_before(figures, stage.key))
    if step is not None and any(stage.segment == CONSUMER for stage in figures):
        yield Change(Way.PREFETCH, None, None, 1.0, buffered(figures))
    if figures.machine.cores > 1 and not all(stage.is_elsewhere for stage in figures):
        elsewhere = [dataclasses.replace(stage, is_elsewhere=True) for stage in buffered(figures)]
        yield Change(Way.SUBPROCESS, None, None, 1.0, dataclasses.replace(figures, stages=tuple(elsewhere)))


def _calls(
    figures: PipelineFigures, stage: StageFigures, way: Way, elsewhere: bool | None, step: StepFigures | None
) -> Iterator[Change]:
    """Yields the fewest calls at once that bring nearly what any number brings."""

    def made(calls: int) -> PipelineFigures:
        return called(figures, stage.key, calls, elsewhere=elsewhere)

    tried = range(1 if elsewhere else (stage.calls or 1) + 1, _MOST_CALLS + 1)
    calls = _fewest(tried, lambda number: rate(made(number), step))
    if calls is not None:
        yield Change(way, stage.key, calls, 1.0, made(calls))


def _fewest(numbers: range, rate_of: Callable[[int], float]) -> int | None:
    rates = {number: rate_of(number) for number in numbers}
    best = max(rates.values(), default=math.inf)
    return next((number for number, reached in rates.items() if reached >= _NEARLY * best), None)
