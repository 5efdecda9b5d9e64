"""A cache in the memory of this process."""

from __future__ import annotations

from typing import Final

from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload
from headrace.caching.kept import Filled, KeptEpoch
from headrace.errors import ResourceExhaustedError

__all__ = ["MemoryCache"]


class MemoryCache:
    """Every iterator collects for itself, and the first whole epoch is kept.

    Args:
        max_bytes: how much it may hold; None is without a bound.
    """

    __slots__ = ("__weakref__", "_kept", "max_bytes")

    def __init__(self, max_bytes: int | None = None) -> None:
        self._kept: KeptEpoch | None = None
        self.max_bytes: Final = max_bytes

    @property
    def kept(self) -> KeptEpoch | None:
        """The epoch that is kept, once one was complete."""
        return self._kept

    def keep(self, kept: KeptEpoch) -> None:
        """Keeps an epoch; the first one wins, so that every later epoch is the same."""
        if self._kept is None:
            self._kept = kept

    def filling(self, filled: Filled, content: str | None) -> _Collected:
        """Collects an epoch; several may be collected at once."""
        return _Collected(self, filled)


class _Collected:
    """What one iterator has collected."""

    content = None
    one_by_one = False

    def __init__(self, cache: MemoryCache, filled: Filled) -> None:
        self._cache = cache
        self._filled = filled
        self._pieces: list[tuple[Payload, Origin]] = []
        self._count = self._nbytes = 0

    def add(self, elements: Payload, origin: Origin) -> None:
        self._nbytes += elements.nbytes
        limit = self._cache.max_bytes
        if limit is not None and self._nbytes > limit:
            message = f"its elements need more than max_bytes={limit:,}; {self._count} were kept"
            raise ResourceExhaustedError(message, stage="cache")
        self._count += len(elements)
        self._pieces.append((elements, origin))

    def complete(self) -> KeptEpoch:
        kept = KeptEpoch(tuple(self._pieces), self._filled)
        self._cache.keep(kept)
        return kept

    def abandon(self) -> None:
        self._pieces.clear()
