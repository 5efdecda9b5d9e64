"""Which elements of what every rank can read whole are those of a stream: one of each round of as many as there are streams.

A whole is often made of what repeats every few elements: a copy beside each original, a row of each of four sensors. If a stream had
every S-th element, then a filter for one kind would leave all of them in some streams and none in the others. So the place of a
stream in a round is turned from round to round, by a number that looks random and is the same in every run. In the first round it
is not turned: stream s begins with element s, and of as many files as streams each has the file of its number.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.frozen import frozen

__all__ = ["PlacesOfStream"]

# Two odd numbers without a pattern in their bits: those of MurmurHash3's and SplitMix64's last steps.
_FIRST: Final = 0xFF51AFD7ED558CCD
_SECOND: Final = 0xBF58476D1CE4E5B9
_BITS_64: Final = (1 << 64) - 1
_HALF: Final = 32


@frozen
class PlacesOfStream:
    """The numbers of a stream's elements, in order; those of a branch of a concatenation count from its own first element.

    Attributes:
        streams: among how many streams all are dealt.
        stream: which of them this is.
        before: how many elements come before the branch.
    """

    streams: int
    stream: int
    before: int = 0

    def at(self, index: int) -> int:
        """Returns the number of one of the stream's elements."""
        round_ = self._first_round + index
        return round_ * self.streams + self._in_round(round_) - self.before

    def among(self, start: int, count: int) -> np.ndarray:
        """Returns the numbers of so many of the stream's elements, from one of them on (int64)."""
        return self.of(np.arange(start, start + count))

    def of(self, indices: np.ndarray) -> np.ndarray:
        """Returns the numbers of some of the stream's elements (int64)."""
        rounds = indices.astype(np.uint64)
        rounds += np.uint64(self._first_round)
        mixed = rounds * np.uint64(_FIRST)
        mixed ^= mixed >> np.uint64(_HALF)
        mixed *= np.uint64(_SECOND)
        mixed >>= np.uint64(_HALF)
        mixed *= np.uint64(self.streams)
        mixed >>= np.uint64(_HALF)
        mixed += np.uint64(self.stream)
        # One round less, where that is no negative number, which would be a very large one here.
        np.minimum(mixed, mixed - np.uint64(self.streams), out=mixed)
        rounds *= np.uint64(self.streams)
        mixed += rounds
        numbers = mixed.view(np.int64)
        numbers -= self.before
        return numbers

    def count(self, total: int) -> int:
        """Returns how many of the first ``total`` elements are the stream's."""
        return self._rounds_before(self.before + total) - self._first_round

    @property
    def _first_round(self) -> int:
        """The first round of which the stream has an element here."""
        return self._rounds_before(self.before) if self.before else 0

    def _rounds_before(self, number: int) -> int:
        """Returns of how many rounds the stream's element comes before the one with this number."""
        rounds, rest = divmod(number, self.streams)
        return rounds + (self._in_round(rounds) < rest)

    def _in_round(self, number: int) -> int:
        """Returns the place of the stream in a round."""
        mixed = number * _FIRST & _BITS_64
        mixed ^= mixed >> _HALF
        mixed = (mixed * _SECOND & _BITS_64) >> _HALF
        return (self.stream + (mixed * self.streams >> _HALF)) % self.streams
