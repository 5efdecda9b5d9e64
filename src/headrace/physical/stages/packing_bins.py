"""Where each sequence goes: rows that are open, and which of them a sequence is put into.

A row that is full goes out before anything more is taken. Where a sequence finds no room and no further row may be opened,
one goes out first: by ``first_fit`` the oldest, as in next-k-fit; by ``best_fit`` the one with the least room. For packing with
a bounded number of open bins that choice is the better one: Csirik and Johnson, "Bounded space on-line bin packing: best is
better than first", Algorithmica 31 (2001).

There is a position with every row, so it must cost little: an open row only grows until it goes out, and it is enough to remember
how much had been read and how many rows had gone out.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from headrace.frozen import frozen
from headrace.physical.stages.packing_filling import CutRow, PackedRow, Span, contents_of
from headrace.physical.stages.packing_rows import Piece
from headrace.physical.stages.packing_runs import JoinedRun, SequenceRun, widths_of
from headrace.physical.stages.packing_shelves import BestFit, FirstFit, Shelf
from headrace.plan.packing import Pack
from headrace.semantics.packing import BinContents, SequenceKind

__all__ = ["BinsMark", "OpenBins", "open_bins"]


class BinsMark(Protocol):
    """What was in the rows at some time."""

    def contents(self, read: int) -> BinContents:
        """Returns it for a state, where that many sequences had been read."""
        ...


class OpenBins(Protocol):
    """The rows that are open."""

    @property
    def sequences(self) -> Iterable[Any]:
        """The sequences in them: their tokens."""
        ...

    @property
    def nbytes(self) -> int:
        """How many bytes these have."""
        ...

    @property
    def count(self) -> int:
        """How many they are."""
        ...

    @property
    def oldest(self) -> int | None:
        """The smallest index of a sequence in them."""
        ...

    @property
    def unopened(self) -> int:
        """How many further rows may be opened before one must go out."""
        ...

    @property
    def log(self) -> Sequence[PackedRow]:
        """Rows by which positions tell what was open: those that are open, and all that went out since ``forget``."""
        ...

    def forget(self) -> None:
        """Begins another log: positions that are on their way have the old one."""
        ...

    def take(self, run: Any, start: int, rows: list[Any], limit: int) -> int:
        """Takes sequences from ``start`` on; returns the index in the run of the next one.

        Args:
            run: the sequences.
            start: the first that was not taken.
            rows: gets the rows that have to go out, which are open no more.
            limit: how many there may be, before the last one is taken.
        """
        ...

    def full(self, rows: list[Any], limit: int) -> None:
        """Lets rows that are full go out before anything more is taken, up to that many in all."""
        ...

    def left(self, read: int) -> PackedRow | CutRow | None:
        """Returns the next row at the end, when that many sequences were taken; it is open no more."""
        ...

    def mark(self) -> BinsMark:
        """Returns what is in the rows now."""
        ...

    def restore(self, sequences: Mapping[int, Any], held: Sequence[Sequence[int]], offset: int) -> None:
        """Puts the sequences of a state, each a run of one, where they were."""
        ...


def open_bins(node: Pack) -> OpenBins:
    """Makes the open bins of the node's strategy."""
    if node.strategy == "concat_then_split":
        return _OneBin()
    return _Bins(node.open_rows, BestFit if node.strategy == "best_fit" else FirstFit)


# ------------------------------------------------------------------------------------------------ whole sequences


@frozen
class _BinsMark:
    closed: int
    rows: Sequence[PackedRow]

    def contents(self, read: int) -> BinContents:
        return contents_of(self.rows, self.closed, read)


class _Bins:
    """Whole sequences, in the first or in the fullest row where there is room."""

    def __init__(self, limit: int, shelf: type[Shelf]) -> None:
        self._limit = limit
        self._shelf = shelf
        self._shelves: dict[SequenceKind, Shelf] = {}
        self._latest: tuple[SequenceRun, Shelf] | None = None  # a run, and where its sequences go
        self.rows: dict[int, PackedRow] = {}  # by how many were opened before, the oldest first
        self._out: list[Any] = []  # rows that go out, and how many may be there when the last of them does
        self._most = 0
        self.log: list[PackedRow] = []
        self._opened = self._closed = 0

    @property
    def sequences(self) -> Iterable[Any]:
        return itertools.chain.from_iterable(row.sequences for row in self.rows.values())

    @property
    def count(self) -> int:
        return sum(len(row.sequences) for row in self.rows.values())

    @property
    def nbytes(self) -> int:
        return sum(row.nbytes for row in self.rows.values())

    @property
    def oldest(self) -> int | None:
        return next((row.bounds[0] for row in self.rows.values()), None)

    def forget(self) -> None:
        self.log = list(self.rows.values())

    def take(self, run: SequenceRun, start: int, rows: list[Any], limit: int) -> int:
        self._out, self._most = rows, limit
        return self._shelf_of(run).take(run, start, self)

    @property
    def unopened(self) -> int:
        return self._limit - len(self.rows)

    def new_row(self, like: SequenceRun, shelf: Shelf) -> PackedRow:
        opened = self._opened
        row = self.rows[opened] = PackedRow(like, shelf.kind, opened, is_even=shelf.is_even)
        self._opened = opened + 1
        self.log.append(row)
        return row

    def go_out(self, row: PackedRow, read: int, shelf: Shelf) -> bool:
        del self.rows[row.opened_at]
        (shelf if row.kind is shelf.kind else self._shelves[row.kind]).close(row)
        row.closed_at = self._closed
        row.read = read
        self._closed += 1
        self._out.append(row)
        return len(self._out) < self._most

    def _shelf_of(self, run: SequenceRun) -> Shelf:
        """Returns the open rows of the run's kind, counted as it needs."""
        if self._latest is None or self._latest[0] is not run:
            shelf = self._shelves.get(run.kind)
            if shelf is None:
                shelf = self._shelves[run.kind] = self._shelf(run.kind, self.rows)
            self._latest = run, shelf
            shelf.count_as(run)
        return self._latest[1]

    def full(self, rows: list[Any], limit: int) -> None:
        """Does nothing: a row goes out with the sequence that fills it."""

    def left(self, read: int) -> PackedRow | None:
        row = next(iter(self.rows.values()), None)
        if row is not None:
            self._out, self._most = [], 1
            self.go_out(row, read, self._shelves[row.kind])
        return row

    def mark(self) -> BinsMark:
        return _BinsMark(self._closed, self.log)

    def restore(self, sequences: Mapping[int, SequenceRun], held: Sequence[Sequence[int]], offset: int) -> None:
        del offset  # whole sequences are in one row
        for indices in held:
            first = sequences[indices[0]]
            shelf = self._shelf_of(first)
            row = self.new_row(first, shelf)
            shelf.add(row)
            for index in indices:
                shelf.put(row, sequences[index])


