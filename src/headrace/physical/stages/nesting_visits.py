"""Which datasets of flat_map and interleave have which turn, by arithmetic: how many elements come, in which order, and who is where.

Visits to the slots are numbered: visit ``v`` is to slot ``v % cycle_length``. A dataset of ``n`` elements is visited ``n // block_length + 1`` times in
a row, ``cycle_length`` visits apart: the last time it gives what is left of it, or nothing, and leaves its slot, which the next dataset
has from the visit after that. So the lengths say which visit is whose, and an element's visit where it comes.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from headrace.frozen import frozen

__all__ = ["ENDLESS", "Standing", "Turns", "turns_of"]

# The turn of a dataset that is read to its end.
ENDLESS: Final = 1 << 62


@frozen
class Standing:
    """Where turns stand.

    Attributes:
        cycle: the slot whose turn it is.
        given: how many elements it gave in this turn.
        reached: how many datasets were opened, with those that were in slots when the turns began.
        slots: of each slot the number of its dataset, in the order in which they were opened, and how many elements of that were taken.
    """

    cycle: int
    given: int
    reached: int
    slots: Sequence[tuple[int, int] | None]


class Turns:
    """Slots that are visited in turn, and give ``block_length`` elements each.

    Args:
        slots: how many elements are left of the dataset in each.
        cycle: the slot whose turn it is.
        given: how many elements it gave in this turn.
        block_length: how many are a turn.
    """

    def __init__(self, slots: Sequence[int | None], cycle: int, given: int, block_length: int) -> None:
        self._slots = slots
        self._begun = cycle  # the visit in which they begin
        self._given = given
        self._block_length = block_length
        self._in_slots = len(slots) - slots.count(None)
        self.has_ended = False  # whether no other dataset follows
        self._place([])

    def _place(self, lengths: Iterable[int]) -> None:
        """Begins anew, with datasets of these lengths after those in the slots."""
        cycle_length = len(self._slots)
        self._lengths: list[int] = []
        self._firsts: list[int] = []  # the visit in which each dataset begins
        self._lasts: list[int] = []  # and that in which it leaves its slot
        self.total = 0
        self._found: _Elements | None = None
        self._missing = self._given  # what visits that are over did not give of block_length
        self._ending: list[tuple[int, int]] = []  # a heap of last visits, and what will be missing of them
        free: list[int] = []
        for visit in range(self._begun, self._begun + cycle_length):
            left = self._slots[visit % cycle_length]
            free.append(visit if left is None else self._placed(visit, left))
        heapq.heapify(free)
        self._free = free  # the next visit in which each slot is free
        for length in lengths:
            self.add(length)

    def _placed(self, visit: int, length: int) -> int:
        """Gives a dataset visits from this one on; returns the next one, in which its slot is free."""
        begins_at = self._given if visit == self._begun else 0
        self._found = None
        turns, rest = divmod(begins_at + length, self._block_length)
        last = visit + turns * len(self._slots)
        self._lengths.append(length)
        self._firsts.append(visit)
        self._lasts.append(last)
        self.total += length
        heapq.heappush(self._ending, (last, self._block_length - rest))
        return last + len(self._slots)

    def add(self, length: int) -> None:
        """Opens the next dataset, of so many elements, in the slot that is free first."""
        heapq.heapreplace(self._free, self._placed(self._free[0], length))

    def drop(self, count: int) -> None:
        """Takes the last datasets back."""
        self._place(self._lengths[self._in_slots : len(self._lengths) - count])

    @property
    def ready(self) -> int:
        """How many elements come before another dataset is opened."""
        if self.has_ended:
            return self.total
        visit, ending = self._free[0], self._ending
        while ending and ending[0][0] < visit:
            self._missing += heapq.heappop(ending)[1]
        return (visit - self._begun) * self._block_length - self._missing

    @property
    def is_a_line(self) -> bool:
        """Whether the datasets come one after the other, as there is one slot."""
        return len(self._slots) == 1

    def order(self, count: int) -> np.ndarray:
        """Returns where the first elements stand in those of all datasets, one dataset after the other."""
        return self._elements().order[:count]

    def standing(self, count: int) -> Standing:
        """Returns where they stand after so many elements of those that are ready; after all, where another dataset is opened."""
        return self._before_next() if count == self.ready else self.after(count)

    def standing_with_all(self, count: int) -> tuple[int, Standing]:
        """Returns how many elements to take, and where they stand then: so many, or all that are ready, where a dataset would be in no slot yet."""
        stands = self.standing(count)
        if stands.reached < len(self._lengths):
            count, stands = self.ready, self._before_next()
        return count, stands

    def after(self, count: int) -> Standing:
        """Returns where they stand once so many elements were taken, and nothing else was done."""
        if not count:
            return Standing(self._begun, self._given, self._in_slots, self._slots_in(self._begun - 1, 0))
        found = self._elements()
        visit, at = divmod(int(found.keys[found.order[count - 1]]), found.keys_a_visit)
        cycle, given = visit % len(self._slots), at + 1
        if given == self._block_length:
            cycle, given = (cycle + 1) % len(self._slots), 0
        return Standing(
            cycle, given, bisect.bisect_right(self._firsts, visit, self._in_slots), self._slots_in(visit, count)
        )

    def _before_next(self) -> Standing:
        visit = self._free[0]
        slots: Sequence[tuple[int, int] | None] = [None] * len(self._slots)
        if not self.has_ended and max(self._lasts, default=0) >= visit:
            slots = self._slots_in(visit, self.ready)
        return Standing(visit % len(self._slots), 0, len(self._lengths), slots)

    def _slots_in(self, visit: int, count: int) -> Sequence[tuple[int, int] | None]:
        """Returns the dataset in each slot as a visit ends, or before the first one, and how many of its elements are among the first ``count``."""
        slots: list[tuple[int, int] | None] = [None] * len(self._slots)
        taken = [0] * len(self._lengths)
        if count:
            found = self._elements()
            taken = np.bincount(found.number[found.order[:count]], minlength=len(taken)).tolist()
        for number, (first, last) in enumerate(zip(self._firsts, self._lasts, strict=True)):
            if last >= visit and (first <= visit or number < self._in_slots):
                slots[first % len(self._slots)] = number, taken[number]
        return slots

    def _elements(self) -> _Elements:
        if self._found is None:
            lengths = np.array(self._lengths)
            number = np.repeat(np.arange(len(lengths)), lengths)
            at = np.arange(self.total) - (np.cumsum(lengths) - lengths)[number]
            if self._given and self._begun in self._firsts:
                at[number == self._firsts.index(self._begun)] += self._given
            keys_a_visit = min(self._block_length, int(np.max(at)) + 1)
            turn = at // keys_a_visit
            visit = np.array(self._firsts)[number] + turn * len(self._slots)
            keys = (visit - turn) * keys_a_visit + at
            self._found = _Elements(number, keys, np.argsort(keys, kind="stable"), keys_a_visit)
        return self._found


class _Line(Turns):
    """One slot whose turn is endless, as that of flat_map: each dataset gives all of its elements, and then comes the next one."""

    def _place(self, lengths: Iterable[int]) -> None:
        self._lengths = [left for left in self._slots if left is not None]
        self._lengths += lengths
        self.total = sum(self._lengths)

    def add(self, length: int) -> None:
        """Opens the next dataset, of so many elements."""
        self._lengths.append(length)
        self.total += length

    @property
    def ready(self) -> int:
        """How many elements come before another dataset is opened: all."""
        return self.total

    @property
    def is_a_line(self) -> bool:
        """Whether the datasets come one after the other."""
        return True

    def order(self, count: int) -> np.ndarray:
        """Returns where the first elements stand, which is where they come."""
        return np.arange(count)

    def after(self, count: int) -> Standing:
        """Returns where they stand once so many elements were taken, and nothing else was done."""
        if not count:
            return Standing(0, self._given, self._in_slots, [(0, 0) if self._in_slots else None])
        ends = list(itertools.accumulate(self._lengths))
        number = bisect.bisect_left(ends, count)
        taken = count - (ends[number] - self._lengths[number])
        return Standing(0, taken + (0 if number else self._given), number + 1, [(number, taken)])

    def _before_next(self) -> Standing:
        return Standing(0, 0, len(self._lengths), [None])


def turns_of(slots: Sequence[int | None], cycle: int, given: int, block_length: int) -> Turns:
    """Returns the turns of such slots."""
    kind = _Line if len(slots) == 1 and block_length == ENDLESS else Turns
    return kind(slots, cycle, given, block_length)


class _Elements(NamedTuple):
    """Of each element the number of its dataset, and a key: those of a visit are ``keys_a_visit``; and the order of the keys."""

    number: np.ndarray
    keys: np.ndarray
    order: np.ndarray
    keys_a_visit: int
