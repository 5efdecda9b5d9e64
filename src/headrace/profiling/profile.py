"""Why steps wait, found by running them: a sentence, a table, and what to change."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from headrace.analysis.changes import Change, Way, changes
from headrace.analysis.figures import PipelineFigures, StepFigures
from headrace.analysis.finding import Cause, Finding, judge
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.stats import IteratorStats
from headrace.observe.tables import data_size, duration, plain
from headrace.page.stairs import Window
from headrace.plan.buffering import options_of
from headrace.plan.node import Node
from headrace.plan.options import Options
from headrace.profiling.applying import applied, words_for
from headrace.profiling.phases import BESIDE, CALLS, Phase
from headrace.profiling.proving import Prover, proven
from headrace.profiling.telling import figures_of, told_nodes
from headrace.profiling.together import Found
from headrace.profiling.trial import Consumer, Trial, beside, filled, tried
from headrace.profiling.wording import sentence, sentence_of_ranks

__all__ = ["Advice", "Profile", "Verdict", "improved", "profiled"]

_MOST_ADVICE: Final = 3
# What the verdict itself says the remedy of, if there is one.
_BEYOND: Final = (Cause.CONSUMER.value, Cause.COPY.value, Cause.RANK.value)
# What was tried is kept from here on: two runs of the same differ by about this.
_HELPED: Final = 1.05
# Between what to write and what it brings.
_GAIN: Final = ": about "
# How many changes are tried, one upon the other.
_MOST_TRIED: Final = 3


@frozen
class Verdict:
    """Why steps wait.

    Attributes:
        cause: what it is, in a word: ``"source"``, ``"map"``, ``"gil"``, ``"parallelism"``, ``"buffer"``, ``"burst"``, ``"straggler"``,
            ``"memory_budget"``, ``"consumer"``, ``"copy"``, ``"cache"``, ``"trainer_slowed"`` or ``"rank"``.
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
        measured_speedup: how many there were, where it was tried (``apply=True``); else None. A cache is tried once it is filled.
    """

    text: str
    expected_speedup: float
    _apply: Callable[[], Any] = dataclasses.field(repr=False)
    measured_speedup: float | None = None
    _fills: bool = dataclasses.field(default=False, repr=False)  # whether it pays from the second epoch on

    @property
    def helped(self) -> bool:
        """Whether it was tried, and steps were faster."""
        return self.measured_speedup is not None and self.measured_speedup >= _HELPED

    def __str__(self) -> str:
        """Returns what to write, and what it brought where it was tried."""
        if not self.measured_speedup:  # not tried, or it failed, as its text says
            return self.text
        return f"{self.text}; measured {self.measured_speedup:.2f}×, {'kept' if self.helped else 'not kept'}"

    def applied(self) -> Any:
        """Returns the dataset with this change."""
        return self._apply()


@frozen(eq=False)
class Profile:
    """What ``ds.profile()`` found; printed, it is the verdict, what to change, and a table.

    Attributes:
        verdict: why steps wait.
        advice: what would make them faster: first what mends the cause, where it brings half of what anything does, and then what brings most.
        stats: what the stages did, the pipeline alone.
        steps_per_s: steps a second of step and pipeline together; without a step, of the pipeline.
        pipeline_per_s: elements a second of the pipeline alone.
        step_s: seconds of a step on elements that are there already; None without a step.
        step_beside_s: the same beside the pipeline, without its waiting.
        waited_s: seconds that a step waited for its element.
        windows: the part of its time that a step waited, over the time that step and pipeline ran together; empty without a step.
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
    windows: tuple[Window, ...] = ()
    tried: tuple[Advice, ...] = ()
    dataset: Any = dataclasses.field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures as dicts, lists, numbers and texts, which JSON can hold."""
        shown = (field.name for field in dataclasses.fields(self) if field.name != "dataset")
        figures = {name: plain(getattr(self, name)) for name in shown}
        for name in ("advice", "tried"):
            figures[name] = [
                {key: value for key, value in one.items() if not key.startswith("_")} for one in figures[name]
            ]
        return figures

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page with the verdict, pictures, advice and figures: one HTML file that needs nothing beside itself.

        Args:
            path: the file; it appears when it is complete, in place of what stood there.

        Raises:
            FailedPreconditionError: the folder is missing or cannot be written, or ``path`` is a folder.

        Example:
            >>> import pathlib, tempfile
            >>> import headrace as hr
            >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
            >>> hr.Dataset.range(1000).batch(8).profile(seconds=0.1).save(page)
            >>> page.read_text(encoding="utf-8")[:15]
            '<!doctype html>'
        """
        from headrace.page.writing import write_page
        from headrace.profiling.page import profile_page

        write_page(Path(path), profile_page(self))

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        import html

        from headrace.profiling.page import advice_list

        verdict = html.escape(self.verdict.text)
        return f"<div><p><strong>{verdict}</strong></p>{advice_list(self)}{self.stats._repr_html_()}</div>"

    def __str__(self) -> str:
        told = [f"  {number}. {one}" for number, one in enumerate(self.tried or self.advice, 1)]
        if not told and self.verdict.cause not in _BEYOND:
            told.append("  no word in this plan is expected to bring more than two runs of it differ")
        if self.tried:
            told.append(f"  {self.together}")
        return "\n".join([self.verdict.text, "", *told, *([""] if told else []), str(self.stats)])

    @property
    def together(self) -> str:
        """What all that was tried brought, in words."""
        kept = [one.measured_speedup or 1.0 for one in self.tried if one.helped]
        return f"together {math.prod(kept):.2f}×: profile.dataset has it" if kept else "none of it helped"


