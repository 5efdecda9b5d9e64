"""The open rows of one kind of sequence: which of them a sequence is put into.

Most sequences go into the row with the most room, as none of the others has enough for them. So sequences are taken in runs: as
long as that is so, nothing but the room that is left is counted, and the row gets all of them at once.
"""

from __future__ import annotations

import abc
import bisect
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from headrace.physical.stages.packing_filling import PackedRow
from headrace.physical.stages.packing_runs import SequenceRun
from headrace.semantics.packing import SequenceKind

__all__ = ["BestFit", "Bins", "FirstFit", "Shelf"]


class Bins(Protocol):
    """The open rows of all kinds, which the shelves of each have in common."""

    @property
    def unopened(self) -> int:
        """How many further rows may be opened before one must go out."""
        ...

    def new_row(self, like: SequenceRun, shelf: Shelf) -> PackedRow:
        """Opens a row of the shelf's, for sequences of this run."""
        ...

    def go_out(self, row: PackedRow, read: int, shelf: Shelf) -> bool:
        """Takes a row out, mostly of this shelf, when so many sequences had been taken; returns whether another one may go out, too."""
        ...


class Shelf(abc.ABC):
    """The open rows of one kind.

    As long as its sequences are even, all that is counted is one length of each, and the room for that.

    Args:
        kind: it.
        rows: the open rows of all kinds by how many were opened before them, the oldest first.

    Attributes:
        kind: it, as all its rows have it: the very same object.
        is_even: whether they are.
    """

    def __init__(self, kind: SequenceKind, rows: Mapping[int, PackedRow]) -> None:
        self.kind = kind
        self.is_even = True
        self._all_rows = rows

    def take(self, run: SequenceRun, start: int, bins: Bins) -> int:
        """Puts sequences into rows, from ``start`` on, as long as rows may go out; returns the index in the run of the next one.

        It was counted as they need before.
        """
        return self._take_even(run, start, bins) if self.is_even else self._take_any(run, start, bins)

    def put(self, row: PackedRow, run: SequenceRun) -> None:
        """Puts the only sequence of a run into this row."""
        self.count_as(run)
        before = row.total
        if self.is_even:
            row.add(run, 0, 1, before - run.needs[0])
        else:
            row.add_uneven(run, 0)
        self._filled(row, before)

    def count_as(self, run: SequenceRun) -> None:
        """Takes in that sequences of this run are next: counts each component from now on, where they need it."""
        if self.is_even and not run.is_even:
            self.is_even = False
            for row in self._rows():
                row.become_uneven()
            self._become_uneven()

    def _rows(self) -> Iterator[PackedRow]:
        """Yields its rows, the oldest first."""
        return (row for row in self._all_rows.values() if row.kind is self.kind)

    def _opened(self, run: SequenceRun, at: int, bins: Bins) -> PackedRow | None:
        """Opens a row for a sequence that finds no room; None where another had to go out first, and no more may."""
        if not bins.unopened and not bins.go_out(self._to_go(self._all_rows.values()), run.first + at, self):
            return None
        row = bins.new_row(run, self)
        self.add(row)
        return row

    def _take_any(self, run: SequenceRun, start: int, bins: Bins) -> int:
        """Does what ``take`` says, for any lengths."""
        for at in range(start, len(run)):
            need = [lengths[at] for lengths in run.lengths]
            total = sum(need)
            if not total:
                continue  # no token, no segment
            row = self._find(need, total) or self._opened(run, at, bins)
            if row is None:
                return at
            before = row.total
            row.add_uneven(run, at)
            self._filled(row, before)
            if not row.total and not bins.go_out(row, run.first + at + 1, self):
                return at + 1
        return len(run)

    @abc.abstractmethod
    def _take_even(self, run: SequenceRun, start: int, bins: Bins) -> int:
        """Does what ``take`` says, for sequences that are even."""

    @abc.abstractmethod
    def _find(self, need: Sequence[int], total: int) -> PackedRow | None:
        """Returns the row for a sequence of these lengths, together ``total``."""

    @abc.abstractmethod
    def add(self, row: PackedRow) -> None:
        """Adds a row, which is empty and was just opened."""

    @abc.abstractmethod
    def _filled(self, row: PackedRow, before: int) -> None:
        """Takes in that a row had room for ``before`` tokens, and has less."""

    @abc.abstractmethod
    def _become_uneven(self) -> None:
        """Takes in that rows have more room in all components together than in one."""

    @abc.abstractmethod
    def close(self, row: PackedRow) -> None:
        """Removes a row."""

    @abc.abstractmethod
    def _to_go(self, rows: Collection[PackedRow]) -> PackedRow:
        """Returns which of all open rows goes out first."""


