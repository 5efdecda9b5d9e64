"""What could be changed, and how many steps a second the model expects of it.

What a change is worth is a ratio of two sums of the model, before and after, and never of a sum and a measurement: an error that is in
both leaves the ratio alone.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from headrace.analysis.calls import MOST_CALLS
from headrace.analysis.figures import CONSUMER, OWN, TRAINER, Kind, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.finding import UNEVEN, Cause
from headrace.analysis.model import beside, buffered, cached_before, called, rate, roomier
from headrace.frozen import frozen

__all__ = ["Change", "Way", "best_first", "changes", "held_ready", "in_processes"]

# What brings less is not worth a word.
_WORTH: Final = 1.05
# An element that takes less is sooner made than sent.
_WORTH_SENDING_S: Final = 2e-5
# Of all waiting so much is hidden by what lies ready: less does after another wait, and while prefetch tries whether it gains.
_HIDDEN: Final = 0.75
# What brings so much of what the best does comes before it, where it mends the cause.
_NEAR: Final = 0.5
# So near the best is as good, with fewer workers.
_NEARLY: Final = 0.97
# A pipeline that gives no more than this part of what the step could take stays slow, however much of it lies ready.
_ENOUGH: Final = 0.7
# So much more room than the figures ask for, as they are means.
_ROOM: Final = 1.5
# A function that holds the lock for less than this part of its work has left it in threads already.
_HOLDING: Final = 0.3
# What has a processor for more of its time than this computes.
_COMPUTES: Final = 0.5


class Way(enum.StrEnum):
    """What is changed."""

    CALLS = "calls"  # more calls of a map or an interleave at once
    PROCESSES = "processes"  # a map's function called in processes
    PREFETCH = "prefetch"  # elements made while a step runs
    HOLD = "hold"  # more elements held ready
    BUDGET = "budget"  # more memory
    THREADS = "threads"  # operations run beside the consumer at all
    CACHE = "cache"  # what a stage made is kept from the first epoch on
    SUBPROCESS = "subprocess"  # the pipeline leaves the trainer's process


# What mends a cause.
_MENDS: Final[dict[Cause | None, tuple[Way, ...]]] = {
    Cause.GIL: (Way.PROCESSES,),
    Cause.PARALLELISM: (Way.CALLS, Way.PROCESSES),
    Cause.BUFFER: (Way.PREFETCH,),
    Cause.BURST: (Way.HOLD,),
    Cause.STRAGGLER: (Way.HOLD,),
    Cause.MEMORY_BUDGET: (Way.BUDGET,),
    Cause.CACHE: (Way.CACHE,),
    Cause.TRAINER_SLOWED: (Way.SUBPROCESS,),
}


@frozen
class Change:
    """One change of a pipeline.

    Attributes:
        way: what is changed.
        key: of which stage, by its number; None where it is of all.
        number: how many calls at once, elements held ready, or bytes, where that is what changes.
        expected_speedup: steps a second afterwards by those before, as the model says.
        figures: what the stages would do.
    """

    way: Way
    key: int | None
    number: int | None
    expected_speedup: float
    figures: PipelineFigures


def changes(
    figures: PipelineFigures,
    step: StepFigures | None,
    alone_rate: float = math.inf,
    *,
    threaded: PipelineFigures | None = None,
    cause: Cause | None = None,
    noise: float = 0.0,
) -> tuple[Change, ...]:
    """Returns what would make steps faster, what brings most first; what mends the cause before what brings hardly more.

    Args:
        figures: what the stages do.
        step: what the consumer does; None where the pipeline alone is to be faster.
        alone_rate: steps a second that the pipeline gave without a consumer.
        threaded: what the stages would do with threads, where they run in the consumer's alone.
        cause: why steps wait.
        noise: the part by which the rate of steps is uncertain: nothing is promised that lies within it.
    """
    before = rate(figures, step)
    upon = figures if threaded is None else threaded
    possible = [*_possible(upon, step)]
    if threaded is not None:  # which nobody has by a cache
        caches = [change for change in _possible(figures, step) if change.way is Way.CACHE]
        possible = [*(change for change in possible if change.way is not Way.CACHE), *caches]
    found = [dataclasses.replace(change, expected_speedup=rate(change.figures, step) / before) for change in possible]
    if threaded is not None:
        found.append(Change(Way.THREADS, None, None, rate(threaded, step) / before, threaded))
    if step is not None:
        found += _held(upon, step, alone_rate)
    return best_first(found, cause, noise)


def best_first(found: Iterable[Change], cause: Cause | None = None, noise: float = 0.0) -> tuple[Change, ...]:
    """Returns the changes that are worth a word, as ``changes`` has them."""
    worth = [change for change in found if change.expected_speedup >= max(_WORTH, 1 + noise)]
    best = max((change.expected_speedup for change in worth), default=0.0)

    def rank(change: Change) -> tuple[bool, bool, float]:
        is_near = change.expected_speedup >= _NEAR * best
        return not is_near, change.way not in _MENDS.get(cause, ()), -change.expected_speedup

    return tuple(sorted(worth, key=rank))


def in_processes(
    change: Change, figures: PipelineFigures, step: StepFigures | None, upon: PipelineFigures
) -> Change | None:
    """Returns what more calls at once would bring in processes, whether they hold the lock or not; None where they would wait there as well.

    Args:
        change: more calls at once in threads.
        figures: what the stages do.
        step: what the consumer does; None where the pipeline alone is to be faster.
        upon: what the stages would do with threads.
    """
    assert change.key is not None  # it is of one stage
    stage = upon.stage(change.key)
    computes = stage.cpu_s > _COMPUTES * stage.service_s and stage.service_s >= _WORTH_SENDING_S
    if stage.kind is not Kind.MAP or stage.process == OWN or not computes:
        return None
    found = next(_calls(upon, stage, Way.PROCESSES, step), None)
    if found is None:
        return None
    return dataclasses.replace(found, expected_speedup=rate(found.figures, step) / rate(figures, step))


def held_ready(step: StepFigures) -> int:
    """Returns how many elements must lie ready more, so that the longest wait passes unnoticed."""
    return math.ceil(_ROOM * step.waited_longest_s / max(step.alone_s, 1e-6))


def _possible(figures: PipelineFigures, step: StepFigures | None) -> Iterator[Change]:
    spared = frozenset[int]().union(*(figures.upstream(stage.key) for stage in figures if stage.misses))
    for stage in figures:
        may_have_calls = stage.most_calls != 1
        if stage.kind in (Kind.MAP, Kind.INTERLEAVE) and may_have_calls:
            yield from _calls(figures, stage, Way.CALLS, step)
        holds = stage.lock_share >= _HOLDING and stage.service_s >= _WORTH_SENDING_S
        if stage.kind is Kind.MAP and holds and may_have_calls and stage.process != OWN:
            yield from _calls(figures, stage, Way.PROCESSES, step)
        if stage.fits is not None:
            times = math.ceil(_ROOM * (stage.calls or 1) / max(stage.fits, 1.0))
            nbytes = times * figures.machine.ram_budget_bytes
            yield Change(Way.BUDGET, stage.key, nbytes, 1.0, roomier(figures, stage.key))
        if spared:  # by a cache behind what leaves epochs before their end, or by none
            is_to_keep = stage is _last_kept(figures)
        else:
            is_to_keep = stage.may_be_cached and stage.kind in (Kind.MAP, Kind.INTERLEAVE, Kind.SOURCE)
        has_room = (stage.epoch_nbytes or 0.0) <= (figures.machine.ram_budget_bytes or math.inf)
        if is_to_keep and has_room:
            yield Change(Way.CACHE, stage.key, None, 1.0, cached_before(figures, stage.key))
    if step is not None and any(stage.segment == CONSUMER for stage in figures):
        yield Change(Way.PREFETCH, None, None, 1.0, buffered(figures))
    if figures.machine.cores > 1 and any(stage.process == TRAINER for stage in figures):
        yield Change(Way.SUBPROCESS, None, None, 1.0, beside(figures))


def _last_kept(figures: PipelineFigures) -> StageFigures | None:
    """Returns the last stage that gives each epoch the same elements."""
    kept = [stage for stage in figures if stage.may_be_cached and stage.kind is not Kind.PREFETCH]
    return kept[-1] if kept and not kept[-1].misses else None


def _held(figures: PipelineFigures, step: StepFigures, alone_rate: float) -> Iterator[Change]:
    """Yields as much held ready as the longest wait takes, where the pipeline is fast enough and comes at the wrong moments."""
    if step.uneven_share <= UNEVEN or alone_rate * step.alone_s < _ENOUGH:
        return
    number = held_ready(step) + max(stage.depth or 0 for stage in figures)
    if number * figures.stages[-1].nbytes > (figures.machine.ram_budget_bytes or math.inf):
        return
    reached = min(1 / max(step.alone_s, 1e-9), alone_rate)
    gained = reached * (step.alone_s + step.waited_s) - 1
    yield Change(Way.HOLD, None, number, 1 + _HIDDEN * gained, figures)


def _calls(figures: PipelineFigures, stage: StageFigures, way: Way, step: StepFigures | None) -> Iterator[Change]:
    """Yields the fewest calls at once that bring nearly what any number brings."""
    in_processes = way is Way.PROCESSES

    def made(calls: int) -> PipelineFigures:
        return called(figures, stage.key, calls, in_processes=in_processes)

    most = MOST_CALLS if stage.most_calls is None else min(stage.most_calls, MOST_CALLS)
    tried = range(1 if in_processes else (stage.calls or 1) + 1, most + 1)
    calls = _fewest(tried, lambda number: rate(made(number), step))
    if calls is not None:
        yield Change(way, stage.key, calls, 1.0, made(calls))


def _fewest(numbers: range, rate_of: Callable[[int], float]) -> int | None:
    rates = {number: rate_of(number) for number in numbers}
    best = max(rates.values(), default=math.inf)
    return next((number for number, reached in rates.items() if reached >= _NEARLY * best), None)
