"""The memory of a cache: empty or complete."""

from __future__ import annotations

from headrace.caching.memory import MemoryCache
from headrace.caching.store import CachedEpoch, Filled


def test_it_is_empty_until_a_whole_epoch_is_kept_and_the_first_one_stays() -> None:
    memory = MemoryCache()
    assert memory.cached is None
    first = CachedEpoch(Filled((0,)))
    memory.keep(first)
    memory.keep(CachedEpoch(Filled((1,))))
    assert memory.cached is first