class FirstFit(Shelf):
    """The open rows of one kind; finds the oldest with room.

    Most rows but the newest have less room than any sequence of a run needs. So a search is among the few that have as much.
    """

    def __init__(self, kind: SequenceKind, rows: Mapping[int, PackedRow]) -> None:
        super().__init__(kind, rows)
        self._newest: PackedRow | None = None
        self._least = 1  # no sequence that is taken needs less room
        self._places: list[PackedRow] = []  # the rows that have as much, the oldest first, without the newest
        self._rooms: list[int] = []  # of each of these its total
        self._below = 0  # the largest of them

    def count_as(self, run: SequenceRun) -> None:
        super().count_as(run)
        if run.least != self._least:
            self._least = run.least
            self._choose()

    def _choose(self) -> None:
        """Finds the rows with room for any sequence at all."""
        self._places = [row for row in self._rows() if row.total >= self._least and row is not self._newest]
        self._rooms = [row.total for row in self._places]
        self._below = max(self._rooms, default=0)

    def _take_even(self, run: SequenceRun, start: int, bins: Bins) -> int:
        needs, newest = run.needs, self._newest
        begin, count = start, len(needs)
        below, room = self._below, newest.total if newest is not None else 0
        for at in range(start, count):
            need = needs[at]
            if below < need < room:  # into the newest row, with those before it
                room -= need
                continue
            if at > begin:
                assert newest is not None  # it had room
                newest.add(run, begin, at, room)
            begin = at + 1
            if not need:
                continue
            if need > below and need > room:
                newest = self._opened(run, at, bins)
                if newest is None:
                    return at
                below, room = self._below, newest.total
                if need < room:  # it goes into the row with those after it
                    begin, room = at, room - need
                    continue
            if need <= below:
                row, left = self._lose(need)
                below = self._below
            else:
                assert newest is not None  # as above
                row, left, room = newest, 0, 0
            row.add(run, at, begin, left)
            if not left and not bins.go_out(row, run.first + begin, self):
                return begin
        self._newest_gets(run, begin, room)
        return count

    def _newest_gets(self, run: SequenceRun, start: int, room: int) -> None:
        """Puts the last sequences of a run into the newest row, if any are left, after which there is so much room."""
        if start < len(run):
            assert self._newest is not None  # it had room
            self._newest.add(run, start, len(run), room)

    def _lose(self, need: int) -> tuple[PackedRow, int]:
        """Finds the oldest row with so much room, and takes in that it loses it; returns it, and how much is left."""
        for room in self._rooms:
            if room >= need:
                break
        place, left = self._rooms.index(room), room - need
        row = self._places[place]
        self._set(place, left)
        return row, left

    def _set(self, place: int, left: int) -> None:
        """Takes in that the row at this place has so much room left."""
        rooms = self._rooms
        before = rooms[place]
        if left >= self._least:
            rooms[place] = left
        else:
            del rooms[place], self._places[place]
        if before == self._below:
            self._below = max(rooms) if rooms else 0

    def _find(self, need: Sequence[int], total: int) -> PackedRow | None:
        for row in self._places:
            if row.total >= total and _has_room(row, need):
                return row
        newest = self._newest
        return newest if newest is not None and newest.total >= total and _has_room(newest, need) else None

    def add(self, row: PackedRow) -> None:
        before = self._newest
        if before is not None and before.total >= self._least:
            self._places.append(before)
            self._rooms.append(before.total)
            self._below = max(self._below, before.total)
        self._newest = row

    def _filled(self, row: PackedRow, before: int) -> None:
        if row is not self._newest:
            self._set(self._places.index(row), row.total)

    def _become_uneven(self) -> None:
        self._choose()

    def close(self, row: PackedRow) -> None:
        if row is self._newest:
            self._newest = None
        elif row.total >= self._least:
            self._set(self._places.index(row), 0)

    def _to_go(self, rows: Collection[PackedRow]) -> PackedRow:
        return next(iter(rows))


