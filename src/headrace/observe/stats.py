"""What a run did, as frozen figures; printed, they are a table, and in a notebook as well.

One rule for names. Totals (``elements``, ``busy_s``, ``failed``) count from the start of the run. Of a stage and of steps, rates
(``elements_per_s``), parts of the time (``cpu_share``), times of one element and levels are those of the window: of about the last ten seconds,
or of the whole run while it is shorter. ``buffered`` is now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from headrace.durations import Times, times_between
from headrace.frozen import frozen
from headrace.observe.decisions import Decision, decision_lines
from headrace.observe.failures import StageFailures
from headrace.observe.meter import Meter, Reading
from headrace.observe.steps import StepStats
from headrace.observe.tables import Table, counted, data_size, duration, plain, quantity, screen_width, seconds, share

__all__ = ["Drawn", "IteratorStats", "StageColumn", "StageStats", "stage_columns", "stage_stats", "with_depth"]


@frozen
class Drawn:
    """What an operation that mixes datasets took from one of them.

    Attributes:
        name: the name of the dataset's last operation.
        elements: how many elements were taken from it.
        share: the part of all elements that came from it, from 0 to 1.
    """

    name: str
    elements: int
    share: float


@frozen
class StageStats:
    """What one stage did: totals since the start, and rates, shares, times of an element and levels of the window.

    Attributes:
        name: the operation, its function and its place.
        elements: how many elements it delivered.
        busy_s: seconds of its own work, over all threads, without the stages that it read from; of an ``interleave`` with workers with what
            stands in its datasets, which these read.
        wait_s: seconds in which who asked it for elements waited for its workers or its buffer.
        buffered: how many elements it holds ready, or must hold, now.
        drawn: what came from each of its datasets, in their order; empty for operations that do not mix any.
        failed: how many elements it skipped because they had failed.
        input_wait_s: seconds in which it waited for its input: what stages upstream took, whether they worked in the same thread or
            waited themselves.
        room_wait_s: seconds in which what makes its elements waited for room, as nobody took those that were ready.
        restarts: how many processes that called its function died and were replaced.
        budget_wait_s: seconds in which it had workers free and gave them nothing, because it held all the memory that it may.
        unkept: of a cache, how many epochs it was to keep and did not: they were left before their end, or elements of them failed.
        window_s: how long the window is.
        elements_per_s: how many elements it delivered in a second.
        service: the time that an element took, waiting left out; of elements that were made together each has the mean. ``count`` is
            the number of elements that were made.
        parallelism: how many threads worked on it at the same time, on average.
        max_parallelism: how many of its calls may run at once; 1 where it has no workers, and stands in no dataset that workers read.
        wait_share: as ``wait_s``, as a part of the window.
        input_wait_share: as ``input_wait_s``, as a part of the window.
        room_wait_share: as ``room_wait_s``, as a part of the window.
        cpu_share: the part of its work in which it had a processor, from 0 to 1: the rest it waited, for a disk, a network, a lock or a
            processor. None where that was not looked at.
        buffered_bytes: about how many bytes it holds ready, or must hold, now.
        element_nbytes: about how many bytes one of its elements has; 0 where that was not looked at.
        buffered_low: the least number of elements that it held in the window.
        buffered_high: the largest number of elements that it held in the window.
        held_bytes: about how many bytes of the run's budget it takes now: what it holds ready or must hold, and what its workers
            have in hand.
        gil_share: the part of its working time, from 0 to 1, in which its function held Python's lock (GIL); None where that was
            seen too seldom, as in the first second, or cannot be seen: it is for maps in threads, on Linux.
        blocked_share: the part of its working time in which its function slept, or waited for a file or a network; None as above. On a
            machine with other work ``cpu_share`` is less than what this leaves, by the waits for a processor.
        processes: how many processes would call its function sooner; None where they would not.
        process_speedup: about how many times as many elements they would make.
        within: the operation whose function makes the datasets in which it stands; None where it stands in the plan itself.
    """

    name: str
    elements: int
    busy_s: float
    wait_s: float
    buffered: int
    drawn: tuple[Drawn, ...] = ()
    failed: int = 0
    input_wait_s: float = 0.0
    room_wait_s: float = 0.0
    restarts: int = 0
    budget_wait_s: float = 0.0
    unkept: int = 0
    window_s: float = 0.0
    elements_per_s: float = 0.0
    service: Times = Times()
    parallelism: float = 0.0
    max_parallelism: int = 1
    wait_share: float = 0.0
    input_wait_share: float = 0.0
    room_wait_share: float = 0.0
    cpu_share: float | None = None
    buffered_bytes: int = 0
    element_nbytes: float = 0.0
    buffered_low: int = 0
    buffered_high: int = 0
    held_bytes: int = 0
    gil_share: float | None = None
    blocked_share: float | None = None
    processes: int | None = None
    process_speedup: float | None = None
    within: str | None = None

    @property
    def advice(self) -> str | None:
        """What would make it faster; None where nothing is known to."""
        if self.gil_share is None or self.processes is None or self.process_speedup is None:
            return None
        return (
            f"{self.name} holds Python's lock {self.gil_share:.0%} of its time: num_parallel_calls={self.processes}, "
            f'executor="process" would give about {self.process_speedup:.1f}×'
        )


def stage_stats(meter: Meter, readings: Sequence[Reading], window_s: float, held_bytes: int = 0) -> StageStats:
    """Returns the figures of a stage.

    Args:
        meter: of the stage.
        readings: what it said at the beginning of the window, and then; the last one is of now.
        window_s: how long the window is.
        held_bytes: how many bytes it holds now.
    """
    before, now = readings[0], readings[-1]
    span_s = max(window_s, 1e-9)
    looked_s = now.cpu_of_s - before.cpu_of_s
    return StageStats(
        name=meter.name,
        elements=now.elements,
        busy_s=now.busy_s,
        wait_s=now.wait_s,
        buffered=now.buffered,
        drawn=_drawn(meter),
        failed=meter.failed,
        input_wait_s=now.input_wait_s,
        room_wait_s=now.room_wait_s,
        restarts=meter.restarts,
        budget_wait_s=meter.short_s,
        unkept=meter.unkept,
        window_s=window_s,
        elements_per_s=(now.elements - before.elements) / span_s,
        service=times_between(before.service, now.service),
        parallelism=(now.busy_s - before.busy_s) / span_s,
        max_parallelism=meter.at_once,
        wait_share=(now.wait_s - before.wait_s) / span_s,
        input_wait_share=(now.input_wait_s - before.input_wait_s) / span_s,
        room_wait_share=(now.room_wait_s - before.room_wait_s) / span_s,
        cpu_share=min(1.0, (now.cpu_s - before.cpu_s) / looked_s) if looked_s > 0 else None,
        buffered_bytes=now.buffered_bytes,
        element_nbytes=meter.element_nbytes or (now.buffered_bytes / now.buffered if now.buffered else 0.0),
        buffered_low=min(reading.buffered_low for reading in readings[1:]),
        buffered_high=max(reading.buffered_high for reading in readings[1:]),
        held_bytes=held_bytes,
        within=None if meter.outer is None else meter.outer.name,
    )


def _drawn(meter: Meter) -> tuple[Drawn, ...]:
    drawn = meter.drawn
    total = max(1, sum(count for _, count in drawn))
    return tuple(Drawn(name, count, count / total) for name, count in drawn)


# Less is shown as nothing.
_LEAST_SHARE: Final = 0.005
_LEAST_HELD_BYTES: Final = 1_000_000


class StageColumn(NamedTuple):
    """A figure of stages, as it is printed."""

    title: str
    text: Callable[[StageStats], str]
    # A column has a place where it tells something of any stage.
    is_told: Callable[[StageStats], object] = lambda _: True


def _service(of: Callable[[Times], float]) -> Callable[[StageStats], str]:
    return lambda stage: duration(of(stage.service)) if stage.service.count else ""


_COLUMNS: Final = (
    StageColumn("elements", lambda stage: f"{stage.elements:,}"),
    StageColumn("per_s", lambda stage: quantity(stage.elements_per_s)),
    StageColumn("p50", _service(lambda times: times.p50_s)),
    StageColumn("p99", _service(lambda times: times.p99_s)),
    StageColumn("at_work", lambda stage: f"{stage.parallelism:.2f} of {stage.max_parallelism}"),
    StageColumn("cpu", lambda stage: "" if stage.cpu_share is None else share(stage.cpu_share)),
    StageColumn(
        "gil", lambda stage: "" if stage.gil_share is None else share(stage.gil_share), lambda stage: stage.gil_share
    ),
    StageColumn("input", lambda stage: share(stage.input_wait_share)),
    StageColumn("wait", lambda stage: share(stage.wait_share), lambda stage: stage.wait_share >= _LEAST_SHARE),
    StageColumn(
        "room", lambda stage: share(stage.room_wait_share), lambda stage: stage.room_wait_share >= _LEAST_SHARE
    ),
    StageColumn("buffered", lambda stage: f"{stage.buffered:,}", lambda stage: stage.buffered_high or stage.buffered),
    StageColumn("held", lambda stage: data_size(stage.held_bytes), lambda stage: stage.held_bytes >= _LEAST_HELD_BYTES),
    StageColumn("failed", lambda stage: f"{stage.failed:,}", lambda stage: stage.failed),
    StageColumn("restarts", lambda stage: f"{stage.restarts:,}", lambda stage: stage.restarts),
)


def stage_columns(stages: Sequence[StageStats]) -> list[StageColumn]:
    """Returns the columns of a table of these stages, beside that of their names."""
    return [column for column in _COLUMNS if any(map(column.is_told, stages))]


def with_depth(stages: Sequence[StageStats]) -> list[tuple[StageStats, int]]:
    """Returns stages as they are shown: those in datasets that functions make after who opens them, with how deep they stand."""
    inner: dict[str | None, list[StageStats]] = {}
    for stage in stages:
        inner.setdefault(stage.within, []).append(stage)

    def shown(within: str | None, depth: int) -> Iterator[tuple[StageStats, int]]:
        for stage in inner.pop(within, ()):  # of several with one name, the first has what is in all
            yield stage, depth
            yield from shown(stage.name, depth + 1)

    return [*shown(None, 0)]


@frozen
class IteratorStats:
    """What one iterator did: totals since the start, and of the window the steps of its caller and what each stage did.

    Printed, it is a table of the stages.

    Attributes:
        elements: how many elements it delivered.
        wait_s: seconds that its caller spent waiting in ``next``.
        elapsed_s: seconds since it was made, until it ended.
        stages: its stages, sources first.
        workers: how many threads its pool may have; 0 without parallel work, and before anything was asked for.
        ram_budget_bytes: how many bytes its stages may hold together; 0 before anything was asked for.
        held_bytes: how many they hold now, with what a feed has ready.
        highest_held_bytes: the most that they held so far.
        restarts: how many processes died and were replaced.
        step: what its caller did with an element: how long it waited for it, and then computed.
        failures: the elements that failed, by operation: how many were raised, skipped and replaced, and the first of each with its
            origin and traceback.
        decisions: what AUTOTUNE decided, and why: the first 32 decisions and the latest 96.
    """

    elements: int
    wait_s: float
    elapsed_s: float
    stages: tuple[StageStats, ...]
    workers: int = 0
    ram_budget_bytes: int = 0
    held_bytes: int = 0
    highest_held_bytes: int = 0
    restarts: int = 0
    step: StepStats = StepStats()
    failures: tuple[StageFailures, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def wait_share(self) -> float:
        """The part of the whole time that the caller spent waiting, from 0 to 1; ``step.wait_share`` is that of lately."""
        return self.wait_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures as dicts, lists, numbers and texts, which JSON can hold."""
        figures: dict[str, Any] = plain(self)
        return figures

    def __str__(self) -> str:
        table = self._table()
        figures = ["", *table.lines(screen_width())] if self.stages else []
        decided = ["", *decision_lines(self.decisions)] if self.decisions else []
        return "\n".join([*self._summary(), *figures, *decided])

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        import html

        summary = "<br>".join(map(html.escape, self._summary()))
        decided = "<br>".join(map(html.escape, decision_lines(self.decisions)))
        return f"<div>{summary}{self._table().html() if self.stages else ''}{decided}</div>"

    def _summary(self) -> Iterator[str]:
        yield f"{counted(self.elements, 'element')} in {seconds(self.elapsed_s)} s"
        yield f"the caller waited {seconds(self.wait_s)} s ({self.wait_share:.0%})"
        if self.stages:
            workers = counted(self.workers, "worker") if self.workers else "no workers"
            is_worth_a_word = self.highest_held_bytes >= _LEAST_HELD_BYTES
            highest = f", {data_size(self.highest_held_bytes)} at the highest" if is_worth_a_word else ""
            yield f"{workers}, {data_size(self.held_bytes)} held of at most {data_size(self.ram_budget_bytes)}{highest}"
        if self.restarts:
            yield f"{'1 process' if self.restarts == 1 else f'{self.restarts:,} processes'} died and replaced"
        yield from map(str, self.failures)
        yield from filter(None, (stage.advice for stage in self.stages))

    def _table(self) -> Table:
        """Returns a row a stage, sources first, and below it those in the datasets that its function makes, and one for each dataset that it mixed."""
        shown = stage_columns(self.stages)
        rows: list[list[str]] = []
        for stage, depth in with_depth(self.stages):
            rows.append(["· " * depth + stage.name, *(column.text(stage) for column in shown)])
            blank = [""] * (len(shown) - 1)
            rows += [[f"  {of.share:.1%} {of.name}", f"{of.elements:,}", *blank] for of in stage.drawn]
        return Table(["stage", *(column.title for column in shown)], rows)
