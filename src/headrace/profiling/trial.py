"""A pipeline and its consumer, run three times: what was measured, as figures of the model."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any, Final

from headrace.analysis.figures import MachineFigures, PipelineFigures, StepFigures
from headrace.analysis.finding import MARGIN
from headrace.clock import MONOTONIC, Clock
from headrace.elements.structure import nbytes_of
from headrace.engine import physical_plan
from headrace.feed.feed_iterator import FeedIterator
from headrace.frozen import frozen
from headrace.iterator import DatasetIterator
from headrace.machine import current_share
from headrace.observe.lock_probe import PROBE
from headrace.observe.stats import IteratorStats, StageStats
from headrace.physical.run_policy import USUAL
from headrace.plan.buffering import options_of
from headrace.plan.node import Node
from headrace.profiling.contention import Contention, look
from headrace.profiling.phases import ALONE, BESIDE, STEP, Epochs, Phase, Step, consume, keep
from headrace.profiling.telling import figures_of
from headrace.profiling.together import Alone

__all__ = ["Consumer", "Trial", "beside", "dropped", "filled", "step_figures", "tried"]

# A trial leaves its epochs where its time is up, which is no news of the program.
_QUIET: Final = dataclasses.replace(USUAL, tells_of_unkept=False)
# What is counted as a wait of few steps: those of the longest quarter.
_FEW: Final = 4


@frozen(kw_only=True)
class Consumer:
    """What takes the elements of a pipeline.

    Attributes:
        step: what is called with each; None drops them.
        feed: makes of a dataset what brings its elements to a device; None where they come as they are.
        ranks: who steps together.
    """

    step: Step | None = None
    feed: Callable[[Any], Iterable[Any]] | None = None
    ranks: Alone = Alone()

    def goes_on(self, wants: bool) -> bool:
        """Returns whether to take another step."""
        return self.ranks.goes_on(wants=wants)


@frozen
class Trial:
    """What was measured.

    Attributes:
        running: the plan as it ran.
        stats: of the pipeline alone.
        figures: what its stages did for a step.
        alone: the pipeline alone.
        beside: the consumer beside the pipeline; None without a step.
        step: what is known of its steps; None without a step.
        contention: how busy the machine was meanwhile.
    """

    running: Node
    stats: IteratorStats
    figures: PipelineFigures
    alone: Phase
    beside: Phase | None
    step: StepFigures | None
    contention: Contention


def tried(
    plan: Node, consumer: Consumer, seconds: float, made: Callable[[Node], Any], clock: Clock = MONOTONIC
) -> Trial:
    """Runs a plan and its consumer.

    Args:
        plan: what is run.
        consumer: what takes its elements.
        seconds: how long, in all.
        made: makes a dataset of a plan.
        clock: what tells the time.
    """
    step, goes_on = consumer.step, consumer.goes_on
    taken, kept, by_step = _Taken(), list[Any](), None
    if step is not None:
        with closing(_Fed(plan, consumer, made).elements(taken.began)) as elements:
            by_step = consume(elements, step, BESIDE * seconds, clock, goes_on)
            taken.look()
            kept = keep(elements, STEP * seconds, clock, goes_on)
    began = _Began()
    with closing(Epochs(_Runs(plan), began.add).__iter__()) as elements:
        alone_s = seconds if step is None else ALONE * seconds
        with PROBE.closely():
            alone = consume(elements, dropped, alone_s, clock, goes_on, began.count_from_here)
        contention = began.contention()
        # Before it is closed, as what is left in the middle of an epoch now is left by nobody else.
        stats = began.stats()
    stats = _with_locks(stats, taken.stages)
    options = options_of(plan)
    running, machine = physical_plan(plan, options), _machine(contention)
    step_nbytes = sum(map(nbytes_of, kept)) / len(kept) if kept and consumer.feed is None else 0.0
    figures = figures_of(
        running, options, stats, machine, is_first=began.is_first, step_nbytes=step_nbytes, contention=contention
    )
    if step is None or by_step is None:
        return Trial(running, stats, figures, alone, None, None, contention)
    own = consume(itertools.cycle(kept), step, STEP * seconds, clock, goes_on)
    steps = step_figures(by_step, own, taken.copied_s, taken.copies_beside)
    return Trial(running, stats, figures, alone, by_step, steps, contention)


def beside(plan: Node, consumer: Consumer, seconds: float, made: Callable[[Node], Any]) -> Phase:
    """Runs a plan with its consumer alone."""
    with closing(_Fed(plan, consumer, made).elements(lambda _: None)) as elements:
        return consume(elements, consumer.step or dropped, seconds, MONOTONIC, consumer.goes_on)


def filled(plan: Node, seconds: float) -> bool:
    """Reads an epoch, so that caches have it, for as long as it may take; returns whether it came to its end."""
    end_s = MONOTONIC.now_s() + seconds
    with closing(_Runs(plan).__iter__()) as elements:
        return all(MONOTONIC.now_s() < end_s for _ in elements)


class _Taken:
    """What is known of the iterators that a step took its elements from.

    Attributes:
        copied_s: how long it took to copy an element to the device.
        copies_beside: whether that is beside the step before.
        stages: what the stages did.
    """

    def __init__(self) -> None:
        self._latest: Any = None
        self.copied_s = 0.0
        self.copies_beside = True
        self.stages: tuple[StageStats, ...] = ()

    def began(self, iterator: Any) -> None:
        """Takes the iterator of an epoch."""
        if self._latest is not None:
            self.look()
        self._latest = iterator

    def look(self) -> None:
        """Reads what the latest iterator has measured."""
        if isinstance(self._latest, FeedIterator):
            stats = self._latest.stats()
            self.copied_s = stats.step.copied.mean_s or self.copied_s
            self.copies_beside = self._latest.copies_beside
            self._look_at(stats.pipeline.stages)
        elif isinstance(self._latest, DatasetIterator):
            self._look_at(self._latest.stats().stages)

    def _look_at(self, stages: tuple[StageStats, ...]) -> None:
        if not self.stages or any(stage.gil_share is not None for stage in stages):
            self.stages = stages


def _with_locks(stats: IteratorStats, others: Sequence[StageStats]) -> IteratorStats:
    """Returns the figures with what was seen of the lock beside the step, where alone too little was seen of it."""
    if len(others) < len(stats.stages):
        return stats
    stages = (
        stage
        if stage.gil_share is not None
        else dataclasses.replace(stage, gil_share=other.gil_share, blocked_share=other.blocked_share)
        for stage, other in zip(stats.stages, others, strict=False)
    )
    return dataclasses.replace(stats, stages=tuple(stages))


class _Began:
    """The iterators of the last two epochs: the last may just have begun."""

    def __init__(self) -> None:
        self._latest: list[DatasetIterator] = []
        self._looked = look()

    def add(self, iterator: Any) -> None:
        """Takes that of a new epoch."""
        self._latest = [*self._latest[-1:], iterator]

    @property
    def is_first(self) -> bool:
        """Whether there was no epoch before."""
        return len(self._latest) == 1

    def count_from_here(self) -> None:
        """Leaves out what it took to begin."""
        self._latest[-1].begin_window()
        self._looked = look()

    def contention(self) -> Contention:
        """Returns how busy the machine was since then."""
        return look().since(self._looked)

    def stats(self) -> IteratorStats:
        """Returns what the longer of the two did."""
        return max((one.stats() for one in self._latest), key=lambda one: one.elements)


def _machine(contention: Contention) -> MachineFigures:
    """Returns what the machine leaves to this process: what others do not use, or its turns among them."""
    cores = current_share().cores
    shared = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    in_turn = cores / max(contention.here, contention.elsewhere)
    free = max(shared - contention.others, in_turn, contention.ours)
    return MachineFigures(cores=cores, taken=max(0.0, cores - free))


class _Runs:
    """Begins a run of a plan whenever it is iterated."""

    def __init__(self, plan: Node) -> None:
        self._plan = plan

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._plan, counts=False, policy=_QUIET)


@frozen
class _Fed:
    """A plan, as its consumer takes it."""

    plan: Node
    consumer: Consumer
    made: Callable[[Node], Any]

    def elements(self, began: Callable[[Any], None]) -> Generator[Any]:
        """Yields elements of one epoch after another."""
        feed = self.consumer.feed
        yield from Epochs(_Runs(self.plan) if feed is None else feed(self.made(self.plan)), began)


def dropped(_: Any) -> None:
    """Takes an element and does nothing with it."""


def step_figures(beside: Phase, own: Phase, copied_s: float = 0.0, copies_beside: bool = True) -> StepFigures:
    """Returns what is known of steps that ran beside the pipeline, and alone."""
    waits_s = sorted(beside.waits_s, reverse=True)
    whole_s = sum(waits_s)
    few_s = sum(waits_s[: max(1, len(waits_s) // _FEW)])
    # How much of it holds the lock is not seen; where it is slower beside the pipeline, all that a processor does may.
    is_slowed = beside.step_s > MARGIN * own.step_s
    return StepFigures(
        alone_s=own.step_s,
        beside_s=beside.step_s,
        copied_s=copied_s,
        copies_beside=copies_beside,
        waited_s=beside.waited_s,
        waited_longest_s=waits_s[0],
        late_share=_late_share(waits_s),
        uneven_share=few_s / whole_s if whole_s > 0 else 0.0,
        cpu_s=max(own.cpu_s, own.process_s),
        lock_share=min(1.0, own.cpu_s / own.step_s) if is_slowed and own.step_s > 0 else 0.0,
    )


def _late_share(waits_s: list[float]) -> float:
    """Returns the part of the steps that come late, the longest waits first: with half of the wait that a late one has.

    That is the wait that half of all waiting lies beyond: a single one that is longer than all others says nothing of how often they come.
    """
    whole_s, passed_s = sum(waits_s), itertools.accumulate(waits_s)
    late_s = next(wait_s for wait_s, sum_s in zip(waits_s, passed_s, strict=True) if sum_s >= whole_s / 2)
    return sum(wait_s >= late_s / 2 for wait_s in waits_s) / len(waits_s)
