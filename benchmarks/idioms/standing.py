"""How a case stands to its bounds, which are those that the project has set itself.

A program takes at most 2.5 times what the plain loop takes, or what the loop takes and the engine's own cost that is allowed
for its unit, whichever is more; and never more than tf.data. What every guide says to add at its end, or to a map, does
not make it slower than 0.9 of what it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from idioms.case import Unit
from idioms.rounds import Measured
from idioms.sides import AGAIN, OURS, PLAIN, TFDATA, TORCH, VARIANTS

TIMES_PLAIN: Final = 2.5
ENGINE_NS: Final = {
    Unit.ELEMENT: 150.0,
    Unit.BATCH: 0.0,
    Unit.INNER: 10_000.0,
    Unit.WINDOW: 10_000.0,
    Unit.TOKEN: 0.0,
}
NOT_SLOWER: Final = 0.9


@dataclass(frozen=True, slots=True)
class Standing:
    """One case and its ratios."""

    measured: Measured

    @property
    def ns(self) -> float | None:
        """Nanoseconds a unit."""
        return self.measured.ns(OURS)

    @property
    def bound_ns(self) -> float | None:
        """Nanoseconds that a unit may take."""
        plain, tfdata = self.measured.ns(PLAIN), self.measured.ns(TFDATA)
        if plain is None:
            return tfdata
        allowed = max(TIMES_PLAIN * plain, plain + ENGINE_NS[self.measured.case.unit])
        return allowed if tfdata is None else min(allowed, tfdata)

    @property
    def of_bound(self) -> float | None:
        """The figure as a part of its bound: more than 1 is too slow."""
        return self.ns / self.bound_ns if self.ns is not None and self.bound_ns else None

    def times(self, side: str) -> float | None:
        """How many times as long as a side it takes: 2 is half as fast."""
        return self.measured.speed_of(side, OURS)

    @property
    def times_plain(self) -> float | None:
        """How many times as long as the plain loop it takes."""
        return self.times(PLAIN)

    @property
    def times_tfdata(self) -> float | None:
        """How many times as long as tf.data it takes."""
        return self.times(TFDATA)

    @property
    def times_torch(self) -> float | None:
        """How many times as long as torch it takes."""
        return self.times(TORCH)

    def with_variant(self, variant: str) -> float | None:
        """How fast it is with something added, as a part of what it was."""
        return self.measured.speed_of(variant, OURS)

    @property
    def again(self) -> float | None:
        """The same of the very same program, measured once more."""
        return self.measured.speed_of(AGAIN, OURS)

    @property
    def worst_variant(self) -> float | None:
        """The lowest of those."""
        return min((ratio for one in VARIANTS if (ratio := self.with_variant(one)) is not None), default=None)


def worst_first(standings: list[Standing]) -> list[Standing]:
    """By the part of the bound, most first; without figures at the top, because that is worse."""
    return sorted(standings, key=lambda one: -(float("inf") if one.of_bound is None else one.of_bound))


def slowed_most_first(standings: list[Standing]) -> list[Standing]:
    """Those to which something can be added, by what the worst of it leaves of their speed."""
    return sorted((one for one in standings if one.worst_variant is not None), key=lambda one: one.worst_variant or 0.0)
