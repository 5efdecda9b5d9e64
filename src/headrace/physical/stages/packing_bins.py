"""Where each sequence goes: rows that are open, and which of them a sequence is put into.

A row that is full goes out before anything more is taken. Where a sequence finds no room and no further row may be opened,
one goes out first: by ``first_fit`` the oldest, as in next-k-fit; by ``best_fit`` the one with the least room. For packing with
a bounded number of open bins that choice is the better one: Csirik and Johnson, "Bounded space on-line bin packing: best is
better than first", Algorithmica 31 (2001).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from headrace.plan.packing import Pack
from headrace.semantics.packing import BinContents, TokenSequence

__all__ = ["OpenBins", "open_bins"]


class OpenBins(Protocol):
    """The rows that are open."""

    @property
    def sequences(self) -> Iterable[TokenSequence]:
        """The sequences in them."""
        ...

    def offer(self, sequence: TokenSequence) -> Sequence[TokenSequence] | None:
        """Takes the sequence; or gives the row that has to go out before."""
        ...

    def full(self) -> Sequence[TokenSequence] | None:
        """Returns the next row that has no room, if there is one; it is open no more."""
        ...

    def left(self) -> Sequence[TokenSequence] | None:
        """Returns the next row at the end; it is open no more."""
        ...

    def held(self) -> BinContents:
        """Returns what is in the rows, for a state."""
        ...

    def restore(self, sequences: dict[int, TokenSequence], held: Any, offset: int) -> None:
        """Puts the sequences of a state where they were."""
        ...


def open_bins(node: Pack) -> OpenBins:
    """Makes the open bins of the node's strategy."""
    return (
        _OneBin() if node.strategy == "concat_then_split" else _Bins(node.open_rows, best=node.strategy == "best_fit")
    )


class _Row:
    __slots__ = ("indices", "kind", "room", "sequences", "total")

    def __init__(self, first: TokenSequence, kind: int) -> None:
        self.kind = kind
        self.room = list(first.limits)
        self.total = sum(self.room)  # room in all components
        self.sequences: list[TokenSequence] = []
        self.indices: list[int] = []

    def add(self, sequence: TokenSequence, lengths: list[int]) -> None:
        self.room = [room - length for room, length in zip(self.room, lengths, strict=True)]
        self.total -= sum(lengths)
        self.sequences.append(sequence)
        self.indices.append(sequence.index)


class _Bins:
    """Whole sequences, in the first or in the fullest row where there is room."""

    def __init__(self, limit: int, *, best: bool) -> None:
        self._limit = limit
        self._best = best
        self._rows: list[_Row] = []  # the oldest first
        self._full: _Row | None = None
        self._kinds: dict[Any, int] = {}  # numbers are quickly compared

    @property
    def sequences(self) -> Iterable[TokenSequence]:
        return (sequence for row in self._rows for sequence in row.sequences)

    def offer(self, sequence: TokenSequence) -> Sequence[TokenSequence] | None:
        lengths = sequence.lengths
        if not any(lengths):
            return None  # no token, no segment
        kind = self._kinds.setdefault(sequence.kind, len(self._kinds))
        row = self._row_for(kind, lengths)
        if row is None:
            if len(self._rows) == self._limit:
                return self._taken(min(self._rows, key=_total) if self._best else self._rows[0])
            row = _Row(sequence, kind)
            self._rows.append(row)
        row.add(sequence, lengths)
        if not row.total:
            self._full = row
        return None

    def _row_for(self, kind: int, lengths: list[int]) -> _Row | None:
        if len(lengths) == 1:  # all that most have; and this is the dearest loop
            only = lengths[0]
            fitting = (row for row in self._rows if row.total >= only and row.kind == kind)
        else:
            fitting = (row for row in self._rows if row.kind == kind and _fits(row.room, lengths))
        return min(fitting, key=_total, default=None) if self._best else next(fitting, None)

    def _taken(self, row: _Row) -> Sequence[TokenSequence]:
        self._rows.remove(row)
        return row.sequences

    def full(self) -> Sequence[TokenSequence] | None:
        row, self._full = self._full, None
        return None if row is None else self._taken(row)

    def left(self) -> Sequence[TokenSequence] | None:
        return self._taken(self._rows[0]) if self._rows else None

    def held(self) -> BinContents:
        return tuple(tuple(row.indices) for row in self._rows), 0

    def restore(self, sequences: dict[int, TokenSequence], held: Any, offset: int) -> None:
        for indices in held:
            first = sequences[indices[0]]
            row = _Row(first, self._kinds.setdefault(first.kind, len(self._kinds)))
            for index in indices:
                row.add(sequences[index], sequences[index].lengths)
            self._rows.append(row)
            if not row.total:
                self._full = row


def _total(row: _Row) -> int:
    return row.total


def _fits(room: list[int], lengths: list[int]) -> bool:
    return all(length <= left for left, length in zip(room, lengths, strict=True))


class _OneBin:
    """One sequence after the other, cut where a row ends."""

    def __init__(self) -> None:
        self._queue: deque[TokenSequence] = deque()
        self._total = 0
        self._offset = 0  # how much of the first is out

    @property
    def sequences(self) -> Iterable[TokenSequence]:
        return self._queue

    def offer(self, sequence: TokenSequence) -> Sequence[TokenSequence] | None:
        if not len(sequence.arrays[0]):
            return None
        if self._queue and self._queue[0].kind != sequence.kind:
            return self.left()
        self._queue.append(sequence)
        self._total += len(sequence.arrays[0])
        return None

    def full(self) -> Sequence[TokenSequence] | None:
        return self.left() if self._queue and self._total >= self._queue[0].limits[0] else None

    def left(self) -> Sequence[TokenSequence] | None:
        if not self._queue:
            return None
        pieces: list[TokenSequence] = []
        room = self._queue[0].limits[0]
        while room and self._queue:
            first = self._queue[0]
            end = min(self._offset + room, len(first.arrays[0]))
            pieces.append(first.cut(self._offset, end))
            room -= end - self._offset
            self._total -= end - self._offset
            self._offset = end
            if end == len(first.arrays[0]):
                self._queue.popleft()
                self._offset = 0
        return pieces

    def held(self) -> BinContents:
        return ((tuple(sequence.index for sequence in self._queue),) if self._queue else ()), self._offset

    def restore(self, sequences: dict[int, TokenSequence], held: Any, offset: int) -> None:
        for indices in held:
            self._queue.extend(sequences[index] for index in indices)
        self._offset = offset
        self._total = sum(len(sequence.arrays[0]) for sequence in self._queue) - offset
