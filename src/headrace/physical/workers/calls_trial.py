"""Two numbers of calls, looked at by turns: whether the other one brings more elements than the one that there was.

A machine that others use as well is quicker now and slower then, by more than a step brings, and for longer than a look takes. So
each look at the number that is tried stands between two at the other, which such a change moves as much; and there are the more of
them the less the two differ.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

from headrace.analysis.calls import CallsFigures

__all__ = ["CallsTrial"]

# What is tried has to bring so much more, or as much, to be kept.
_MORE: Final = math.log(1.05)
_AS_MUCH: Final = 0.0
# Looks at what is tried: two at least; after so many what they say counts, and before that where it differs by more than a part of this.
_FEWEST: Final = 2
_ENOUGH: Final = 6
_DOUBT: Final = 0.27
# A step that brings so much of what it could, on a scale of powers, is kept at once.
_AT_ONCE: Final = 0.4


class CallsTrial:
    """Says how many calls there are to be for the next look, and whether what is tried pays.

    Args:
        before: the look before it, at the calls that there were.
        tried: how many are tried.

    Attributes:
        calls: how many there are to be now.
        before: how many there were.
        tried: how many are tried.
        was_plain: whether the first look at these said it all.
    """

    def __init__(self, before: CallsFigures, tried: int) -> None:
        self.before, self.tried = before.calls, tried
        self.was_plain = self._has_begun = False
        # Where a library's threads compute, a step brings too little for one look, and the look before it may have been the first of all.
        self._may_be_plain = not before.is_helped
        self._rates: dict[int, list[float]] = {self.before: [_log_of(before)] if self._may_be_plain else [], tried: []}
        self.calls = tried if self._may_be_plain else self.before

    def add(self, figures: CallsFigures) -> bool | None:
        """Learns from a look; returns whether what is tried is to be kept, and None while that is in doubt."""
        rates, rate = self._rates[figures.calls], _log_of(figures)
        if figures.calls == self.before:
            rates.append(rate)
            self.calls = self.tried
            return self._judged()
        gain = rate - self._rates[self.before][-1]
        if not rates and gain < 0 and not self._has_begun:
            self._has_begun = True  # what has begun a moment ago is slow: its processes import what they need
            return None
        rates.append(rate)
        if self._may_be_plain and len(rates) == 1 and gain >= _AT_ONCE * abs(math.log(self.tried / self.before)):
            self.was_plain = True
            return True
        self.calls = self.before
        return None

    def _judged(self) -> bool | None:
        looks, least = len(self._rates[self.tried]), _MORE if self.tried > self.before else _AS_MUCH
        if looks < _FEWEST:
            return None
        gain = math.log(self.gain)
        if looks < _ENOUGH and abs(gain - least) < _DOUBT / looks:
            return None
        return gain >= least

    @property
    def gain(self) -> float:
        """How many times as many elements came of what is tried."""
        around = [(one + other) / 2 for one, other in pairwise(self._rates[self.before])]
        gains = [tried - between for tried, between in zip(self._rates[self.tried], around, strict=False)]
        if not gains:  # after the first look at it, where that was plain
            gains = [tried - self._rates[self.before][0] for tried in self._rates[self.tried]]
        return math.exp(sum(gains) / max(1, len(gains)))


def _log_of(figures: CallsFigures) -> float:
    return math.log(max(figures.rate, 1e-9))
