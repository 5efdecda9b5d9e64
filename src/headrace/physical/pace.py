"""How many elements to ask for at once."""

from __future__ import annotations

from typing import Final

__all__ = ["FADING", "Pace"]

# What a block weighs less than the one after it: about four blocks count, so it is quick to follow and slow to be
# fooled. Time and elements are summed apart, because a source may work for a hundred elements when it is asked for one.
FADING: Final = 0.75


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
        latest = self._latest
        # The first may only be slow because it is: what is opened, imported or compiled then. The second tells, and the first no more.
        counts_others = self._blocks > 1
        self._blocks += 1
        long_s = self.LONG * latest.element_s * elements
        is_long = seconds > long_s and counts_others
        if is_long and not self._was_long:
            seconds = long_s
        self._was_long = is_long
        if not counts_others:
            latest.forget()
        latest.add(elements, seconds, nbytes)
        self._alike = 0 if latest.learn_begin() else self._alike + 1
        wanted = min(self._fitting, self.size * self.GROWTH)
        if self._alike >= self._look_after and self._may_be_twice:
            self._alike, self._look_after = 0, min(2 * self._look_after, self.LAST_LOOK)
            wanted = max(wanted, 2 * self.size)
        self.size = max(1, round(min(wanted, self.limit)))

    @property
    def _may_be_twice(self) -> bool:
        """Whether one block may have twice the length, only to be looked at."""
        latest = self._latest
        return 2 * latest.block_s <= self.STRETCH * self.target_s and 2 * latest.block_nbytes <= self.bytes_limit

    @property
    def _fitting(self) -> float:
        """How many elements are a block: as much work as is wanted in all, or as much as it takes beside them if that is more."""
        begin_s = self._latest.begin_s
        work_s = max(self.target_s - begin_s, min(begin_s, self.STRETCH * self.target_s))
        return min(
            work_s / max(self._latest.further_element_s, 1e-15),
            self.bytes_limit / max(self._latest.element_nbytes, 1e-9),
        )

    def begin_like(self, before: Pace) -> None:
        """Begins with what another has learned of the same work, and half as much at once as that says: some come sooner so.

        They are few, as the next elements may be others: as many as three steps would lead to.
        """
        if not before.element_s:
            return
        self._latest.take_over(before._latest)
        self._blocks = 2  # so none of the next ones is the first
        self.begin_with(max(1, min(int(self._fitting / 2), self.GROWTH**3)))

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
        return int(self._latest.element_nbytes)


class _LatestBlocks:
    """What the latest blocks took, each counted less than the one after it.

    Attributes:
        begin_s: what one takes beside its elements, as far as that is known.
    """

    __slots__ = ("_blocks", "_elements", "_nbytes", "_products", "_seconds", "_squares", "begin_s")

    # What a block takes beside its elements is learned from blocks whose lengths differ so much, and is at most this part of what it takes:
    # a single block that somebody else held up tells no more than that.
    APART = 0.05
    MOST_BEGIN = 0.75

    def __init__(self) -> None:
        self.begin_s = 0.0
        self.forget()

    def forget(self) -> None:
        """Forgets them."""
        self._blocks = self._elements = self._seconds = self._nbytes = self._squares = self._products = 0.0

    def add(self, elements: int, seconds: float, nbytes: int) -> None:
        """Takes in another one."""
        self._blocks = self._blocks * FADING + 1
        self._elements = self._elements * FADING + elements
        self._seconds = self._seconds * FADING + seconds
        self._nbytes = self._nbytes * FADING + nbytes
        self._squares = self._squares * FADING + elements * elements
        self._products = self._products * FADING + elements * seconds

    def take_over(self, others: _LatestBlocks) -> None:
        """Takes in those of another run, in place of its own."""
        for name in self.__slots__:
            setattr(self, name, getattr(others, name))

    def learn_begin(self) -> bool:
        """Learns what a block takes beside its elements, by the line through blocks of different lengths; returns whether these differ."""
        spread = self._squares - self._elements**2 / self._blocks
        if differ := spread > self.APART * self._squares:
            each_s = max(0.0, self._products - self._elements * self.block_s) / spread
            self.begin_s = max(0.0, self.block_s - each_s * self._elements / self._blocks)
        self.begin_s = min(self.begin_s, self.MOST_BEGIN * self.block_s)
        return differ

    @property
    def block_s(self) -> float:
        """About how many seconds a block takes."""
        return self._seconds / self._blocks

    @property
    def block_nbytes(self) -> float:
        """About how many bytes it has."""
        return self._nbytes / self._blocks

    @property
    def element_s(self) -> float:
        """About how many seconds one element takes, with its part of what a block takes beside them."""
        return self._seconds / self._elements if self._elements else 0.0

    @property
    def further_element_s(self) -> float:
        """About how many seconds another element takes."""
        return max(0.0, self._seconds - self._blocks * self.begin_s) / self._elements

    @property
    def element_nbytes(self) -> float:
        """About how many bytes one element has."""
        return self._nbytes / self._elements if self._elements else 0.0
