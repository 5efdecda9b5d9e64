"""The rows that sequences are put into: what they hold until they go out, and what positions refer to after that."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.physical.stages.packing_rows import CutTokens, Piece, WholeTokens
from headrace.physical.stages.packing_runs import RunOrder, SequenceRun, widths_of
from headrace.semantics.packing import BinContents, SequenceKind

__all__ = ["CutRow", "PackedRow", "Span", "contents_of"]

# Which tokens of a run: those from one to before another.
Span = tuple[RunOrder, int, int]


class PackedRow:
    """A row of whole sequences.

    It is made of few objects: with many streams tens of thousands of rows are held, and each object is one for the collector of
    garbage to visit.

    Attributes:
        kind: what its sequences have in common.
        limits: how long each of its components is.
        width: how many bytes a token of all components has.
        count: how many sequences it has.
        bounds: the indices of its sequences among all that were read: from one to before another, and so on. They only become
            more until it goes out.
        runs: for each of these parts the run that it is of; none any more, once they were taken.
        since: the index of the first sequence in the first of these runs that others have, too; None where it shares none.
        room: for each component for how many more tokens there is room, where its sequences are not even; else None.
        total: the same, in all components; where they are even, in each.
        opened_at: how many rows were opened before it.
        closed_at: how many rows went out before it; None while it is open.
        read: how many sequences had been taken when it went out.
    """

    __slots__ = (
        "bounds",
        "closed_at",
        "count",
        "kind",
        "limits",
        "opened_at",
        "read",
        "room",
        "runs",
        "since",
        "total",
        "width",
    )

    def __init__(self, like: SequenceRun, kind: SequenceKind, opened_at: int, *, is_even: bool) -> None:
        limits = like.limits
        self.kind = kind
        self.limits = limits
        self.width = like.width
        self.count = 0
        self.runs: list[SequenceRun] = []
        self.since: int | None = None
        self.bounds: list[int] = []
        self.room: list[int] | None = None if is_even else list(limits)
        self.total = limits[0] if is_even else sum(limits)
        self.opened_at = opened_at
        self.closed_at: int | None = None
        self.read = 0

    def add(self, run: SequenceRun, start: int, stop: int, room: int) -> None:
        """Adds even sequences of a run, each with tokens, after which there is so much room."""
        runs, bounds, begin = self.runs, self.bounds, run.first + start
        self.total = room
        self.count += stop - start
        if not run.ends:
            run = run.part(start, stop)
        elif self.since is None:
            self.since = run.first
        elif bounds[-1] == begin and runs[-1] is run:
            bounds[-1] += stop - start
            return
        runs.append(run)
        bounds += begin, begin + stop - start

    def settle(self) -> None:
        """Copies what it has of runs that others have, too, so that it keeps nothing else alive."""
        if self.since is None:
            return
        self.since = None
        parts = zip(self.runs, self.bounds[::2], self.bounds[1::2], strict=True)
        self.runs = [run.part(begin - run.first, end - run.first) for run, begin, end in parts]

    def add_uneven(self, run: SequenceRun, at: int) -> None:
        """Adds a sequence of a run, with tokens."""
        assert self.room is not None  # each component is counted
        self.room = [room - lengths[at] for room, lengths in zip(self.room, run.lengths, strict=True)]
        self.add(run, at, at + 1, sum(self.room))

    def taken(self) -> WholeTokens:
        """Returns its sequences, and forgets them: positions that are kept refer to its indices alone."""
        runs, self.runs = self.runs, []
        return WholeTokens(runs, self.bounds, self.total if self.room is None else self.room)

    def sequences(self) -> Iterator[tuple[np.ndarray, ...]]:
        """Yields the tokens of its sequences, of each component in turn, in as few arrays as they are in."""
        tokens = WholeTokens(self.runs, self.bounds, 0)
        return ((array,) for component in range(len(self.limits)) for array in tokens.of(component)[0])

    @property
    def nbytes(self) -> int:
        """How many bytes its sequences have."""
        if self.room is None:
            return (self.limits[0] - self.total) * self.width
        return sum(map(operator.mul, widths_of(self.kind), map(operator.sub, self.limits, self.room)))

    @property
    def indices(self) -> list[int]:
        """The indices of its sequences among all that were read."""
        bounds = self.bounds
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
