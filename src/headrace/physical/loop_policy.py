"""When a chain of functions goes element by element, when function by function, and when a loop hands on what it has made."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from headrace.clock import MONOTONIC, Clock
from headrace.frozen import frozen

__all__ = ["LoopPolicy", "Loops", "Patience"]

T = TypeVar("T")


class Patience(NamedTuple):
    """How long a loop over rows goes on before it hands on what it has made.

    Attributes:
        now_s: the clock.
        until_s: when it is to end.
        rows_a_look: rows between two looks at the clock.
    """

    now_s: Callable[[], float]
    until_s: float
    rows_a_look: int

    @classmethod
    def endless(cls, rows: int) -> Patience:
        """Returns the one of a loop that goes through so many rows in any case."""
        return cls(time.perf_counter, math.inf, rows)

    def looks(self, rows: Sequence[T]) -> Iterator[Iterator[T]]:
        """Yields the rows in pieces, with a look at the clock after each; no more once it is time to end."""
        now_s, until_s, rows_a_look = self
        rest = iter(rows)
        for _ in range(0, len(rows), rows_a_look):
            yield itertools.islice(rest, rows_a_look)
            if now_s() > until_s:
                return

    @property
    def is_over(self) -> bool:
        """Whether it is time to end."""
        return self.now_s() > self.until_s


class Loops(Protocol):
    """What is asked of whoever says how long loops go on."""

    @property
    def probed(self) -> int:
        """How many elements at a time go link by link."""
        ...

    def patience(self) -> Patience:
        """Returns how long a loop that begins now goes on."""
        ...


@frozen
class LoopPolicy:
    """How what calls functions on elements goes through blocks.

    Attributes:
        probed: how many elements at a time go link by link: the first ones, as to generate a loop takes as long as some thousands in it, and
            of later blocks.
        every: of how many blocks one.
        patience_s: what is made waits no longer for the rest of its block, once elements suddenly take long.
        rows_a_look: rows between two looks at the clock, at most: so that a look costs little, and that few rows can take long.
        clock: that clock.
    """

    probed: int = 16
    every: int = 64
    patience_s: float = 30e-3
    rows_a_look: int = 16
    clock: Clock = MONOTONIC

    def patience(self) -> Patience:
        """Returns how long a loop that begins now goes on."""
        return Patience(self.clock.now_s, self.clock.now_s() + self.patience_s, self.rows_a_look)
