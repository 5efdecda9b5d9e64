"""How many elements to ask for at once."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["FADING", "Pace"]

# What a block weighs less than the one after it: about four blocks count, so it is quick to follow and slow to be
# fooled. Time and elements are summed apart, because a source may work for a hundred elements when it is asked for one.
FADING: Final = 0.75
# What a block takes beside its elements is learned from blocks whose lengths differ so much, and is at most this part of what it takes:
# a single block that somebody else held up tells no more than that.
_APART: Final = 0.05
_MOST_BEGIN: Final = 0.75


class Pace:
    """How many elements to ask for at once, so that a block is a fixed amount of work, by default about a millisecond.

    A hand-off costs tens of microseconds, so a millisecond makes it cheap; longer would only delay the first
    element and hold more memory. It starts at one element, and grows by at most a factor of four a step, so that
    one cheap element says little about the next. Nor does one block that takes far longer than those before it: somebody else had the
    processor, or Python's lock. The next one tells.

    A block takes some time beside its elements, too. Where that is most of the millisecond, a block is the longer: else each element
    would seem dear, fewer would be asked for, and then they would be. A block of twice the length is looked at now and then, as blocks of
    one length do not tell one from the other.
    """

    __slots__ = ("_alike", "_blocks", "_latest", "_look_after", "_was_long", "bytes_limit", "limit", "size", "target_s")

    GROWTH = 4
    # A block that takes so many times as long as was expected counts as that, if the one before it did not: a turn of others is some
    # milliseconds, and a block one. In full it would make blocks of one element, some twenty of them.
    LONG = 8
    # Where what a block takes beside its elements is more than a block of work, so many blocks of work are asked for at most.
    STRETCH = 4
    # After so many blocks of one length a longer one is looked at, and later less often.
    FIRST_LOOK = 2
    LAST_LOOK = 64

    def __init__(self, *, limit: int = 1 << 16, bytes_limit: int = 4 << 20, target_s: float = 1e-3) -> None:
        self.size = 1
        self.target_s = target_s
        self.limit = max(1, limit)
        self.bytes_limit = bytes_limit  # may be set at any time
        self._latest = _LatestBlocks()
        self._blocks = 0
        self._alike, self._look_after = 0, self.FIRST_LOOK
        self._was_long = False

    def observe(self, elements: int, seconds: float, nbytes: int) -> None:
        """Learns from one block."""
        if elements < 1:
            return
        before = self._latest
        # The first may only be slow because it is: what is opened, imported or compiled then. The second tells, and the first no more.
        fading = FADING if self._blocks > 1 else 0.0
        self._blocks += 1
        long_s = self.LONG * before.element_s * elements
        is_long = seconds > long_s and fading > 0
        if is_long and not self._was_long:
            seconds = long_s
        self._was_long = is_long
        self._latest = latest = before.and_one(elements, seconds, nbytes, fading)
        self._alike = 0 if latest.differ else self._alike + 1
        wanted = min(self._fitting(latest), self.size * self.GROWTH)
        if self._alike >= self._look_after and self._may_be_twice(latest):
            self._alike, self._look_after = 0, min(2 * self._look_after, self.LAST_LOOK)
            wanted = max(wanted, 2 * self.size)
        self.size = max(1, round(min(wanted, self.limit)))

    def _may_be_twice(self, latest: _LatestBlocks) -> bool:
        """Returns whether one block may have twice the length, only to be looked at."""
        within_time = 2 * latest.seconds <= self.STRETCH * self.target_s * latest.blocks
        return within_time and 2 * latest.nbytes <= self.bytes_limit * latest.blocks

    def _fitting(self, latest: _LatestBlocks) -> float:
        """Returns how many elements are a block: as much work as is wanted in all, or as much as it takes beside them if that is more."""
        work_s = max(self.target_s - latest.begin_s, min(latest.begin_s, self.STRETCH * self.target_s))
        return min(
            work_s / max(latest.further_element_s, 1e-15),
            self.bytes_limit * latest.elements / max(latest.nbytes, 1e-9),
        )

    def begin_like(self, before: Pace) -> None:
        """Begins with what another has learned of the same work, and half as much at once as that says: some come sooner so.

        They are few, as the next elements may be others: as many as three steps would lead to.
        """
        latest = before._latest
        if not latest.seconds:
            return
        self._latest = latest
        self._blocks = 2  # so none of the next ones is the first
        self.begin_with(max(1, min(int(self._fitting(latest) / 2), self.GROWTH**3)))

    def begin_with(self, elements: int) -> None:
        """Begins with more than one element, where it is known that they cost little."""
        self.size = max(self.size, min(elements, self.limit))

    @property
    def element_s(self) -> float:
        """About how many seconds one element takes."""
        return self._latest.element_s

    @property
    def element_nbytes(self) -> int:
        """About how many bytes one element has."""
        latest = self._latest
        return int(latest.nbytes / latest.elements) if latest.elements else 0


class _LatestBlocks(NamedTuple):
    """What the latest blocks took, each counted less than the one after it. It never changes, as several threads may share a pace.

    Attributes:
        blocks: how many they count for.
        elements: how many they had.
        seconds: what they took.
        nbytes: what their elements weighed.
        squares: sum of the squares of how many each had.
        products: sum of how many each had times what it took.
        begin_s: what one takes beside its elements, as far as that is known.
        differ: whether they have lengths so different that they tell that.
    """

    blocks: float = 0.0
    elements: float = 0.0
    seconds: float = 0.0
    nbytes: float = 0.0
    squares: float = 0.0
    products: float = 0.0
    begin_s: float = 0.0
    differ: bool = False

    def and_one(self, elements: int, seconds: float, nbytes: int, fading: float) -> _LatestBlocks:
        """Returns what they are after another one, which counts so many times as much as the one before it."""
        blocks = self.blocks * fading + 1
        sum_elements, sum_s = self.elements * fading + elements, self.seconds * fading + seconds
        squares = self.squares * fading + elements * elements
        products = self.products * fading + elements * seconds
        begin_s, block_s = self.begin_s, sum_s / blocks
        spread = squares - sum_elements**2 / blocks
        differ = spread > _APART * squares
        if differ:  # by the line through them
            each_s = max(0.0, products - sum_elements * block_s) / spread
            begin_s = max(0.0, block_s - each_s * sum_elements / blocks)
        begin_s = min(begin_s, _MOST_BEGIN * block_s)
        nbytes_of_all = self.nbytes * fading + nbytes
        return _LatestBlocks(blocks, sum_elements, sum_s, nbytes_of_all, squares, products, begin_s, differ)

    @property
    def element_s(self) -> float:
        """About how many seconds one element takes, with its part of what a block takes beside them."""
        return self.seconds / self.elements if self.elements else 0.0

    @property
    def further_element_s(self) -> float:
        """About how many seconds another element takes."""
        return max(0.0, self.seconds - self.blocks * self.begin_s) / self.elements
