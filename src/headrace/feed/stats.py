"""What a training loop waited for, step by step: live recorders inside, frozen snapshots outside."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from headrace.durations import Times
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.observe.stats import IteratorStats
from headrace.observe.steps import StepStats
from headrace.observe.tables import Table, duration, plain, screen_width, seconds
from headrace.ranks import current

__all__ = ["FeedStats", "own_rank"]


@frozen
class FeedStats:
    """What a feed did; printed, it is a table of the steps, followed by one of the pipeline's stages.

    Attributes:
        rank: the index of this process in a distributed job, 0 alone.
        steps: how many elements the loop got.
        wait_s: seconds that the loop waited for them.
        elapsed_s: seconds since the feed was made, until it ended.
        step: what a step of the window did: it waited, its element was copied to the device, and it computed.
        waits_s: how long each of the last 4,096 steps waited, in seconds, oldest first.
        copies_s: how long each of the last copies to the device took, in seconds; empty where nothing is copied.
        computes_s: how long each of the last steps took from when it had its element until it asked for the next.
        pipeline: what the dataset's own stages did.
    """

    rank: int
    steps: int
    wait_s: float
    elapsed_s: float
    step: StepStats
    waits_s: tuple[float, ...]
    copies_s: tuple[float, ...]
    computes_s: tuple[float, ...]
    pipeline: IteratorStats

    @property
    def wait_share(self) -> float:
        """The part of the whole time that the loop spent waiting, from 0 to 1; ``step.wait_share`` is that of lately."""
        return self.wait_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns all figures as dicts, lists, numbers and texts, which JSON can hold."""
        figures: dict[str, Any] = plain(self)
        return figures

    def __str__(self) -> str:
        lines = [*self._summary(), "", *self._table().lines(screen_width())] if self.steps else [*self._summary()]
        return "\n".join([*lines, "", "the pipeline that was fed:", str(self.pipeline)])

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        summary = "<br>".join(map(html.escape, self._summary()))
        return f"<div>{summary}{self._table().html() if self.steps else ''}{self.pipeline._repr_html_()}</div>"

    def _summary(self) -> Iterator[str]:
        count = "1 step" if self.steps == 1 else f"{self.steps:,} steps"
        yield f"rank {self.rank}: {count} in {seconds(self.elapsed_s)} s"
        yield f"the loop waited {seconds(self.wait_s)} s ({self.wait_share:.0%})"

    def _table(self) -> Table:
        """Returns a row for each part of a step."""
        step = self.step
        parts: list[tuple[str, Times]] = [("waited for its element", step.waited), ("computed", step.computed)]
        if step.copied.count:
            parts.insert(1, ("copied to the device", step.copied))
        return Table(
            (f"a step of the last {duration(step.window_s)}", "count", "p50", "p95", "p99", "max", "total"),
            [
                (name, f"{of.count:,}", *map(duration, (of.p50_s, of.p95_s, of.p99_s, of.max_s, of.total_s)))
                for name, of in parts
            ],
        )


def own_rank() -> int:
    """Returns the rank of this process in a distributed job; 0 alone, and where nobody can tell."""
    try:
        return current().rank
    except InvalidArgumentError:
        return 0
