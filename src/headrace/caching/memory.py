"""A cache in the memory of this process."""

from __future__ import annotations

import itertools
import os
from typing import Final

from headrace.blocks.kept import KeptSource, joined_kept
from headrace.blocks.origin import JoinedOrigin, Origin
from headrace.blocks.payload import Payload
from headrace.caching.bounds import rows_within, too_large
from headrace.caching.store import CachedEpoch, CannotKeep, Filled
from headrace.io.write_state import WritePhase, WriteState

__all__ = ["MemoryCache"]

_numbers: Final = itertools.count()


class MemoryCache:
    """Every iterator collects for itself, and the first whole epoch is kept.

    Args:
        max_bytes: how much it may hold; None is without a bound.
    """

    __slots__ = ("__weakref__", "_kept", "identity", "max_bytes")

    stage: Final = "cache"

    def __init__(self, max_bytes: int | None = None) -> None:
        self._kept: CachedEpoch | None = None
        self.max_bytes: Final = max_bytes
        self.identity: Final = f"cache {next(_numbers)} of process {os.getpid()}"

    @property
    def cached(self) -> CachedEpoch | None:
        """The epoch that is kept, once one was complete."""
        return self._kept

    def keep(self, kept: CachedEpoch) -> None:
        """Keeps an epoch; the first one wins, so that every later epoch is the same."""
        if self._kept is None:
            self._kept = kept

    def begin_write(self, filled: Filled, content: str | None) -> _MemoryWriter:
        """Collects an epoch; several may be collected at once."""
        return _MemoryWriter(self, filled)


class _MemoryWriter:
    """What one iterator has collected."""

    content = None
    one_by_one = False

    def __init__(self, cache: MemoryCache, filled: Filled) -> None:
        self._cache = cache
        self._filled = filled
        self._pieces: list[Payload] = []
        self._origins: list[Origin] = []
        self._count = self._nbytes = 0
        self._state = WriteState()

    def add(self, elements: Payload, origin: Origin) -> None:
        assert self._state.is_open  # nothing is added after the end
        limit = self._cache.max_bytes
        if limit is not None:
            taken, nbytes = rows_within(elements, limit - self._nbytes)
            self._nbytes += nbytes
            if taken < len(elements):
                error = too_large(limit, self._count + taken)
                raise CannotKeep(error.located(stage=None, origin=origin.describe(taken)), taken)
        self._count += len(elements)
        self._pieces.append(elements)
        self._origins.append(origin)

    def complete(self) -> CachedEpoch:
        origin = JoinedOrigin.of([len(piece) for piece in self._pieces], self._origins) if self._pieces else None
        kept = CachedEpoch(self._filled, KeptSource(joined_kept(self._pieces)), origin)
        self._cache.keep(kept)
        self._state.end(WritePhase.COMPLETE)
        return kept

    def abandon(self) -> None:
        if self._state.is_open:
            self._pieces.clear()
            self._origins.clear()
            self._state.end(WritePhase.ABANDONED)
