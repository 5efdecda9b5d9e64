"""The order in which flat_map and interleave take elements of datasets that lie whole, many of them in one block.

A block of such elements keeps where its turns began and which datasets were opened on the way; a position in it is found by going
through those turns again, when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.joining import join
from headrace.blocks.origin import Indices, JoinedOrigin, Origin, Within
from headrace.blocks.payload import Payload
from headrace.frozen import frozen
from headrace.physical.stages.nesting_openers import Opener

__all__ = ["NOT_NOW", "Turns", "TurnsBlock", "TurnsCursor", "TurnsPosition", "Whole"]

# Said in place of a dataset where one follows that does not lie whole, so that the turns end here for now.
NOT_NOW: Final = object()


class Whole:
    """A dataset of which all that is left lies in one block, or nothing is.

    Attributes:
        opener: the element that opened it.
        inner: the position inside; None at the start of a plan that was not opened.
        length: how many elements there were to be taken.
        left: how many of them nobody took.
        payload: the elements; None where there are none, and where turns are only gone through again.
        origin: where they came from.
        first: where they begin in what is joined; -1 while none was taken.
    """

    __slots__ = ("first", "inner", "left", "length", "opener", "origin", "payload")

    def __init__(self, opener: Opener, block: Block | None, inner: Cursor | None, length: int = 0) -> None:
        self.opener = opener
        self.first = -1
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
        self.length = self.left = length

    def block(self) -> Block:
        """Returns the elements, as they were before any was taken."""
        assert self.payload is not None  # the caller has looked
        assert self.origin is not None  # as above
        assert self.inner is not None  # as above
        return Block(self.payload, self.inner, self.origin)

    def again(self) -> Whole:
        """Returns the same with nothing taken of it, to go through its turns again."""
        return Whole(self.opener, None, self.inner, self.length)

    def state(self) -> State:
        """Writes down the position in it."""
        inner = self.inner and self.inner.advance(self.length - self.left).state()
        return {"number": self.opener.index, "opener": self.opener.cursor.state(), "inner": inner}


# Gives the dataset that is opened next; None where there is no other, NOT_NOW where it does not lie whole.
Following = Callable[[], object]
# Is told of datasets that give ``length`` elements each in turn, ``rounds`` times: (datasets, rounds, length).
Told = Callable[[Sequence[Whole], int, int], None]


class Turns:
    """Slots that are visited in turn, and give ``block_length`` elements each.

    Args:
        slots: the open datasets.
        cycle: the slot whose turn it is.
        given: how many elements it gave in this turn.
        block_length: how many are a turn.
    """

    def __init__(self, slots: list[Whole | None], cycle: int, given: int, block_length: int) -> None:
        self.slots = slots
        self.cycle = cycle
        self.given = given
        self._block_length = block_length
        self._ended = False  # whether no other dataset follows

    def take(self, limit: int, following: Following, told: Told) -> None:
        """Takes up to ``limit`` elements, fewer where nothing follows."""
        while limit > 0:
            slot = self.slots[self.cycle]
            if slot is None:
                filled = following()
                if filled is NOT_NOW or (filled is None and not any(self.slots)):
                    return
                if filled is None:
                    self._ended = True
                    self._visit_next()
                    continue
                assert isinstance(filled, Whole)  # as nothing else is left
                slot = self.slots[self.cycle] = filled
            if not slot.left:
                self.slots[self.cycle] = None
                self._visit_next()
            elif len(self.slots) == 1:
                limit -= self._take_of(slot, min(slot.left, limit), told)
            else:
                limit -= self._take_rounds(limit, told) or self._take_of(slot, self._in_turn(slot, limit), told)

    def _in_turn(self, slot: Whole, limit: int) -> int:
        return min(slot.left, self._block_length - self.given, limit)

    def _take_of(self, slot: Whole, count: int, told: Told) -> int:
        """Takes elements of one dataset; of several turns where there is no other slot."""
        slot.left -= count
        told((slot,), 1, count)
        self.given += count
        if self.given >= self._block_length:
            self.given %= self._block_length
            self.cycle = (self.cycle + 1) % len(self.slots)
        return count

    def _take_rounds(self, limit: int, told: Told) -> int:
        """Takes as many whole turns of all slots as each can give; 0 elements where that is not more than one."""
        length = self._block_length
        rounds = 0 if self.given else limit // length
        for slot in self.slots:
            if rounds < 2 or (slot is None and not self._ended):
                return 0
            rounds = rounds if slot is None else min(rounds, slot.left // length)
        members = [slot for slot in (*self.slots[self.cycle :], *self.slots[: self.cycle]) if slot is not None]
        rounds = min(rounds, limit // (len(members) * length))
        if rounds < 2:
            return 0
        for member in members:
            member.left -= rounds * length
        told(members, rounds, length)
        return len(members) * rounds * length

    def _visit_next(self) -> None:
        self.cycle = (self.cycle + 1) % len(self.slots)
        self.given = 0


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


@frozen
class TurnsCursor:
    """``count`` elements after turns began, on whose way these datasets are opened."""

    position: TurnsPosition
    opened: Sequence[Whole]
    count: int = 0

    def advance(self, count: int) -> TurnsCursor:
        return TurnsCursor(self.position, self.opened, self.count + count)

    def state(self) -> State:
        began = self.position
        turns = Turns([slot and slot.again() for slot in began.slots], began.cycle, began.given, began.block_length)
        opened: list[Whole] = []

        def following() -> Whole | None:
            if len(opened) == len(self.opened):
                return None
            opened.append(self.opened[len(opened)].again())
            return opened[-1]

        turns.take(self.count, following, lambda *_: None)
        latest = opened[-1] if opened else None
        return {
            "cycle": turns.cycle,
            "given": turns.given,
            "number": began.index if latest is None else latest.opener.index + 1,
            "slots": [slot and slot.state() for slot in turns.slots],
            "input": (began.input if latest is None else latest.opener.after).state(),
        }


class TurnsBlock:
    """Elements that turns take, as they become one block."""

    def __init__(self, position: TurnsPosition) -> None:
        self._position = position
        self.opened: list[Whole] = []
        self._members: list[Whole] = []
        self._starts = [0]  # of the members' elements, in what is joined
        self._order: list[int] | None = None  # None as long as it is that in which they are joined
        self.count = 0

    def add(self, members: Sequence[Whole], rounds: int, length: int) -> None:
        """Adds elements that were taken just now: ``length`` of each member in turn, ``rounds`` times."""
        before = self.count
        self.count += len(members) * rounds * length
        begins = [self._end(member) - rounds * length for member in members]
        if self._order is None:
            if begins[0] == before and len(begins) == 1:
                return
            self._order = list(range(before))
        if len(begins) == 1:
            self._order.extend(range(begins[0], begins[0] + length))
            return
        turn = np.add.outer(np.array(begins), np.arange(rounds * length))
        self._order.extend(turn.reshape(len(begins), rounds, length).swapaxes(0, 1).ravel().tolist())

    def _end(self, member: Whole) -> int:
        """Returns where in what is joined the elements of a member end that were taken."""
        if member.first < 0:
            member.first = self._starts[-1]
            self._starts.append(member.first + member.length)
            self._members.append(member)
        return member.first + member.length - member.left

    def block(self) -> Block:
        """Returns the block."""
        parts: list[Payload] = []
        within: list[Origin] = []
        for member in self._members:
            assert member.payload is not None  # elements were taken of it
            assert member.origin is not None  # as above
            parts.append(member.payload)
            within.append(Within(member.origin, member.opener.block.origin, member.opener.at))
            member.payload = member.origin = None  # positions keep the member, and not its elements
        picked: Indices = range(self.count) if self._order is None else np.array(self._order, dtype=np.int64)
        payload = join(parts)
        if self._order is not None or self.count < self._starts[-1]:
            payload = payload.subset(picked)
        return Block(payload, TurnsCursor(self._position, self.opened), JoinedOrigin(self._starts, within, picked))
