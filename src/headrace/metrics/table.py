"""All metrics: how each is called, its unit, and the figure that it is.

One rule makes the names. OpenTelemetry's is written here; Prometheus' is the same with underscores, the unit behind it, and ``_total`` behind
a counter. Counters are totals of all iterators of a pipeline, those that have ended too. Gauges are of the open ones, and mostly of about the last ten seconds:
amounts are summed over them, and of shares and times the largest is told.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from headrace.durations import Times
from headrace.frozen import frozen
from headrace.observe.failures import StageFailures
from headrace.observe.stats import IteratorStats, StageStats
from headrace.observe.steps import StepStats

__all__ = ["METRICS", "WAITED", "Figures", "Kind", "Labels", "Metric", "joined", "of_pipeline", "of_steps"]

# The values of a metric's labels, in their order.
Labels = tuple[str, ...]

_UNITS: Final = {"s": "_seconds", "By": "_bytes", "1": "_ratio", "{element}/s": "_per_second"}


class Kind(enum.Enum):
    """How figures of several iterators become one."""

    COUNTER = enum.auto()  # a total, which is summed, and kept when an iterator has ended
    AMOUNT = enum.auto()  # a gauge that is summed
    LARGEST = enum.auto()  # a gauge of which the largest is told


@frozen(eq=False)
class Metric:
    """One metric.

    Attributes:
        name: as OpenTelemetry writes it.
        unit: in its notation.
        kind: how figures of several iterators become one.
        text: what it is.
        labels: what tells its series apart.
        figures: of a pipeline, a stage or its failures: the value of the last label, if it has one of its own, and the figure.
    """

    name: str
    unit: str
    kind: Kind
    text: str
    labels: Labels
    figures: Callable[[Any], Mapping[str, float | None]]

    @property
    def prometheus_name(self) -> str:
        """As Prometheus writes it, without ``_total``."""
        return self.name.replace(".", "_") + _UNITS.get(self.unit, "")


# What was told, by metric and labels.
Figures = dict[tuple[Metric, Labels], float]


class _Stepped(Protocol):
    """What tells of the steps of a training loop: the statistics of an iterator, or of a feed."""

    @property
    def wait_s(self) -> float: ...
    @property
    def step(self) -> StepStats: ...


_PIPELINE: Final = ("pipeline", "rank")
_STAGE: Final = ("pipeline", "rank", "stage")
# A figure that has no label of its own.
_ONE: Final = ""


def _of_pipeline(name: str, unit: str, kind: Kind, text: str, figure: Callable[[Any], float | None]) -> Metric:
    return Metric(f"headrace.{name}", unit, kind, text, _PIPELINE, lambda stats: {_ONE: figure(stats)})


def _of_step(name: str, text: str, times: Callable[[_Stepped], Times]) -> Metric:
    labels = (*_PIPELINE, "quantile")
    return Metric(f"headrace.step.{name}", "s", Kind.LARGEST, text, labels, lambda stats: _quantiles(times(stats)))


def _of_stage(name: str, unit: str, kind: Kind, text: str, figure: Callable[[StageStats], float | None]) -> Metric:
    return Metric(f"headrace.stage.{name}", unit, kind, text, _STAGE, lambda stage: {_ONE: figure(stage)})


def _quantiles(times: Times) -> dict[str, float | None]:
    return {"0.5": times.p50_s, "0.95": times.p95_s, "0.99": times.p99_s} if times.count else {}


def _outcomes(failures: StageFailures) -> dict[str, float | None]:
    return {"raised": failures.raised, "skipped": failures.skipped, "replaced": failures.replaced}


WAITED: Final = _of_pipeline(
    "step.waiting", "s", Kind.COUNTER, "Time that steps waited for their elements.", lambda stats: stats.wait_s
)
_STEPS: Final = (
    WAITED,
    _of_pipeline(
        "step.wait", "1", Kind.LARGEST, "Part of its time that a step waited.", lambda stats: stats.step.wait_share
    ),
    _of_step("waited", "Time that a step waited for its element.", lambda stats: stats.step.waited),
    _of_step("copied", "Time that the copy of an element to a device took.", lambda stats: stats.step.copied),
    _of_step("computed", "Time that a step took once it had its element.", lambda stats: stats.step.computed),
)
_PIPELINES: Final = (
    _of_pipeline("iterators", "{iterator}", Kind.AMOUNT, "Iterators that are open.", lambda _: 1),
    _of_pipeline("elements", "{element}", Kind.COUNTER, "Elements that were delivered.", lambda stats: stats.elements),
    _of_pipeline(
        "restarts", "{process}", Kind.COUNTER, "Processes that died and were replaced.", lambda stats: stats.restarts
    ),
    _of_pipeline("workers", "{thread}", Kind.AMOUNT, "Threads that pools may have.", lambda stats: stats.workers),
    _of_pipeline(
        "memory.held", "By", Kind.AMOUNT, "Memory of the elements that are held.", lambda stats: stats.held_bytes
    ),
    _of_pipeline(
        "memory.limit", "By", Kind.AMOUNT, "Memory that these may take.", lambda stats: stats.ram_budget_bytes
    ),
)
_STAGES: Final = (
    _of_stage("elements", "{element}", Kind.COUNTER, "Elements that it delivered.", lambda stage: stage.elements),
    _of_stage(
        "throughput",
        "{element}/s",
        Kind.AMOUNT,
        "Elements that it delivered in a second.",
        lambda stage: stage.elements_per_s,
    ),
    Metric(
        "headrace.stage.service",
        "s",
        Kind.LARGEST,
        "Time that an element took, waiting left out.",
        (*_STAGE, "quantile"),
        lambda stage: _quantiles(stage.service),
    ),
    _of_stage("busy", "s", Kind.COUNTER, "Time of its own work, over all threads.", lambda stage: stage.busy_s),
    _of_stage(
        "waiting",
        "s",
        Kind.COUNTER,
        "Time that who asked it waited for its workers or its buffer.",
        lambda stage: stage.wait_s,
    ),
    _of_stage(
        "input_waiting", "s", Kind.COUNTER, "Time that it waited for its input.", lambda stage: stage.input_wait_s
    ),
    _of_stage(
        "room_waiting",
        "s",
        Kind.COUNTER,
        "Time that what makes its elements waited for room.",
        lambda stage: stage.room_wait_s,
    ),
    _of_stage(
        "parallelism",
        "{thread}",
        Kind.AMOUNT,
        "Threads that worked on it, on average.",
        lambda stage: stage.parallelism,
    ),
    _of_stage(
        "max_parallelism",
        "{thread}",
        Kind.AMOUNT,
        "Calls of it that may run at once.",
        lambda stage: stage.max_parallelism,
    ),
    _of_stage("cpu", "1", Kind.LARGEST, "Part of its work in which it had a processor.", lambda stage: stage.cpu_share),
    _of_stage(
        "gil", "1", Kind.LARGEST, "Part of its work in which it held Python's lock.", lambda stage: stage.gil_share
    ),
    _of_stage("buffered.elements", "{element}", Kind.AMOUNT, "Elements that it holds.", lambda stage: stage.buffered),
    _of_stage("buffered.size", "By", Kind.AMOUNT, "Memory that these take, about.", lambda stage: stage.buffered_bytes),
    _of_stage(
        "restarts",
        "{process}",
        Kind.COUNTER,
        "Processes that called its function, died and were replaced.",
        lambda stage: stage.restarts,
    ),
)
_FAILURES: Final = Metric(
    "headrace.stage.failures",
    "{element}",
    Kind.COUNTER,
    "Elements that failed in it.",
    (*_STAGE, "outcome"),
    _outcomes,
)

METRICS: Final = (*_PIPELINES, *_STEPS, *_STAGES, _FAILURES)


def of_steps(stats: _Stepped, pipeline: str, rank: str) -> Iterator[tuple[Metric, Labels, float]]:
    """Yields the figures of the steps of who took elements from an iterator, or from a feed."""
    yield from _told(_STEPS, stats, (pipeline, rank))


def of_pipeline(
    stats: IteratorStats, pipeline: str, rank: str, stage_named: Callable[[str], str] = str
) -> Iterator[tuple[Metric, Labels, float]]:
    """Yields the figures of an iterator and its stages.

    Args:
        stats: what it did.
        pipeline: what its plan is called.
        rank: of this process.
        stage_named: what a stage is called, by its name.
    """
    yield from _told(_PIPELINES, stats, (pipeline, rank))
    for stage in stats.stages:
        yield from _told(_STAGES, stage, (pipeline, rank, stage_named(stage.name)))
    for failures in stats.failures:
        yield from _told((_FAILURES,), failures, (pipeline, rank, stage_named(failures.stage)))


def _told(metrics: Iterable[Metric], told: Any, labels: Labels) -> Iterator[tuple[Metric, Labels, float]]:
    for metric in metrics:
        for own, value in metric.figures(told).items():
            if value is not None:
                yield metric, (*labels, own) if own else labels, value


def joined(figures: Figures, more: Iterable[tuple[Metric, Labels, float]]) -> None:
    """Adds figures to those of others, by the metric's kind."""
    for metric, labels, value in more:
        known = figures.get((metric, labels))
        both = value if known is None else max(known, value) if metric.kind is Kind.LARGEST else known + value
        figures[metric, labels] = both