def profiled(plan: Node, consumer: Consumer, seconds: float, made: Callable[[Node], Any]) -> Profile:
    """Runs a plan on trial.

    Args:
        plan: what is run.
        consumer: what takes its elements.
        seconds: how long, in all.
        made: makes a dataset of a plan.
    """
    trial = tried(plan, consumer, seconds, made)
    step, alone = trial.step, trial.alone
    judged = step or StepFigures(alone_s=0.0, beside_s=0.0, waited_s=1 / alone.rate)
    finding = judge(trial.figures, judged, alone.rate)
    return Profile(
        _verdict(finding, trial, consumer),
        tuple(_advice(plan, trial, finding.cause, made, consumer, seconds)),
        trial.stats,
        steps_per_s=(trial.beside or alone).rate,
        pipeline_per_s=alone.rate,
        step_s=None if step is None else step.alone_s,
        step_beside_s=None if step is None else step.beside_s,
        waited_s=None if step is None else step.waited_s,
        windows=() if trial.beside is None else trial.beside.windows,
    )


def improved(plan: Node, consumer: Consumer, seconds: float, made: Callable[[Node], Any]) -> Profile:
    """Runs a plan on trial, and then with what was advised, one change upon the other; what helps is kept.

    Args:
        plan: what is run.
        consumer: what takes its elements.
        seconds: how long a profile takes, about; each change takes half as long.
        made: makes a dataset of a plan.
    """
    first = latest = profiled(plan, consumer, seconds, made)
    best, tries = plan, list[Advice]()
    waiting, useless = [*first.advice], set[str]()
    while waiting and len(tries) < _MOST_TRIED:
        advice = waiting.pop(0)
        if (words := advice.text.partition(_GAIN)[0]) in useless:
            continue
        changed = advice.applied().__headrace_plan__()
        reached, why_not = _reached(advice, changed, consumer, seconds, made)
        text = f"{advice.text}; {why_not}" if why_not else advice.text
        speedup = None if reached is None else reached / latest.steps_per_s
        tries.append(dataclasses.replace(advice, text=text, measured_speedup=speedup))
        if tries[-1].helped:
            best, latest = changed, profiled(changed, consumer, seconds, made)
            waiting = [*latest.advice]
        else:
            useless.add(words)
    return dataclasses.replace(first, tried=tuple(tries), dataset=made(best))


