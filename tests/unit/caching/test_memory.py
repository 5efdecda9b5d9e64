"""The memory of a cache: empty or complete."""

from __future__ import annotations

from headrace.caching.kept import Filled, KeptEpoch
from headrace.caching.memory import MemoryCache


def test_it_is_empty_until_a_whole_epoch_is_kept_and_the_first_one_stays() -> None:
    memory = MemoryCache()
    assert memory.kept is None
    first = KeptEpoch((), Filled((0,)))
    memory.keep(first)
    memory.keep(KeptEpoch((), Filled((1,))))
    assert memory.kept is first
