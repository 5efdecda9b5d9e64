"""What a training loop waited for, step by step: live recorders inside, frozen snapshots outside."""

from __future__ import annotations

import html
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.observe.meter import IteratorStats
from headrace.observe.tables import Table, plain, screen_width, seconds
from headrace.queues.wait_times import WaitRecorder, WaitTimes
from headrace.ranks import current

__all__ = ["FeedStats", "StepTimes", "own_rank"]

# Steps whose times are kept one by one: enough for a plot, and small; percentiles are over all of them.
_KEPT_STEPS: Final = 1000


@frozen
class FeedStats:
    """What a feed did so far; printed, it is a table of the steps, followed by one of the pipeline's stages.

    Attributes:
        rank: the index of this process in a distributed job, 0 alone.
        steps: how many elements the loop got.
        waits_s: how long each of the last thousand steps waited, in seconds, oldest first.
        copies_s: how long each of the last copies to the device took, in seconds; empty where nothing is copied.
        wait: percentiles over all steps.
        copy: percentiles over all copies.
        elapsed_s: seconds since the feed was made.
        pipeline: what the dataset's own stages did.
    """

    rank: int
    steps: int
    waits_s: tuple[float, ...]
    copies_s: tuple[float, ...]
    wait: WaitTimes
    copy: WaitTimes
    elapsed_s: float
    pipeline: IteratorStats

    @property
    def wait_share(self) -> float:
        """The part of the elapsed time that the loop spent waiting, from 0 to 1."""
        return self.wait.total_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

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
        yield f"the loop waited {seconds(self.wait.total_s)} s ({self.wait_share:.0%})"

    def _table(self) -> Table:
        """Returns a row for what the steps waited, and one for the copies to the device, where there were any."""
        times = {"wait of a step": self.wait, **({"copy to the device": self.copy} if self.copy.calls else {})}
        return Table(
            ("time", "count", "p50_s", "p95_s", "p99_s", "max_s", "total_s"),
            [
                (name, f"{of.calls:,}", *map(seconds, (of.p50_s, of.p95_s, of.p99_s, of.max_s, of.total_s)))
                for name, of in times.items()
            ],
        )


class StepTimes:
    """Collects the times of steps; any thread may add one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[float] = deque(maxlen=_KEPT_STEPS)
        self._recorder = WaitRecorder()
        self._count = 0

    def add(self, seconds: float) -> None:
        """Counts one step, or one copy."""
        with self._lock:
            self._count += 1
            self._recent.append(seconds)
            self._recorder.fresh.append(seconds)
            self._recorder.fold()

    @property
    def recent_s(self) -> tuple[float, ...]:
        """The last ones, oldest first."""
        with self._lock:
            return tuple(self._recent)

    def summary(self) -> WaitTimes:
        """Percentiles over all."""
        with self._lock:
            return self._recorder.summary(self._count)


def own_rank() -> int:
    """Returns the rank of this process in a distributed job; 0 alone, and where nobody can tell."""
    try:
        return current().rank
    except InvalidArgumentError:
        return 0
