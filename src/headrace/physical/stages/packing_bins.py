"""Where each sequence goes: rows that are open, and which of them a sequence is put into.

A row that is full goes out before anything more is taken. Where a sequence finds no room and no further row may be opened,
one goes out first: by ``first_fit`` the oldest, as in next-k-fit; by ``best_fit`` the one with the least room. For packing with
a bounded number of open bins that choice is the better one: Csirik and Johnson, "Bounded space on-line bin packing: best is
better than first", Algorithmica 31 (2001).

There is a position with every row, so it must cost little: an open row only grows until it goes out, and it is enough to remember
how much had been read and how many rows had gone out.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from headrace.frozen import frozen
from headrace.physical.stages.packing_runs import CutRow, PackedRow, RunIndices, SequenceRun
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
    def sequences(self) -> Iterable[tuple[np.ndarray, ...]]:
        """The sequences in them."""
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

    def take(self, run: SequenceRun, start: int) -> int:
        """Takes sequences from ``start`` on, up to where a row has to go out; returns the index in the run of the next one."""
        ...

    def out(self) -> PackedRow | CutRow | None:
        """Returns the row that has to go out now, if there is one; it is open no more."""
        ...

    def left(self) -> PackedRow | CutRow | None:
        """Returns the next row at the end; it is open no more."""
        ...

    def mark(self) -> BinsMark:
        """Returns what is in the rows now."""
        ...

    def restore(self, sequences: Mapping[int, SequenceRun], held: Sequence[Sequence[int]], offset: int) -> None:
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
        held = [row.indices for row in self.rows if row.closed_at is None or row.closed_at >= self.closed]
        indices = (tuple(one[: bisect.bisect_left(one, read)]) for one in held)
        return tuple(one for one in indices if one), 0


class _Bins:
    """Whole sequences, in the first or in the fullest row where there is room."""

    def __init__(self, limit: int, shelf: type[Shelf]) -> None:
        self._limit = limit
        self._shelf = shelf
        self._shelves: dict[SequenceKind, Shelf] = {}
        self._open: dict[int, PackedRow] = {}  # the oldest first
        self._log: list[PackedRow] = []  # these, and some that went out not long ago
        self._due: PackedRow | None = None
        self._opened = self._closed = 0
        self.count = 0
        self.nbytes = 0

    @property
    def sequences(self) -> Iterable[tuple[np.ndarray, ...]]:
        return (sequence for row in self._open.values() for sequence in zip(*row.columns, strict=True))

    @property
    def oldest(self) -> int | None:
        return next((row.indices[0] for row in self._open.values()), None)

    def take(self, run: SequenceRun, start: int) -> int:
        shelf = self._shelves.get(run.kind)
        if shelf is None:
            shelf = self._shelves[run.kind] = self._shelf()
        while True:
            first = start
            start, self._due = shelf.take(run, start)
            self._count_in(run, first, start)
            if self._due is not None or start == len(run):
                return start
            if len(self._open) == self._limit:
                self._due = shelf.to_go(self._open.values())
                return start
            self._new_row(run, shelf)

    def _count_in(self, run: SequenceRun, start: int, stop: int) -> None:
        count, nbytes = run.weight(start, stop)
        self.count += count
        self.nbytes += nbytes

    def _new_row(self, run: SequenceRun, shelf: Shelf) -> PackedRow:
        row = PackedRow(run, self._opened)
        self._open[self._opened] = row
        self._opened += 1
        self._log.append(row)
        shelf.open(row)
        return row

    def _taken(self, row: PackedRow) -> PackedRow:
        del self._open[row.opened_at]
        self.count -= len(row.indices)
        self.nbytes -= row.nbytes
        self._shelves[row.kind].close(row)
        row.closed_at, self._closed = self._closed, self._closed + 1
        if len(self._log) > 2 * len(self._open) + 64:
            self._log = list(
                self._open.values()
            )  # another list, because positions that are on their way have the old one
        return row

    def out(self) -> PackedRow | None:
        row, self._due = self._due, None
        return None if row is None else self._taken(row)

    def left(self) -> PackedRow | None:
        row = next(iter(self._open.values()), None)
        return None if row is None else self._taken(row)

    def mark(self) -> BinsMark:
        return _BinsMark(self._closed, self._log)

    def restore(self, sequences: Mapping[int, SequenceRun], held: Sequence[Sequence[int]], offset: int) -> None:
        for indices in held:
            first = sequences[indices[0]]
            row = self._new_row(first, self._shelves.setdefault(first.kind, self._shelf()))
            for index in indices:
                room = row.total
                row.add(sequences[index], 0, sequences[index].needs[0])
                self._count_in(sequences[index], 0, 1)
                self._shelves[first.kind].filled(row, room)


# ------------------------------------------------------------------------------------------------ cut where a row ends


# Sequences of a run: those from one index in it to before another.
_Part = tuple[SequenceRun, int, int]


@frozen
class _QueueMark:
    parts: Sequence[tuple[RunIndices, int, int]]
    offset: int

    def contents(self, read: int) -> BinContents:
        held = tuple(index for run, start, stop in self.parts for index in run.part(start, stop))
        return (held,) if held else (), self.offset


class _OneBin:
    """One sequence after the other, cut where a row ends. Whole runs are moved, and only the first and the last of a row cut."""

    def __init__(self) -> None:
        self._parts: deque[_Part] = deque()
        self._total = 0  # tokens that are not out
        self._offset = 0  # how much of the first sequence is out
        self._is_due = False  # because the next one is of another kind

    @property
    def sequences(self) -> Iterable[tuple[np.ndarray, ...]]:
        for run, start, stop in self._parts:
            for begin, end in zip(run.ends[start:stop], run.ends[start + 1 : stop + 1], strict=True):
                yield tuple(flat[begin:end] for flat in run.columns)

    @property
    def nbytes(self) -> int:
        return (self._total + self._offset) * sum(self._parts[0][0].widths) if self._parts else 0

    @property
    def count(self) -> int:
        return sum(stop - start for _, start, stop in self._parts)

    @property
    def oldest(self) -> int | None:
        return self._parts[0][0].first + self._parts[0][1] if self._parts else None

    def take(self, run: SequenceRun, start: int) -> int:
        ends = run.ends
        # Without tokens there is no segment, and nothing to keep apart.
        first = bisect.bisect_right(ends, ends[start], start) - 1
        if first == len(run):
            return first
        if self._parts and self._parts[0][0].kind != run.kind:
            self._is_due = True
            return first
        wanted = ends[first] + run.limits[0] - self._total
        stop = min(bisect.bisect_left(ends, wanted, first + 1), len(run))
        self._parts.append((run, first, stop))
        self._total += ends[stop] - ends[first]
        return stop

    def out(self) -> CutRow | None:
        is_due, self._is_due = self._is_due, False
        return self.left() if self._parts and (is_due or self._total >= self._parts[0][0].limits[0]) else None

    def left(self) -> CutRow | None:
        if not self._parts:
            return None
        run = self._parts[0][0]
        row = CutRow(run)
        room = run.limits[0]
        while room and self._parts:
            run, start, stop = self._parts.popleft()
            before = run.ends[start] + self._offset
            end = bisect.bisect_left(run.ends, min(before + room, run.ends[stop]), start + 1)  # after the last one
            cut = max(run.ends[end] - before - room, 0)  # what is left of that
            row.add_part(run, start, end, self._offset, cut)
            room -= run.ends[end] - cut - before
            start, self._offset = (end - 1, run.ends[end] - cut - run.ends[end - 1]) if cut else (end, 0)
            if run.ends[start] < run.ends[stop]:
                self._parts.appendleft((run, start, stop))
        self._total -= run.limits[0] - room
        return row

    def mark(self) -> BinsMark:
        # Positions outlive what was read, so they have no tokens.
        return _QueueMark([(run.indices, start, stop) for run, start, stop in self._parts], self._offset)

    def restore(self, sequences: Mapping[int, SequenceRun], held: Sequence[Sequence[int]], offset: int) -> None:
        for index in (index for indices in held for index in indices):
            self._parts.append((sequences[index], 0, 1))
            self._total += sequences[index].ends[1]
        self._offset = offset
        self._total -= offset
