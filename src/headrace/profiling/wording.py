"""A verdict in one sentence, for the person whose steps wait."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from headrace.analysis.figures import MachineFigures, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.finding import Cause, Finding
from headrace.observe.tables import duration, quantity, share

__all__ = ["sentence"]


def sentence(finding: Finding, figures: PipelineFigures, step: StepFigures | None, alone_rate: float) -> str:
    """Returns what keeps steps waiting, in words.

    Args:
        finding: the cause.
        figures: what the stages do.
        step: what the consumer does; None where the pipeline ran alone.
        alone_rate: elements a second that the pipeline gives alone.
    """
    stage = None if finding.key is None else figures.stage(finding.key)
    return f"{_opening(finding, step, alone_rate)}: {_reason(finding.cause, stage, step, alone_rate, figures.machine)}."


def _opening(finding: Finding, step: StepFigures | None, alone_rate: float) -> str:
    if step is None:
        return f"The pipeline gives {quantity(alone_rate)} elements/s"
    if finding.cause in (Cause.CONSUMER, Cause.TRAINER_SLOWED) and not finding.waits:
        return f"Steps hardly wait ({share(finding.waiting_share)} of the time)"
    return f"Steps wait {share(finding.waiting_share)} of the time"


def _reason(
    cause: Cause, stage: StageFigures | None, step: StepFigures | None, alone_rate: float, machine: MachineFigures
) -> str:
    if step is not None and cause in _OF_STEPS:
        return _OF_STEPS[cause](step, alone_rate, machine)
    rate = f"{quantity(alone_rate)} elements/s{'' if step is None else f', the step takes {_rate(step.alone_s)}'}"
    if stage is None or cause is Cause.BUFFER:
        return f"the pipeline alone gives {rate}, but nothing is made while a step runs, or too little is held ready"
    why = _OF_STAGES.get(cause, _works)(stage)
    return why if step is None or cause in (Cause.STRAGGLER, Cause.BURST) else f"{why}: the pipeline gives {rate}"


def _consumer(step: StepFigures, alone_rate: float, _: MachineFigures) -> str:
    return (
        f"a step takes {duration(step.alone_s)}, and the pipeline could give {quantity(alone_rate)} elements/s, so that nothing "
        f"in it would make steps faster"
    )


def _slowed(step: StepFigures, _: float, machine: MachineFigures) -> str:
    return (
        f"beside the pipeline a step takes {duration(step.beside_s)}, and {duration(step.alone_s)} without it: they share "
        f"Python's lock and {machine.cores} cores"
    )


def _copy(step: StepFigures, _: float, __: MachineFigures) -> str:
    return f"the copy to the device takes {duration(step.copied_s)} of the {duration(step.waited_s)} that a step waits"


def _straggler(stage: StageFigures) -> str:
    return (
        f"single elements of {stage.name} take up to {duration(stage.longest_s)}, where half of them take no more than "
        f"{duration(stage.p50_s)}, and the others wait behind them"
    )


def _burst(stage: StageFigures) -> str:
    return (
        f"{stage.name} gives its elements in bursts: half of them take no more than {duration(stage.p50_s)}, and some "
        f"{duration(stage.longest_s)}"
    )


def _lock(stage: StageFigures) -> str:
    return f"{stage.name} holds Python's lock {share(stage.lock_share)} of its time, so that threads take turns"


def _works(stage: StageFigures) -> str:
    return f"{stage.name} takes {duration(stage.demand_s)} of work for each"


_OF_STEPS: Final[dict[Cause, Callable[[StepFigures, float, MachineFigures], str]]] = {
    Cause.CONSUMER: _consumer,
    Cause.TRAINER_SLOWED: _slowed,
    Cause.COPY: _copy,
}
_OF_STAGES: Final[dict[Cause, Callable[[StageFigures], str]]] = {
    Cause.STRAGGLER: _straggler,
    Cause.BURST: _burst,
    Cause.GIL: _lock,
    Cause.CACHE: lambda stage: f"{stage.name} had nothing of what was asked for, so that all before it ran again",
    Cause.PARALLELISM: lambda stage: f"{stage.name} has {_calls(stage)}",
    Cause.MEMORY_BUDGET: lambda stage: (
        f"{stage.name} holds all the memory that it may, so that its workers wait for room"
    ),
}


def _calls(stage: StageFigures) -> str:
    if stage.calls is None:
        return "one thread, that of who reads it"
    return "one call at once" if stage.calls == 1 else f"{stage.calls} calls at once"


def _rate(seconds: float) -> str:
    return f"{quantity(1 / seconds if seconds > 0 else math.inf)} elements/s"
