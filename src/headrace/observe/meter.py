"""Counters of stages, and the snapshots that are taken of them.

What always holds: a stage counts once a block, never once an element, so watching costs next to nothing. Live
meters stay inside; readers get a frozen snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from headrace.frozen import frozen
from headrace.observe.tables import Table, plain, screen_width, seconds

__all__ = ["Drawn", "IteratorStats", "Meter", "StageStats"]


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
    """What one stage did so far.

    Attributes:
        name: the operation, its function and its place.
        elements: how many elements it delivered.
        busy_s: seconds of its own work, over all threads, without the stages that it read from.
        wait_s: seconds in which it waited for its own workers or its own buffer.
        buffered: how many elements it holds ready now.
        drawn: what came from each of its datasets, in their order; empty for operations that do not mix any.
        failed: how many elements it skipped because they had failed.
        gil_share: the part of its working time, from 0 to 1, in which its function held Python's lock (GIL); None where that was
            seen too seldom, as in the first second, or cannot be seen: it is for maps in threads, on Linux.
        processes: how many processes would call its function sooner; None where they would not.
        process_speedup: about how many times as many elements they would make.
    """

    name: str
    elements: int
    busy_s: float
    wait_s: float
    buffered: int
    drawn: tuple[Drawn, ...] = ()
    failed: int = 0
    gil_share: float | None = None
    processes: int | None = None
    process_speedup: float | None = None

    @property
    def advice(self) -> str | None:
        """What would make it faster; None where nothing is known to."""
        if self.gil_share is None or self.processes is None or self.process_speedup is None:
            return None
        return (
            f"{self.name} holds Python's lock {self.gil_share:.0%} of its time: num_parallel_calls={self.processes}, "
            f'executor="process" would give about {self.process_speedup:.1f}×'
        )


@frozen
class IteratorStats:
    """What one iterator did so far; printed, it is a table of the stages.

    Attributes:
        elements: how many elements it delivered.
        wait_s: seconds that its caller spent waiting in ``next``.
        elapsed_s: seconds since it was made.
        stages: its stages, sources first.
        workers: how many threads its pool may have; 0 without parallel work, and before anything was asked for.
        ram_budget_bytes: how many bytes its buffers may hold together; 0 before anything was asked for.
        restarts: how many processes died and were replaced.
    """

    elements: int
    wait_s: float
    elapsed_s: float
    stages: tuple[StageStats, ...]
    workers: int = 0
    ram_budget_bytes: int = 0
    restarts: int = 0

    @property
    def wait_share(self) -> float:
        """The part of the elapsed time that the caller spent waiting, from 0 to 1."""
        return self.wait_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures as dicts, lists, numbers and texts, which JSON can hold."""
        figures: dict[str, Any] = plain(self)
        return figures

    def __str__(self) -> str:
        table = self._table()
        return "\n".join([*self._summary(), *(("", *table.lines(screen_width())) if self.stages else ())])

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        import html

        summary = "<br>".join(map(html.escape, self._summary()))
        return f"<div>{summary}{self._table().html() if self.stages else ''}</div>"

    def _summary(self) -> Iterator[str]:
        count = "1 element" if self.elements == 1 else f"{self.elements:,} elements"
        yield f"{count} in {seconds(self.elapsed_s)} s"
        yield f"the caller waited {seconds(self.wait_s)} s ({self.wait_share:.0%})"
        if self.stages:
            workers = "1 worker" if self.workers == 1 else f"{self.workers or 'no'} workers"
            yield f"{workers}, buffers of at most {self.ram_budget_bytes / 1e6:,.0f} MB"
        if self.restarts:
            yield f"{'1 process' if self.restarts == 1 else f'{self.restarts:,} processes'} died and replaced"
        yield from filter(None, (stage.advice for stage in self.stages))

    def _table(self) -> Table:
        """Returns a row a stage, sources first, and below it a row for each dataset that it mixed."""
        failed = any(stage.failed for stage in self.stages)
        titles = ["stage", "elements", "busy_s", "wait_s", "buffered", *(["failed"] if failed else [])]
        rows: list[list[str]] = []
        for stage in self.stages:
            times = [seconds(stage.busy_s), seconds(stage.wait_s)]
            counts = [f"{stage.buffered:,}", *([f"{stage.failed:,}"] if failed else [])]
            rows.append([stage.name, f"{stage.elements:,}", *times, *counts])
            blank = [""] * (len(titles) - 2)
            rows += [[f"  {of.share:.1%} {of.name}", f"{of.elements:,}", *blank] for of in stage.drawn]
        return Table(titles, rows)


class Meter:
    """The counters of one plan node in one run, for all the stages that it becomes."""

    __slots__ = (
        "_drawn",
        "_lock",
        "_sources",
        "buffered",
        "busy_s",
        "elements",
        "failed",
        "inside_s",
        "name",
        "span_s",
        "wait_s",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.elements = 0
        self.span_s = 0.0  # in its pulls, with all that they call in the same thread
        self.inside_s = 0.0  # the part of span_s that its input stages took
        self.busy_s = 0.0  # in workers
        self.wait_s = 0.0  # the part of span_s that was spent waiting
        self.buffered = 0
        self.failed = 0
        self._sources: list[str] = []  # of an operation that mixes datasets
        self._drawn: list[int] = []
        # A stage inside flat_map or interleave runs in several workers at once, and they share one meter.
        self._lock = threading.Lock()

    def pulled(self, *, elements: int, span_s: float, inside_s: float) -> None:
        """Counts one pull."""
        with self._lock:
            self.elements += elements
            self.span_s += span_s
            self.inside_s += inside_s

    def worked(self, busy_s: float) -> None:
        """Counts work that a worker did."""
        with self._lock:
            self.busy_s += busy_s

    def waited(self, wait_s: float) -> None:
        """Counts a wait inside a pull."""
        with self._lock:
            self.wait_s += wait_s

    def count_skipped(self, count: int) -> None:
        """Counts elements that were skipped because they had failed."""
        with self._lock:
            self.failed += count

    def draws_from(self, sources: list[str]) -> None:
        """Notes the datasets that are mixed; more of the same add to what was counted."""
        with self._lock:
            self._sources = sources
            self._drawn += [0] * (len(sources) - len(self._drawn))

    def drew(self, counts: list[int]) -> None:
        """Counts elements of each of the datasets."""
        with self._lock:
            self._drawn = [before + count for before, count in zip(self._drawn, counts, strict=True)]

    def snapshot(self) -> StageStats:
        """Returns what was counted so far."""
        own_s = max(0.0, self.span_s - self.inside_s - self.wait_s)
        return StageStats(
            self.name, self.elements, self.busy_s + own_s, self.wait_s, self.buffered, self._mixture(), self.failed
        )

    def _mixture(self) -> tuple[Drawn, ...]:
        with self._lock:
            total = max(1, sum(self._drawn))
            return tuple(
                Drawn(name, count, count / total) for name, count in zip(self._sources, self._drawn, strict=True)
            )
