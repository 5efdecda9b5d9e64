"""In which order entries leave a channel. An order only holds entries; it never waits and knows no bound.

The words are those of ``collections.deque``, which as it stands is the order first in, first out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias, TypeVar

__all__ = ["Entry", "Order"]

T = TypeVar("T")

Entry: TypeAlias = tuple[T, int, int]  # an item, its weight in elements, its weight in bytes


class Order(Protocol[T]):
    """What holds the entries of a channel; every call is made with the channel's lock held."""

    def append(self, entry: Entry[T], /) -> None:
        """Take in ``entry``."""

    def popleft(self) -> Entry[T]:
        """Remove and return the entry whose turn it is."""
        ...

    def extendleft(self, entries: Iterable[Entry[T]], /) -> None:
        """Take back entries that had left, the one that left last coming first."""

    def __len__(self) -> int:
        """How many entries are inside."""
        ...
