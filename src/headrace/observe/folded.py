"""Records that any thread appends without waiting, and that are folded together now and then.

To append to a deque is atomic and takes no lock, so who counts waits for nobody: neither for another that counts nor for one
that reads. Who finds that many records have come folds them, unless another does just then.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Final, Generic, TypeVar

__all__ = ["AT_ONCE", "Folded", "drained"]

R = TypeVar("R", bound=tuple[Any, ...])

# So many are folded at once: few enough to be small, and many enough that it is seldom.
AT_ONCE: Final = 128
# A reader waits no longer for another that folds: it has what was folded before.
_PATIENCE_S: Final = 0.1


class Folded(Generic[R]):
    """The base of what counts so."""

    __slots__ = ("_folding", "_fresh")

    def __init__(self) -> None:
        self._fresh: deque[R] = deque()
        self._folding = threading.Lock()

    def add(self, record: R) -> None:
        """Counts what was done at once."""
        self._fresh.append(record)
        if len(self._fresh) >= AT_ONCE:
            self._fold_if_free()

    def _fold_fresh(self) -> None:
        """Folds what has come, alone."""
        raise NotImplementedError

    def _fold(self) -> None:
        """Folds what has come, for a reader."""
        self._fold_if_free(_PATIENCE_S)

    def _fold_if_free(self, patience_s: float = 0.0) -> None:
        # Nobody waits here for long: a garbage collection within may close the run, which waits for the threads that count.
        if not self._folding.acquire(timeout=patience_s):
            return
        try:
            self._fold_fresh()
        finally:
            self._folding.release()


def drained(fresh: deque[R]) -> list[R]:
    """Returns what has come so far, which is no longer there."""
    return [fresh.popleft() for _ in range(len(fresh))]
