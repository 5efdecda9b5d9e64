"""Why steps wait, found by running them: a sentence, a table, and what to change."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, Final

from headrace.analysis.changes import Change, Way, changes
from headrace.analysis.figures import MachineFigures, PipelineFigures, StepFigures
from headrace.analysis.finding import judge
from headrace.clock import MONOTONIC, Clock
from headrace.engine import physical_plan
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.iterator import DatasetIterator
from headrace.machine import current_share
from headrace.observe.stats import IteratorStats
from headrace.observe.tables import plain
from headrace.plan.buffering import options_of
from headrace.plan.node import Node
from headrace.profiling.applying import applied, may_apply, words_for
from headrace.profiling.phases import ALONE, BESIDE, STEP, Epochs, Phase, Step, consume, keep
from headrace.profiling.telling import figures_of, told_nodes
from headrace.profiling.wording import sentence

__all__ = ["Advice", "Profile", "Verdict", "dropped", "improved", "profiled", "step_figures"]

_MOST_ADVICE: Final = 3
# What was tried is kept from here on: two runs of the same differ by about this.
_HELPED: Final = 1.05
# How many changes are tried, one upon the other.
_MOST_TRIED: Final = 3


@frozen
class Verdict:
    """Why steps wait.

    Attributes:
        cause: what it is, in a word: ``"source"``, ``"map"``, ``"gil"``, ``"parallelism"``, ``"buffer"``, ``"burst"``, ``"straggler"``,
            ``"memory_budget"``, ``"consumer"`` or ``"trainer_slowed"``.
        stage: the operation that causes it, as ``explain`` names it; None where it is none.
        waiting_share: the part of the time that steps wait, from 0 to 1.
        text: the same in a sentence.
    """

    cause: str
    stage: str | None
    waiting_share: float
    text: str


@frozen(eq=False)
class Advice:
    """A change that would make steps faster.

    Attributes:
        text: what to write, and where.
        expected_speedup: how many times as many steps a second the model expects.
        measured_speedup: how many there were, where it was tried (``apply=True``); else None.
    """

    text: str
    expected_speedup: float
    _apply: Callable[[], Any] = dataclasses.field(repr=False)
    measured_speedup: float | None = None

    @property
    def helped(self) -> bool:
        """Whether it was tried, and steps were faster."""
        return self.measured_speedup is not None and self.measured_speedup >= _HELPED

    def applied(self) -> Any:
        """Returns the dataset with this change."""
        return self._apply()


@frozen(eq=False)
class Profile:
    """What ``ds.profile()`` found; printed, it is the verdict, what to change, and a table.

    Attributes:
        verdict: why steps wait.
        advice: what would make them faster, what brings most first.
        stats: what the stages did, the pipeline alone.
        steps_per_s: steps a second of step and pipeline together; without a step, of the pipeline.
        pipeline_per_s: elements a second of the pipeline alone.
        step_s: seconds of a step on elements that are there already; None without a step.
        step_beside_s: the same beside the pipeline, without its waiting.
        waited_s: seconds that a step waited for its element.
        tried: the advice that was tried, in that order; empty without ``apply=True``.
        dataset: the dataset with all that helped; None without ``apply=True``.
    """

    verdict: Verdict
    advice: tuple[Advice, ...]
    stats: IteratorStats
    steps_per_s: float
    pipeline_per_s: float
    step_s: float | None = None
    step_beside_s: float | None = None
    waited_s: float | None = None
    tried: tuple[Advice, ...] = ()
    dataset: Any = dataclasses.field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures as dicts, lists, numbers and texts, which JSON can hold."""
        shown = (field.name for field in dataclasses.fields(self) if field.name != "dataset")
        figures = {name: plain(getattr(self, name)) for name in shown}
        for name in ("advice", "tried"):
            figures[name] = [{key: value for key, value in one.items() if key != "_apply"} for one in figures[name]]
        return figures

    def __str__(self) -> str:
        lines = [self.verdict.text, ""]
        lines += [f"  {number}. {one.text}" for number, one in enumerate(self.advice, 1)]
        lines += [f"  tried: {one.text}; measured {one.measured_speedup:.2f}×" for one in self.tried]
        return "\n".join([*lines, *([""] if self.advice or self.tried else []), str(self.stats)])


