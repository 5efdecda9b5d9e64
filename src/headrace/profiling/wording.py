"""A verdict in one sentence, for the person whose steps wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.analysis.figures import CONSUMER, Kind, PipelineFigures, StageFigures, StepFigures
from headrace.analysis.finding import Cause, Finding
from headrace.frozen import frozen
from headrace.observe.tables import data_size, duration, quantity, share

__all__ = ["sentence", "sentence_of_ranks"]

# A stage that has a processor for less of its time waits for something else.
_WAITS: Final = 0.5
# A smaller part of a core is not worth a word.
_TAKEN: Final = 0.1


@frozen
class _Told:
    """What a sentence is made of.

    Attributes:
        figures: what the stages do.
        stage: which of them is the cause; None where it is none.
        step: what the consumer does; None where the pipeline ran alone.
        alone_rate: elements a second that the pipeline gives alone.
    """

    figures: PipelineFigures
    stage: StageFigures | None
    step: StepFigures | None
    alone_rate: float


def sentence(finding: Finding, figures: PipelineFigures, step: StepFigures | None, alone_rate: float) -> str:
    """Returns what keeps steps waiting, in words.

    Args:
        finding: the cause.
        figures: what the stages do.
        step: what the consumer does; None where the pipeline ran alone.
        alone_rate: elements a second that the pipeline gives alone.
    """
    stage = None if finding.key is None else figures.stage(finding.key)
    told = _Told(figures, stage, step, alone_rate)
    return f"{_opening(finding, step, alone_rate)}: {_REASONS[finding.cause](told)}."


def sentence_of_ranks(rank: int, text: str) -> str:
    """Returns that one rank keeps the others waiting, and what it says of itself."""
    return f"All ranks wait for rank {rank}, whose data comes late. There: {text}"


def _opening(finding: Finding, step: StepFigures | None, alone_rate: float) -> str:
    if step is None:
        return f"The pipeline gives {quantity(alone_rate)} elements/s"
    if finding.waits:
        return f"Steps wait {share(finding.waiting_share)} of the time"
    opening = f"Steps hardly wait ({share(finding.waiting_share)} of the time)"
    is_slowed = finding.cause not in (Cause.CONSUMER, Cause.TRAINER_SLOWED)
    return (
        f"{opening}, but take {duration(step.beside_s)}, and {duration(step.alone_s)} without the pipeline"
        if is_slowed
        else opening
    )


def _rates(told: _Told) -> str:
    """Says what the stage gives, and what the step could take of it."""
    assert told.stage is not None  # it is the cause
    visits = told.stage.visits or 1.0
    gives = quantity(told.alone_rate * visits)
    if told.step is not None:
        return f"{told.stage.name} gives {gives} elements/s, and the step could take {_most(told.step, visits)}"
    is_said = gives == quantity(told.alone_rate)  # that the pipeline gives as much
    return f"{told.stage.name} gives {'no more' if is_said else f'{gives} elements/s'}"


def _most(step: StepFigures, visits: float) -> str:
    return quantity(visits / step.alone_s) if step.alone_s > 0 else "any number"


def _averages(told: _Told) -> str:
    """Says that the pipeline is fast enough on the average."""
    assert told.step is not None  # alone, the pipeline is what is too slow
    return f"the pipeline alone would feed {quantity(told.alone_rate)} steps/s, and {_most(told.step, 1.0)} is all that there could be"


def _map(told: _Told) -> str:
    machine = told.figures.machine
    ours = min(machine.free_cores, told.alone_rate * sum(one.visits * one.cpu_s for one in told.figures))
    others = f", {machine.taken:.1f} of them with other programs" if machine.taken >= _TAKEN else ""
    return f"{_rates(told)}; {ours + machine.taken:.1f} of {machine.cores} cores are busy{others}"


def _gil(told: _Told) -> str:
    stage = told.stage
    assert stage is not None
    return f"{_rates(told)}; it holds Python's lock {share(stage.lock_share)} of its time, so that threads take turns"


def _parallelism(told: _Told) -> str:
    stage = told.stage
    assert stage is not None
    calls = "one call" if stage.calls in (None, 1) else f"{stage.calls} calls"
    idle_share = 1 - stage.cpu_s / stage.service_s if stage.service_s > 0 else 0.0
    what = f", which wait {share(idle_share)} of their time" if idle_share > _WAITS else ""
    what = what.replace("wait ", "waits ").replace("their", "its") if calls == "one call" else what
    return f"{_rates(told)}; it has {calls} at once{what}"


def _memory(told: _Told) -> str:
    stage, nbytes = told.stage, told.figures.machine.ram_budget_bytes
    assert stage is not None
    return (
        f"{_rates(told)}; its {stage.calls} calls at once have no room, and {stage.capacity:.1f} run, as the memory budget is "
        f"{data_size(nbytes)}"
    )


def _cache(told: _Told) -> str:
    stage = told.stage
    assert stage is not None
    return (
        f"{stage.name} keeps nothing, as epochs are left before their end or elements of them fail, so that all before it runs in each; "
        f"{_rates(told)}"
    )


def _buffer(told: _Told) -> str:
    if told.step is None:
        return "nothing in it takes time that is worth a word"
    is_own = any(stage.segment == CONSUMER and stage.kind is not Kind.PREFETCH for stage in told.figures)
    return f"{_averages(told)}, but {'nothing is made while a step runs' if is_own else 'too little is held ready'}"


def _burst(told: _Told) -> str:
    stage, step = told.stage, told.step
    assert stage is not None
    assert step is not None  # alone, the pipeline is what is too slow
    times = f"{share(step.late_share)} of the steps wait up to {duration(step.waited_longest_s)}"
    return f"{stage.name} gives its elements in bursts: {times}, though {_averages(told)}"


def _straggler(told: _Told) -> str:
    stage, step = told.stage, told.step
    assert stage is not None
    assert step is not None
    times = f"now and then one takes {duration(step.waited_longest_s)} longer than the others, which wait behind it"
    return f"single elements of {stage.name} come late: {times}; {_averages(told)}"


def _consumer(told: _Told) -> str:
    assert told.step is not None
    return (
        f"a step takes {duration(told.step.alone_s)}, and the pipeline could give its next element after {duration(1 / told.alone_rate)}, "
        f"so that nothing in it would make steps faster"
    )


def _slowed(told: _Told) -> str:
    step = told.step
    assert step is not None
    return (
        f"beside the pipeline a step takes {duration(step.beside_s)}, and {duration(step.alone_s)} without it: they share "
        f"Python's lock and {told.figures.machine.cores} cores"
    )


def _copy(told: _Told) -> str:
    step = told.step
    assert step is not None
    where = "beside the step before" if step.copies_beside else "while nothing else runs"
    return (
        f"the copy of an element to the device takes {duration(step.copied_s)}, {where}, and a step {duration(step.alone_s)}; "
        f"fewer bytes would help, as integers that the device makes floats of"
    )


_REASONS: Final[dict[Cause, Callable[[_Told], str]]] = {
    Cause.SOURCE: _rates,
    Cause.MAP: _map,
    Cause.GIL: _gil,
    Cause.PARALLELISM: _parallelism,
    Cause.MEMORY_BUDGET: _memory,
    Cause.CACHE: _cache,
    Cause.BUFFER: _buffer,
    Cause.BURST: _burst,
    Cause.STRAGGLER: _straggler,
    Cause.CONSUMER: _consumer,
    Cause.TRAINER_SLOWED: _slowed,
    Cause.COPY: _copy,
}
