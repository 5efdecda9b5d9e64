"""Runs the pipelines of a test: every wait is bounded, every thread is joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from headrace.coordination import Coordinator, start_queue_runners
from headrace.errors import OutOfRangeError
from headrace.queues import QueueBase
from headrace.train.batching import NextBatch

__all__ = ["LIMIT_S", "everything_from", "started"]

# How long anything may take, in real seconds: beyond any load, far below for ever.
LIMIT_S = 30.0
# More than any test delivers; a source that never ends is found out by it.
LIMIT = 10_000


@contextmanager
def started() -> Iterator[Coordinator]:
    """Starts the runners of the open scope, and stops them behind the block; what failed in them is raised."""
    coord = Coordinator()
    threads = start_queue_runners(coord=coord)
    try:
        yield coord
    finally:
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=LIMIT_S)


def everything_from(source: QueueBase | NextBatch | Callable[[], Any]) -> list[Any]:
    """All that it gives until its end."""
    take = _take(source)
    taken: list[Any] = []
    while len(taken) < LIMIT:
        try:
            taken.append(take())
        except OutOfRangeError:
            return taken
    raise AssertionError("there is no end to it")


def _take(source: Any) -> Callable[[], Any]:
    if isinstance(source, QueueBase):
        return partial(source.dequeue, timeout_s=LIMIT_S)
    return partial(source, timeout_s=LIMIT_S) if isinstance(source, NextBatch) else source