_OPENED_AT = operator.attrgetter("opened_at")


class BestFit(Shelf):
    """The open rows of one kind; finds the one with the least room that suffices, the oldest of several."""

    def __init__(self, kind: SequenceKind, rows: Mapping[int, PackedRow]) -> None:
        super().__init__(kind, rows)
        self._places: list[PackedRow] = []  # by their total, and then the oldest first
        self._rooms: list[int] = []  # of each of these its total

    def _take_even(self, run: SequenceRun, start: int, bins: Bins) -> int:
        rooms, needs, count = self._rooms, run.needs, len(run.needs)
        at = start
        while at < count:
            begin, need = at, 0
            room = rooms[-1] if rooms else 0
            below = rooms[-2] if len(rooms) > 1 else 0
            for at in range(begin, count):  # into the row with the most room, as long as no other one has room
                need = needs[at]
                if not below < need < room:
                    break
                room -= need
            else:
                at = count
            if at > begin:
                self._take_into(len(rooms) - 1, run, begin, at, room)
            elif need:
                place = bisect.bisect_left(rooms, need)
                if place == len(rooms):
                    if self._opened(run, at, bins) is None:
                        return at
                    continue
                at += 1
                row = self._take_into(place, run, begin, at, rooms[place] - need)
                if not row.total and not bins.go_out(row, run.first + at, self):
                    return at
            else:
                at += 1
        return count

    def _take_into(self, place: int, run: SequenceRun, start: int, stop: int, room: int) -> PackedRow:
        """Puts even sequences into the row at this place, which has so much room then."""
        row = self._places[place]
        row.add(run, start, stop, room)
        self._move(place, room)
        return row

    def _move(self, place: int, room: int) -> None:
        """Takes in that the row at this place has so much room, which is less."""
        rooms, places = self._rooms, self._places
        if place and rooms[place - 1] >= room:
            row = places.pop(place)
            del rooms[place]
            place = self._place_of(row, room)
            rooms.insert(place, room)
            places.insert(place, row)
        else:
            rooms[place] = room

    def _place_of(self, row: PackedRow, room: int) -> int:
        """Returns where a row belongs that has so much room."""
        rooms = self._rooms
        first, last = bisect.bisect_left(rooms, room), bisect.bisect_right(rooms, room)
        return bisect.bisect_left(self._places, row.opened_at, first, last, key=_OPENED_AT) if first < last else first

    def _find(self, need: Sequence[int], total: int) -> PackedRow | None:
        for place in range(bisect.bisect_left(self._rooms, total), len(self._rooms)):
            row = self._places[place]
            if _has_room(row, need):
                return row
        return None

    def add(self, row: PackedRow) -> None:
        place = self._place_of(row, row.total)
        self._rooms.insert(place, row.total)
        self._places.insert(place, row)

    def _filled(self, row: PackedRow, before: int) -> None:
        self._move(self._places.index(row, bisect.bisect_left(self._rooms, before)), row.total)

    def _become_uneven(self) -> None:
        self._places = sorted(self._rows(), key=PackedRow.total_room)  # which leaves the oldest first
        self._rooms = [row.total for row in self._places]

    def close(self, row: PackedRow) -> None:
        place = self._places.index(row, bisect.bisect_left(self._rooms, row.total))
        del self._rooms[place], self._places[place]

    def _to_go(self, rows: Collection[PackedRow]) -> PackedRow:
        if len(rows) == len(self._places):  # there are none of another kind
            return self._places[0]
        return min(rows, key=PackedRow.total_room)


def _has_room(row: PackedRow, need: Sequence[Any]) -> bool:
    """Returns whether a row with room enough in all components together has it in each."""
    assert row.room is not None  # it is asked of uneven ones alone
    return all(map(operator.ge, row.room, need))
