"""How long an operation was at work itself, while it opened and read the datasets that its function makes."""

from __future__ import annotations

import threading
import time

__all__ = ["OwnTime"]


class OwnTime(threading.local):
    """What each thread spent on it, in ``with`` blocks that do not lie in each other.

    Attributes:
        total_s: seconds of this thread.
    """

    total_s = 0.0
    _start_s = 0.0

    def __enter__(self) -> None:
        self._start_s = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.total_s += time.perf_counter() - self._start_s
