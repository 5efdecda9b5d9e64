"""Which result of parallel work is handed on next where any may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

__all__ = ["FIRST_READY", "ReadyOrder"]

T = TypeVar("T")


class ReadyOrder:
    """Hands on the first result that is there, in the order of the input."""

    # Whether all work that was begun has ended before anything is handed on.
    waits_for_all = False

    def next_of(self, ready: Iterator[T]) -> T | None:
        """Returns one of the results that are there; None where there is none."""
        return next(ready, None)


FIRST_READY: Final = ReadyOrder()
