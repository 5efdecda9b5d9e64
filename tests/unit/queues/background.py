"""Threads and time for the tests of queues: nothing sleeps, and nothing waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.queues import Channel, QueueBase

# How long a thread of a test may take to get somewhere, in real seconds: beyond any load, far below for ever.
LIMIT_S = 30.0


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self._now_s = 1000.0

    def now_s(self) -> float:
        return self._now_s

    def move(self, seconds: float) -> None:
        self._now_s += seconds


class Background:
    """A call that runs in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-test", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._call()
        except BaseException as error:
            self._error = error

    @property
    def runs(self) -> bool:
        return self._thread.is_alive()

    def error(self) -> BaseException | None:
        self._thread.join(LIMIT_S)
        assert not self.runs, "a call that should have ended still waits"
        return self._error

    def result(self) -> Any:
        if (error := self.error()) is not None:
            raise error
        return self._result


def until(condition: Callable[[], bool]) -> None:
    """Come back as soon as ``condition`` holds."""
    end_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end_s, "what the test waits for did not happen"
        threading.Event().wait(0.0002)


def waiting(queue: Channel[Any] | QueueBase, *, producers: int = 0, consumers: int = 0) -> None:
    """Come back as soon as that many calls wait."""
    until(lambda: _lines(queue) == (producers, consumers))


def _lines(queue: Channel[Any] | QueueBase) -> tuple[int, int]:
    snapshot = queue.snapshot()
    return snapshot.producers_waiting, snapshot.consumers_waiting
