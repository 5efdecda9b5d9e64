"""Elements of one whole epoch, kept in memory.

What always holds: a cache is either empty or complete. It becomes complete in one step, when some iterator
has read a whole epoch; until then every iterator collects for itself, and what a partial epoch collected is
dropped with it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["KeptEpoch", "MemoryCache"]


@dataclasses.dataclass(frozen=True, slots=True)
class KeptEpoch:
    """All elements of one epoch in pieces, each with where its elements came from, and which epoch it was."""

    pieces: tuple[tuple[Any, Any], ...]
    epoch: tuple[int, ...]


class MemoryCache:
    """Shared by every iterator over one cached dataset."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: KeptEpoch | None = None

    @property
    def kept(self) -> KeptEpoch | None:
        """The epoch that is kept, once one was complete."""
        return self._kept

    def keep(self, kept: KeptEpoch) -> None:
        """Keeps an epoch; the first one wins, so that every later epoch is the same."""
        if self._kept is None:
            self._kept = kept
