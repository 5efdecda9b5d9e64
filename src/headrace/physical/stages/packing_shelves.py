"""The open rows of one kind of sequence: which of them a sequence is put into."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Iterable
from typing import Any, Final, Protocol

from headrace.physical.stages.packing_runs import PackedRow, SequenceRun

__all__ = ["BestFit", "FirstFit", "Shelf"]

# Rows that went out are looked at in vain; to forget them is to forget where searches ended.
_GONE_AT_MOST: Final = 16
# So many bits has the length of any sequence.
_SIZES: Final = 64


class Shelf(Protocol):
    """The open rows of one kind."""

    def find(self, need: Any, total: int) -> PackedRow | None:
        """Returns the row for a sequence of these lengths, together ``total``."""
        ...

    def open(self, row: PackedRow) -> None:
        """Adds a row."""
        ...

    def filled(self, row: PackedRow, before: int) -> None:
        """Takes in that a row had room for ``before`` tokens, and has less."""
        ...

    def close(self, row: PackedRow) -> None:
        """Removes a row."""
        ...

    def to_go(self, rows: Iterable[PackedRow]) -> PackedRow:
        """Returns which of all open rows goes out first."""
        ...

    def take(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        """Puts sequences into rows, from ``start`` on.

        Returns the index in the run of the next one, which finds no room, and None; or that after one that filled its row, and the row.
        """
        ...


def _taken_one_by_one(shelf: Shelf, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
    """Does what ``take`` says, for any number of components."""
    for at in range(start, len(run)):
        need = run.needs[at]
        total = need if type(need) is int else sum(need)
        if not total:
            continue  # no token, no segment
        row = shelf.find(need, total)
        if row is None:
            return at, None
        room = row.total
        row.add(run, at, need)
        shelf.filled(row, room)
        if not row.total:
            return at + 1, row
    return len(run), None


def _has_room(row: PackedRow, need: Any) -> bool:
    """Returns whether a row with room enough in all components together has it in each; one component has one length."""
    return type(need) is int or all(map(operator.ge, row.room, need))


class FirstFit:
    """The open rows of one kind; finds the oldest with room.

    A row only loses room until it goes out. So a search begins after the rows that have no room for half as much.
    """

    def __init__(self) -> None:
        self._rows: list[PackedRow] = []  # the oldest first, and some that went out
        self._gone = 0  # how many of these went out
        self._begin = [0] * _SIZES  # by the bits of a length: how many rows have no room for any length of so many bits

    def find(self, need: Any, total: int) -> PackedRow | None:
        """Returns the row for a sequence of these lengths, together ``total``."""
        begin = self._begin_of(total)
        return next((row for row in self._rows[begin:] if row.total >= total and _has_room(row, need)), None)

    def _begin_of(self, total: int) -> int:
        """Returns from where on there may be room for so many tokens."""
        rows, bits = self._rows, total.bit_length()
        begin, least = self._begin[bits], 1 << (bits - 1)
        while begin < len(rows) and rows[begin].total < least:
            begin += 1
        self._begin[bits] = begin
        return begin

    def take(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        if len(run.limits) > 1:
            return _taken_one_by_one(self, run, start)
        # The same, written out: the calls for each sequence cost more than all the rest.
        rows, needs, column = self._rows, run.needs, run.columns[0]
        for at in range(start, len(needs)):
            need = needs[at]
            if not need:
                continue
            place = self._begin_of(need)
            try:
                while (row := rows[place]).total < need:
                    place += 1
            except IndexError:
                return at, None
            row.indices.append(run.first + at)
            row.columns[0].append(column[at])
            row.total -= need
            if not row.total:
                return at + 1, row
        return len(needs), None

    def open(self, row: PackedRow) -> None:
        """Adds a row."""
        self._rows.append(row)

    def filled(self, row: PackedRow, before: int) -> None:
        """Takes in that a row had room for ``before`` tokens, and has less."""

    def close(self, row: PackedRow) -> None:
        """Removes a row."""
        row.total = -1
        self._gone += 1
        if self._gone > _GONE_AT_MOST:
            self._rows, self._gone = [row for row in self._rows if row.total >= 0], 0
            self._begin = [0] * _SIZES

    @staticmethod
    def to_go(rows: Iterable[PackedRow]) -> PackedRow:
        """Returns which of all open rows goes out first."""
        return next(iter(rows))


class BestFit:
    """The open rows of one kind; finds the one with the least room that suffices, the oldest of several."""

    def __init__(self) -> None:
        self._by_room: list[tuple[int, int, PackedRow]] = []  # the room in all components, and which was opened first

    def find(self, need: Any, total: int) -> PackedRow | None:
        """Returns the row for a sequence of these lengths, together ``total``."""
        rows = self._by_room
        for place in range(bisect.bisect_left(rows, (total,)), len(rows)):
            if _has_room(rows[place][2], need):
                return rows[place][2]
        return None

    def open(self, row: PackedRow) -> None:
        """Adds a row."""
        bisect.insort(self._by_room, (row.total, row.opened_at, row))

    def filled(self, row: PackedRow, before: int) -> None:
        """Takes in that a row had room for ``before`` tokens, and has less."""
        del self._by_room[bisect.bisect_left(self._by_room, (before, row.opened_at))]
        self.open(row)

    def close(self, row: PackedRow) -> None:
        """Removes a row."""
        del self._by_room[bisect.bisect_left(self._by_room, (row.total, row.opened_at))]

    def take(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        return _taken_one_by_one(self, run, start)

    @staticmethod
    def to_go(rows: Iterable[PackedRow]) -> PackedRow:
        """Returns which of all open rows goes out first."""
        return min(rows, key=operator.attrgetter("total"))
