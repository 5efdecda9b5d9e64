"""Durations, counted in buckets whose bounds grow by a tenth: a percentile is right to that, the number and the sum are exact.

A bucket is kept where something fell into it, so a counter has a few dozen numbers, however much was counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Final, NamedTuple

from headrace.frozen import frozen

__all__ = ["GROWTH", "NOTHING", "Durations", "DurationsReading", "Times", "times_between"]

# A percentile off by a tenth still tells a slow disk from a slow decoder.
GROWTH: Final = 1.1
_SHORTEST_S: Final = 1e-7  # no hand-off between threads is shorter
_PER_SHORTEST: Final = 1 / _SHORTEST_S
_BUCKETS_PER_E: Final = 1 / log(GROWTH)


@frozen
class Times:
    """How long something took that happened several times, in seconds.

    Attributes:
        count: how often it happened.
        total_s: the sum.
        p50_s: half of them took no longer than this (within ten per cent).
        p95_s: as many as 95 % of them.
        p99_s: as many as 99 % of them.
        max_s: the longest (within ten per cent).
    """

    count: int = 0
    total_s: float = 0.0
    p50_s: float = 0.0
    p95_s: float = 0.0
    p99_s: float = 0.0
    max_s: float = 0.0

    @property
    def mean_s(self) -> float:
        """The mean."""
        return self.total_s / self.count if self.count else 0.0


class DurationsReading(NamedTuple):
    """What was counted up to a moment."""

    counted: int
    total_s: float
    longest_s: float
    buckets: Mapping[int, int]

    def at_ranks(self, ranks: Sequence[int]) -> list[float]:
        """Returns the durations that have these ranks, which rise, among all: the upper bounds of their buckets."""
        found: list[float] = []
        passed = 0
        for bucket in sorted(self.buckets):
            passed += self.buckets[bucket]
            while len(found) < len(ranks) and ranks[len(found)] <= passed:
                found.append(min(_SHORTEST_S * GROWTH**bucket, self.longest_s))
        return found


NOTHING: Final = DurationsReading(0, 0.0, 0.0, {})


class Durations:
    """Counts durations; one thread at a time."""

    __slots__ = ("_buckets", "_longest_s", "_total_s")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self._longest_s = self._total_s = 0.0

    def add(self, seconds: float, count: int = 1) -> None:
        """Counts so many that took so long each."""
        self.add_means([(seconds * count, count)])

    def add_means(self, sums: Iterable[tuple[float, int]]) -> None:
        """Counts several that took so long together, of each such sum; a sum of none is left out."""
        buckets, total_s, longest_s = self._buckets, self._total_s, self._longest_s
        for sum_s, count in sums:
            if not count:
                continue
            seconds = sum_s / count
            # As everything is counted here, it is written out, and calls nothing that it need not.
            bucket = int(log(seconds * _PER_SHORTEST) * _BUCKETS_PER_E) + 1 if seconds > _SHORTEST_S else 0
            buckets[bucket] = buckets[bucket] + count if bucket in buckets else count
            total_s += sum_s
            if seconds > longest_s:  # noqa: PLR1730 - max() would be a call
                longest_s = seconds
        self._total_s, self._longest_s = total_s, longest_s

    def reading(self) -> DurationsReading:
        """Returns what was counted so far; another thread may count meanwhile."""
        buckets = self._buckets.copy()
        return DurationsReading(sum(buckets.values()), self._total_s, self._longest_s, buckets)


def times_between(before: DurationsReading, now: DurationsReading) -> Times:
    """Returns what was counted between two readings of a counter."""
    count = now.counted - before.counted
    if count <= 0:
        return Times()
    counts = {bucket: count - before.buckets.get(bucket, 0) for bucket, count in now.buckets.items()}
    since = DurationsReading(count, max(0.0, now.total_s - before.total_s), now.longest_s, counts)
    ranks = [math.ceil(share * count) for share in (0.50, 0.95, 0.99, 1.0)]
    return Times(count, since.total_s, *since.at_ranks(ranks))