def _reached(
    advice: Advice, plan: Node, consumer: Consumer, seconds: float, made: Callable[[Node], Any]
) -> tuple[float | None, str]:
    """Returns how many steps a second there were with a change, and why not where there were none; None where it was not tried."""
    try:
        if advice._fills and not filled(plan, seconds):  # noqa: SLF001 - its own
            return None, f"not tried, as the epoch that fills it takes more than {duration(seconds)}"
        return beside(plan, consumer, BESIDE * seconds, made).rate, ""
    except HeadraceError as error:  # what cannot be sent to a process, or is more than memory holds
        return 0.0, f"it failed: {error}"


def _verdict(finding: Finding, trial: Trial, consumer: Consumer) -> Verdict:
    name = None if finding.key is None else trial.figures.stage(finding.key).name
    text = sentence(finding, trial.figures, trial.step, trial.alone.rate)
    own = Found(finding.waiting_share, name, text)
    late = consumer.ranks.late(own)
    if late is None:
        return Verdict(finding.cause.value, name, own.waiting_share, text)
    rank, found = late
    return Verdict(Cause.RANK.value, found.stage, own.waiting_share, sentence_of_ranks(rank, found.text))


def _advice(
    written: Node, trial: Trial, cause: Cause, made: Callable[[Node], Any], consumer: Consumer, seconds: float
) -> Iterator[Advice]:
    nodes, step = told_nodes(trial.running), trial.step

    def node_of(change: Change) -> Node | None:
        return None if change.key is None else nodes[change.key]

    def planned(change: Change) -> Node | None:
        return applied(written, change, node_of(change))

    def run(change: Change) -> Phase | None:
        plan = planned(change)
        return None if plan is None else beside(plan, consumer, CALLS * seconds, made)

    before, threaded = trial.beside or trial.alone, _threaded(written, trial)
    found = changes(trial.figures, step, trial.alone.rate, threaded=threaded, cause=cause, noise=before.noise)
    if not consumer.ranks.are_several:  # each would try something else
        upon = threaded or trial.figures
        prover = Prover(figures=trial.figures, upon=upon, step=step, before=before, run=run)
        found = proven(found, _MOST_ADVICE, prover, cause, before.noise)
    given = 0
    for change in found:
        plan = planned(change) if given < _MOST_ADVICE else None
        if plan is None:
            continue
        given += 1
        gain = f"{_times(change.expected_speedup)} as many {'elements' if step is None else 'steps'}"
        apply = functools.partial(made, plan)
        text = f"{words_for(change, written)}{_place(change, trial.figures, node_of(change))}{_GAIN}{gain}"
        yield Advice(text, change.expected_speedup, apply, _fills=change.way is Way.CACHE)


def _times(speedup: float) -> str:
    return f"{speedup:.1f}×" if speedup < 9.95 else f"{speedup:,.0f}×"


def _place(change: Change, figures: PipelineFigures, node: Node | None) -> str:
    """Says where to write a change, and what it holds."""
    if change.key is None or node is None:
        return ""
    if change.way is not Way.CACHE:
        return f" for {node.label}"
    nbytes = figures.stage(change.key).epoch_nbytes
    holds = f", {data_size(nbytes)} held" if nbytes else ""
    return f" behind {node.label}, from the second epoch on{holds}"


def _threaded(written: Node, trial: Trial) -> PipelineFigures | None:
    """Returns what the stages would do with threads; None where they have them."""
    options = options_of(written)
    if options.executor != "inline":
        return None
    options = options.merged(Options(executor="thread"))
    return figures_of(trial.running, options, trial.stats, trial.figures.machine, contention=trial.contention)
