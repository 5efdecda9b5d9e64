"""The rows that sequences are put into: what they hold until they go out, and what positions refer to after that."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Sequence
from typing import Any

from headrace.physical.stages.packing_rows import CutTokens, Piece, WholeTokens
from headrace.physical.stages.packing_runs import RunOrder, SequenceRun, widths_of
from headrace.semantics.packing import BinContents, SequenceKind

__all__ = ["CutRow", "PackedRow", "Span", "contents_of"]

# Which tokens of a run: those from one to before another.
Span = tuple[RunOrder, int, int]


# What all rows have of what they had, once their tokens were taken.
_NOTHING: list[Any] = []


class PackedRow:
    """A row of whole sequences.

    It is made of few objects: with many streams thousands of rows are held, and the collector of garbage visits each of them and each list,
    but no tuple of numbers.

    Attributes:
        kind: what its sequences have in common.
        limits: how long each of its components is.
        width: how many bytes a token of all components has.
        bounds: the indices of its sequences among all that were read, from one to before another; again and again.
        sequences: the tokens of each of its sequences, as in a run; none any more, once they were taken.
        room: for each component for how many more tokens there is room, where its sequences are not even; else None.
        total: the same, in all components; where they are even, in each.
        opened_at: how many rows were opened before it.
        closed_at: how many rows went out before it; None while it is open.
        read: how many sequences had been taken when it went out.
    """

    __slots__ = (
        "bounds",
        "closed_at",
        "kind",
        "limits",
        "opened_at",
        "read",
        "room",
        "sequences",
        "total",
        "width",
    )

    def __init__(self, like: SequenceRun, kind: SequenceKind, opened_at: int, *, is_even: bool) -> None:
        limits = like.limits
        self.kind = kind
        self.limits = limits
        self.width = like.width
        self.bounds: Any = []
        self.sequences: list[Any] = []
        self.room: list[int] | None = None if is_even else list(limits)
        self.total = limits[0] if is_even else sum(limits)
        self.opened_at = opened_at
        self.closed_at: int | None = None
        self.read = 0

    def add(self, run: SequenceRun, start: int, stop: int, room: int) -> None:
        """Adds even sequences of a run, each with tokens, after which there is so much room."""
        self.total = room
        first = run.first
        self.bounds += first + start, first + stop
        self.sequences += run.sequences[start:stop]

    def add_uneven(self, run: SequenceRun, at: int) -> None:
        """Adds a sequence of a run, with tokens."""
        assert self.room is not None  # each component is counted
        self.room = [room - lengths[at] for room, lengths in zip(self.room, run.lengths, strict=True)]
        self.add(run, at, at + 1, sum(self.room))

    def taken(self) -> WholeTokens:
        """Returns its tokens, once it went out; it forgets them, and positions that are kept refer to its indices alone."""
        missing = [self.total] * len(self.limits) if self.room is None else self.room
        sequences, self.sequences = self.sequences, _NOTHING
        self.bounds = tuple(self.bounds)
        return sequences, missing

    @property
    def nbytes(self) -> int:
        """How many bytes its sequences have."""
        if self.room is None:
            return (self.limits[0] - self.total) * self.width
        return sum(map(operator.mul, widths_of(self.kind), map(operator.sub, self.limits, self.room)))

    @property
    def indices(self) -> list[int]:
        """The indices of its sequences among all that were read."""
        bounds = tuple(self.bounds)  # at once: the driver may add to them
        return [index for start, stop in zip(bounds[::2], bounds[1::2], strict=True) for index in range(start, stop)]

    def become_uneven(self) -> None:
        """Counts the room of each component by itself from now on."""
        if self.room is None:
            self.room = [self.total] * len(self.limits)
            self.total = sum(self.room)

    def total_room(self) -> int:
        """Returns for how many more tokens there is room, in all components together."""
        return self.total * (len(self.limits) if self.room is None else 1)

    def contents(self, log: Sequence[PackedRow]) -> BinContents:
        """Returns what was in the rows that were open when it had gone out."""
        assert self.closed_at is not None  # nobody asks before
        return contents_of(log, self.closed_at + 1, self.read)


def contents_of(log: Sequence[PackedRow], closed: int, read: int) -> BinContents:
    """Returns what was in the open ones of these rows when so many had gone out, and so many sequences were taken."""
    held = [row.indices for row in log if row.closed_at is None or row.closed_at >= closed]
    indices = [tuple(one[: bisect.bisect_left(one, read)]) for one in held]
    return tuple(one for one in indices if one), 0


class CutRow:
    """A row of sequences that are cut where it ends.

    Attributes:
        kind: what its sequences have in common.
        limits: how long each of its components is.
        spans: which its tokens are.
    """

    __slots__ = ("_pieces", "_read", "kind", "limits", "spans")

    def __init__(self, pieces: Sequence[Piece], read: int | None) -> None:
        self.kind = pieces[0][0].kind
        self.limits = pieces[0][0].limits
        self.spans: Sequence[Span] = [(run.order, begin, end) for run, begin, end in pieces]
        self._pieces = pieces
        self._read = read

    def taken(self) -> CutTokens:
        """Returns its tokens, and forgets them, as a row of whole sequences does."""
        pieces, self._pieces = self._pieces, ()
        return CutTokens(pieces)

    @property
    def read(self) -> int:
        """How many sequences had been taken when it went out: where it is full, none after the one that filled it."""
        order, _, end = self.spans[-1]
        return order.first + order.taken_at(end) if self._read is None else self._read

    @property
    def indices(self) -> Sequence[int]:
        """The indices of its sequences among all that were read."""
        return [index for order, begin, end in self.spans for index in order.indices(begin, end)]

    def contents(self, log: Sequence[Any]) -> BinContents:
        """Returns what was there when it had gone out: the rest of its last sequence."""
        del log  # what comes after it was not there yet
        order, _, end = self.spans[-1]
        last = order.taken_at(end) - 1
        if end == order.ends[last + 1]:
            return (), 0
        return ((order.first + last,),), end - int(order.ends[last])
