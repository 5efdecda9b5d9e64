"""The order in which flat_map and interleave take elements of datasets that lie whole, many of them in one block.

Visits to the slots are numbered: visit ``v`` is to slot ``v % cycle_length``. A dataset of ``n`` elements is visited ``n // block_length + 1`` times in
a row, ``cycle_length`` visits apart: the last time it gives what is left of it, or nothing, and leaves its slot, which the next dataset
has from the visit after that. So the lengths say which visit is whose, and an element's visit where it comes.

A block of such elements keeps where its turns began and which datasets were opened on the way; a position in it is found by
going through those turns again, when somebody asks.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.joining import join
from headrace.blocks.origin import Indices, JoinedOrigin, Origin, Within
from headrace.blocks.payload import Payload
from headrace.frozen import frozen
from headrace.physical.stages.nesting_openers import Opener

__all__ = ["Datasets", "Standing", "Turns", "TurnsBlock", "TurnsCursor", "TurnsPosition", "Whole"]


class Datasets(Protocol):
    """One dataset that lies whole, or several that were made together.

    Attributes:
        count: how many datasets there are.
        payload: the elements of all, one dataset after the other; None where there are none, or a block has them.
    """

    payload: Payload | None

    @property
    def count(self) -> int: ...

    def origin_of_all(self) -> Origin:
        """Returns where the elements came from."""
        ...

    def whole(self, number: int, taken: int = 0) -> Whole:
        """Returns what is left of one of the datasets after so many elements, with these if they are here."""
        ...


class Whole:
    """A dataset of which all that is left lies in one block, or nothing is.

    Attributes:
        opener: the element that opened it.
        inner: the position inside; None at the start of a plan that was not opened.
        length: how many elements there were to be taken.
        payload: the elements; None where there are none, and where turns are only gone through again.
        origin: where they came from.
    """

    __slots__ = ("inner", "length", "opener", "origin", "payload")

    count = 1

    def __init__(self, opener: Opener, block: Block | None, inner: Cursor | None, length: int = 0) -> None:
        self.opener = opener
        self.payload: Payload | None = None
        self.origin: Origin | None = None
        self.inner = inner
        if block is not None:
            self.payload, self.origin, self.inner, length = (
                block.payload,
                block.origin,
                block.cursor,
                len(block.payload),
            )
        self.length = length

    def block(self) -> Block:
        """Returns the elements."""
        assert self.payload is not None  # the caller has looked
        assert self.origin is not None  # as above
        assert self.inner is not None  # as above
        return Block(self.payload, self.inner, self.origin)

    def origin_of_all(self) -> Origin:
        """Returns where the elements came from."""
        assert self.origin is not None  # the caller has looked
        return Within(self.origin, self.opener.block.origin, self.opener.at)

    def whole(self, _: int, taken: int = 0) -> Whole:
        """Returns what is left after so many elements."""
        if self.payload is None or taken == self.length:
            return Whole(self.opener, None, self.inner and self.inner.advance(taken), self.length - taken)
        return Whole(self.opener, self.block().slice(taken, self.length), None)

    def state(self, taken: int) -> State:
        """Writes down the position after so many elements."""
        inner = self.inner and self.inner.advance(taken).state()
        return {"number": self.opener.index, "opener": self.opener.cursor.state(), "inner": inner}


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


class _Elements(NamedTuple):
    """Of each element the number of its dataset, and a key: those of a visit are ``keys_a_visit``; and the order of the keys."""

    number: np.ndarray
    keys: np.ndarray
    order: np.ndarray
    keys_a_visit: int


@frozen
class TurnsPosition:
    """Where turns began, and what is opened on the way.

    Attributes:
        cycle: the slot whose turn it was.
        given: how many elements it had given in that turn.
        index: the index of the dataset that was opened next.
        slots: the open datasets.
        input: the position before the element that opened the next one.
        block_length: how many elements are a turn.
    """

    cycle: int
    given: int
    index: int
    slots: Sequence[Whole | None]
    input: Cursor
    block_length: int

    def turns(self) -> Turns:
        """Returns the turns that begin here."""
        lengths = [None if slot is None else slot.length for slot in self.slots]
        return Turns(lengths, self.cycle, self.given, self.block_length)

    @property
    def in_slots(self) -> list[Whole]:
        """The open datasets, in the order of their turns."""
        return [slot for slot in (*self.slots[self.cycle :], *self.slots[: self.cycle]) if slot is not None]


@frozen
class TurnsCursor:
    """``count`` elements after turns began, on whose way these datasets are opened."""

    position: TurnsPosition
    opened: Sequence[Datasets]
    count: int = 0

    def advance(self, count: int) -> TurnsCursor:
        return TurnsCursor(self.position, self.opened, self.count + count)

    def state(self) -> State:
        began = self.position
        opened = [datasets.whole(number) for datasets in self.opened for number in range(datasets.count)]
        turns = began.turns()
        for whole in opened:
            turns.add(whole.length)
        stands = turns.after(self.count)
        wholes = [*began.in_slots, *opened]
        latest = wholes[stands.reached - 1] if stands.reached > len(wholes) - len(opened) else None
        return {
            "cycle": stands.cycle,
            "given": stands.given,
            "number": began.index if latest is None else latest.opener.index + 1,
            "slots": [None if slot is None else wholes[slot[0]].state(slot[1]) for slot in stands.slots],
            "input": (began.input if latest is None else latest.opener.after).state(),
        }


class TurnsBlock:
    """Elements of datasets that lie whole, as turns take them and they become one block.

    Attributes:
        turns: with all datasets that were opened so far.
    """

    def __init__(self, position: TurnsPosition) -> None:
        self._position = position
        self.turns = position.turns()
        self._datasets: list[Datasets] = [*position.in_slots]
        self._in_slots = len(self._datasets)

    def add(self, datasets: Datasets) -> None:
        """Adds datasets of whose elements the turns know."""
        self._datasets.append(datasets)

    def left(self, standing: Standing) -> list[Whole | None]:
        """Returns what is left of the dataset in each slot."""
        return [None if slot is None else self._left_of(*slot) for slot in standing.slots]

    def _left_of(self, number: int, taken: int) -> Whole:
        for datasets in self._datasets:
            if number < datasets.count:
                return datasets.whole(number, taken)
            number -= datasets.count
        raise IndexError(number)

    def block(self, count: int) -> Block:
        """Returns the first elements; nothing is asked of it after that."""
        parts: list[Payload] = []
        origins: list[Origin] = []
        starts = [0]
        for datasets in self._datasets:
            if (payload := datasets.payload) is not None:
                parts.append(payload)
                origins.append(datasets.origin_of_all())
                starts.append(starts[-1] + len(payload))
                datasets.payload = None  # positions keep the datasets, and not their elements
        payload = join(parts)
        picked: Indices = range(count)
        if not self.turns.is_a_line:
            picked = self.turns.order(count)
        if count < starts[-1] or not self.turns.is_a_line:
            payload = payload.subset(picked)
        cursor = TurnsCursor(self._position, self._datasets[self._in_slots :])
        return Block(payload, cursor, JoinedOrigin(starts, origins, picked))