# ------------------------------------------------------------------------------------------------ cut where a row ends


@frozen
class _QueueMark:
    spans: Sequence[Span]

    def contents(self, read: int) -> BinContents:
        del read  # all that was taken is in the spans
        held = tuple(index for order, begin, end in self.spans for index in order.indices(begin, end))
        if not held:
            return (), 0
        order, begin, _ = self.spans[0]
        return (held,), begin - int(order.ends[held[0] - order.first])


class _OneBin:
    """One sequence after the other, cut where a row ends: a queue of tokens, of which whole runs are taken at once."""

    log: Sequence[PackedRow] = ()  # a row that went out tells what was there then
    unopened = 0

    def __init__(self) -> None:
        self._pieces: deque[Piece] = deque()
        self._total = 0  # tokens in them

    @property
    def sequences(self) -> Iterable[Any]:
        for run, begin, end in self._pieces:
            for index in run.order.indices(begin, end):
                part = slice(*run.order.ends[index - run.first : index - run.first + 2].tolist())
                yield tuple(tokens[part] for tokens in run.tokens)

    @property
    def nbytes(self) -> int:
        return self._total * sum(widths_of(self._pieces[0][0].kind)) if self._pieces else 0

    @property
    def count(self) -> int:
        return sum(run.order.taken_at(end) - run.order.taken_at(begin + 1) + 1 for run, begin, end in self._pieces)

    @property
    def oldest(self) -> int | None:
        if not self._pieces:
            return None
        run, begin, _ = self._pieces[0]
        return run.first + run.order.taken_at(begin + 1) - 1

    def forget(self) -> None:
        """Does nothing: nothing is in the log."""

    def take(self, run: JoinedRun, start: int, rows: list[Any], limit: int) -> int:
        ends, length = run.order.ends, run.limits[0]
        begin, end = int(ends[start]), int(ends[-1])
        if begin == end:
            return len(run)  # without tokens there is no segment
        if self._pieces and self._pieces[0][0].kind != run.kind:
            start = run.order.taken_at(begin + 1) - 1
            rows.append(self._cut(run.first + start))
            if len(rows) == limit:
                return start
        start = run.order.taken_at(min(end, begin + (limit - len(rows)) * length - self._total))
        self._pieces.append((run, begin, int(ends[start])))
        self._total += int(ends[start]) - begin
        self.full(rows, limit)
        return start

    def full(self, rows: list[Any], limit: int) -> None:
        length = self._pieces[0][0].limits[0] if self._pieces else 0
        while self._pieces and self._total >= length and len(rows) < limit:
            rows.append(self._cut(None))

    def left(self, read: int) -> CutRow | None:
        return self._cut(read) if self._pieces else None

    def _cut(self, read: int | None) -> CutRow:
        pieces: list[Piece] = []
        room = self._pieces[0][0].limits[0]
        while room and self._pieces:
            run, begin, end = self._pieces.popleft()
            stop = min(end, begin + room)
            pieces.append((run, begin, stop))
            room -= stop - begin
            if stop < end:
                self._pieces.appendleft((run, stop, end))
        self._total -= sum(end - begin for _, begin, end in pieces)
        return CutRow(pieces, read)

    def mark(self) -> BinsMark:
        # Positions outlive what was read, so they have no tokens.
        return _QueueMark([(run.order, begin, end) for run, begin, end in self._pieces])

    def restore(self, sequences: Mapping[int, JoinedRun], held: Sequence[Sequence[int]], offset: int) -> None:
        for index in (index for indices in held for index in indices):
            run = sequences[index]
            end = int(run.order.ends[-1])
            self._pieces.append((run, offset, end))
            self._total += end - offset
            offset = 0
