"""A clock that stands still for everybody until a test moves it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from tests.unit.queues.background import HandClock

__all__ = ["by_hand"]


@contextlib.contextmanager
def by_hand() -> Iterator[HandClock]:
    """Has all time stand still until the clock is moved."""
    clock, real = HandClock(), time.perf_counter
    time.perf_counter = clock.now_s
    try:
        yield clock
    finally:
        time.perf_counter = real
