"""The order in which flat_map and interleave take elements of datasets that lie whole, many of them in one block.

What comes when is arithmetic (``nesting_visits``).

A block of such elements keeps where its turns began and which datasets were opened on the way; a position in it is found by
going through those turns again, when somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from headrace.blocks.block import Block
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.joining import join
from headrace.blocks.origin import Indices, JoinedOrigin, Origin, Within
from headrace.blocks.payload import Payload
from headrace.frozen import frozen
from headrace.physical.stages.nesting_openers import Opener
from headrace.physical.stages.nesting_visits import Standing, Turns, turns_of

__all__ = ["Datasets", "TurnsBlock", "TurnsCursor", "TurnsPosition", "Whole"]

_FEW: Final = 4  # one of so many parts of what was asked for


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
        return turns_of(lengths, self.cycle, self.given, self.block_length)

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

    def lacks(self, limit: int) -> bool:
        """Returns whether more are to be opened for so many elements: once some were, not for the last few, which cost as much as many."""
        few = limit // _FEW if len(self._datasets) > self._in_slots else 0
        return self.turns.ready < limit - few

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
