"""Where a stage stands, kept while elements are delivered and written down only when asked for.

A cursor marks the position before one element of a stage's output. ``advance(n)`` is the position n elements later,
and ``state()`` is that position as plain data: what the stage, built anew from it, needs to deliver that element
next. Cursors are immutable and cheap to make, so every block carries one and a step costs nothing; only a
checkpoint pays for ``state()``.

Operations that map one element to one, or that can say at which input element each output began, add nothing
to the state: their cursor is the input's, by the indices of elements.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from headrace.frozen import frozen

__all__ = [
    "CountedCursor",
    "Cursor",
    "IndexCursor",
    "JoinedCursor",
    "OffsetCursor",
    "Position",
    "PositionsCursor",
    "SavedCursor",
    "State",
    "StridedCursor",
    "input_state",
]

State = dict[str, Any]


class Cursor(Protocol):
    """The position before one element."""

    def advance(self, count: int) -> Cursor:
        """Returns the position ``count`` elements later."""
        ...

    def state(self) -> State:
        """Writes this position down as plain, JSON-able data."""
        ...


class Position(Protocol):
    """A position that is written down as it is."""

    def state(self) -> State:
        """Writes this position down as plain, JSON-able data."""
        ...


@frozen
class PositionsCursor:
    """In a block for each of whose elements the position is known, and that after the last one."""

    positions: Sequence[Position]
    index: int = 0

    def advance(self, count: int) -> PositionsCursor:
        return PositionsCursor(self.positions, self.index + count)

    def state(self) -> State:
        return self.positions[self.index].state()


@frozen
class IndexCursor:
    """In a source that is read by index."""

    index: int

    def advance(self, count: int) -> IndexCursor:
        return IndexCursor(self.index + count)

    def state(self) -> State:
        return {"index": self.index}


@frozen
class CountedCursor:
    """In an operation that counts its elements, one for each that it reads."""

    key: str
    count: int
    input: Cursor

    def advance(self, count: int) -> CountedCursor:
        return CountedCursor(self.key, self.count + count, self.input.advance(count))

    def state(self) -> State:
        return {self.key: self.count, "input": self.input.state()}


@frozen
class StridedCursor:
    """Where each output element began a fixed number of input elements after the one before it."""

    base: Cursor
    stride: int
    count: int = 0

    def advance(self, count: int) -> StridedCursor:
        return StridedCursor(self.base, self.stride, self.count + count)

    def state(self) -> State:
        return self.base.advance(self.stride * self.count).state()


@frozen
class OffsetCursor:
    """Where output element i began at input element ``offsets[i]``; the last offset is the end of the block."""

    base: Cursor
    offsets: Sequence[int] | np.ndarray
    index: int = 0

    def advance(self, count: int) -> OffsetCursor:
        return OffsetCursor(self.base, self.offsets, self.index + count)

    def state(self) -> State:
        # A block's remainder may be shorter than a whole stride, so the end is clamped, not passed.
        return self.base.advance(int(self.offsets[min(self.index, len(self.offsets) - 1)])).state()


@frozen
class JoinedCursor:
    """In a run of elements that came in several pieces: ``starts[i]`` is where the i-th begins."""

    starts: Sequence[int]
    pieces: Sequence[Cursor]
    index: int = 0

    def advance(self, count: int) -> JoinedCursor:
        return JoinedCursor(self.starts, self.pieces, self.index + count)

    def state(self) -> State:
        piece = bisect.bisect_right(self.starts, self.index) - 1
        return self.pieces[piece].advance(self.index - self.starts[piece]).state()


def input_state(state: State | None) -> State | None:
    """Returns the part of a node's state that is its input's."""
    return state["input"] if state else None


@frozen
class SavedCursor:
    """A position that was loaded, and from which nothing was read yet."""

    saved: State

    def advance(self, count: int) -> Cursor:
        assert count == 0  # once something is read, blocks say where they stand
        return self

    def state(self) -> State:
        return self.saved