def profiled(
    plan: Node, step: Step | None, seconds: float, made: Callable[[Node], Any], clock: Clock = MONOTONIC
) -> Profile:
    """Runs a plan on trial.

    Args:
        plan: what is run.
        step: what consumes an element; None for the pipeline alone.
        seconds: how long, in all.
        made: makes a dataset of a plan.
        clock: what tells the time.
    """
    beside = None if step is None else _beside(plan, step, BESIDE * seconds, clock)
    epochs: list[DatasetIterator] = []
    with closing(_elements(plan, epochs)) as elements:
        alone = consume(elements, dropped, seconds if step is None else ALONE * seconds, clock)
        kept = keep(elements) if step is not None else []
    stats = max((iterator.stats() for iterator in epochs), key=lambda one: one.elements)
    options = options_of(plan)
    running = physical_plan(plan, options)
    figures = figures_of(running, options, stats, MachineFigures(cores=current_share().cores))
    steps = None
    if step is not None and beside is not None:
        steps = step_figures(beside, consume(itertools.cycle(kept), step, STEP * seconds, clock))
    judged = steps or StepFigures(alone_s=0.0, beside_s=0.0, waited_s=1 / alone.rate)
    finding = judge(figures, judged, alone.rate)
    name = None if finding.key is None else figures.stage(finding.key).name
    verdict = Verdict(finding.cause.value, name, finding.waiting_share, sentence(finding, figures, steps, alone.rate))
    return Profile(
        verdict,
        tuple(_advice(plan, running, figures, steps, made)),
        stats,
        steps_per_s=(beside or alone).rate,
        pipeline_per_s=alone.rate,
        step_s=None if steps is None else steps.alone_s,
        step_beside_s=None if steps is None else steps.beside_s,
        waited_s=None if steps is None else steps.waited_s,
    )


def improved(plan: Node, step: Step | None, seconds: float, made: Callable[[Node], Any]) -> Profile:
    """Runs a plan on trial, and then with what was advised, one change upon the other; what helps is kept.

    Args:
        plan: what is run.
        step: what consumes an element; None for the pipeline alone.
        seconds: how long a profile takes, about; each change takes half as long.
        made: makes a dataset of a plan.
    """
    first = latest = profiled(plan, step, seconds, made)
    best, tried = plan, list[Advice]()
    waiting = [*first.advice]
    while waiting and len(tried) < _MOST_TRIED:
        advice = waiting.pop(0)
        changed = advice.applied().__headrace_plan__()
        try:
            reached = _beside(changed, step or dropped, BESIDE * seconds).rate
        except HeadraceError as error:  # what cannot be sent to a process, or is more than memory holds
            advice, reached = dataclasses.replace(advice, text=f"{advice.text}; it failed: {error}"), 0.0
        tried.append(dataclasses.replace(advice, measured_speedup=reached / latest.steps_per_s))
        if tried[-1].helped:
            best, latest = changed, profiled(changed, step, seconds, made)
            waiting = [*latest.advice]
    return dataclasses.replace(first, tried=tuple(tried), dataset=made(best))


def _beside(plan: Node, step: Step, seconds: float, clock: Clock = MONOTONIC) -> Phase:
    """Runs a plan with its consumer."""
    with closing(_elements(plan)) as elements:
        return consume(elements, step, seconds, clock)


def _elements(plan: Node, epochs: list[DatasetIterator] | None = None) -> Generator[Any]:
    """Yields elements of one epoch after another; the list gets the iterators of the last two."""

    def began(iterator: Any) -> None:
        if epochs is not None:
            epochs[:] = [*epochs[-1:], iterator]

    yield from Epochs(_Runs(plan), began)


class _Runs:
    """Begins a run of a plan whenever it is iterated."""

    def __init__(self, plan: Node) -> None:
        self._plan = plan

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._plan, counts=False)


def dropped(_: Any) -> None:
    """Takes an element and does nothing with it."""


def step_figures(beside: Phase, own: Phase) -> StepFigures:
    """Returns what is known of steps that ran beside the pipeline, and alone."""
    waits_s = sorted(beside.waits_s)
    return StepFigures(
        alone_s=own.step_s,
        beside_s=beside.step_s,
        waited_s=beside.waited_s,
        waited_p50_s=waits_s[len(waits_s) // 2],
        cpu_s=own.cpu_s,
    )


def _advice(
    written: Node,
    running: Node,
    figures: PipelineFigures,
    step: StepFigures | None,
    made: Callable[[Node], Any],
) -> Iterator[Advice]:
    nodes = told_nodes(running)
    for change in changes(figures, step)[:_MOST_ADVICE]:
        node = None if change.key is None else nodes[change.key]
        if node is not None and not may_apply(written, node):
            continue
        where = "" if node is None else f" for {node.label}" if change.way is not Way.CACHE else f" behind {node.label}"
        gain = f"about {change.expected_speedup:.1f}× as many {'elements' if step is None else 'steps'}"
        apply = functools.partial(_made, made, written, change, node)
        yield Advice(f"{words_for(change)}{where}: {gain}", change.expected_speedup, apply)


def _made(made: Callable[[Node], Any], written: Node, change: Change, node: Node | None) -> Any:
    return made(applied(written, change, node))
