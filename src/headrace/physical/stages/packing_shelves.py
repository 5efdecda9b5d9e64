"""The open rows of one kind of sequence: which of them a sequence is put into.

Most sequences go into the row with the most room, as none of the others has enough for them. So sequences are taken in runs: as
long as that is so, nothing but the room that is left is counted, and the row gets all of them at once.
"""

from __future__ import annotations

import abc
import bisect
import operator
from collections.abc import Collection, Sequence
from typing import Any, Final

from headrace.physical.stages.packing_filling import PackedRow
from headrace.physical.stages.packing_runs import SequenceRun
from headrace.semantics.packing import SequenceKind

__all__ = ["BestFit", "FirstFit", "Shelf"]


class Shelf(abc.ABC):
    """The open rows of one kind.

    As long as its sequences are even, all that is counted is one length of each, and the room for that.

    Attributes:
        kind: it, as all its rows have it: the very same object.
    """

    def __init__(self, kind: SequenceKind) -> None:
        self.kind = kind
        self._is_even = True

    def take(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        """Puts sequences into rows, from ``start`` on.

        It was counted as they need before. Returns the index in the run of the next one, which finds no room, and None; or that after one that filled its row, and the row.
        """
        return self._take_even(run, start) if self._is_even else self._take_any(run, start)

    def open(self, like: SequenceRun, opened_at: int) -> PackedRow:
        """Makes a row for sequences of this kind."""
        row = PackedRow(like, self.kind, opened_at, is_even=self._is_even)
        self._add(row)
        return row

    def put(self, row: PackedRow, run: SequenceRun) -> None:
        """Puts the only sequence of a run into this row."""
        self.count_as(run)
        before = row.total
        if self._is_even:
            row.add(run, 0, 1, before - run.needs[0])
        else:
            row.add_uneven(run, 0)
        self._filled(row, before)

    def count_as(self, run: SequenceRun) -> None:
        """Takes in that sequences of this run are next: counts each component from now on, where they need it."""
        if self._is_even and not run.is_even:
            self._is_even = False
            self._become_uneven()

    def _take_any(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        """Does what ``take`` says, for any lengths."""
        for at in range(start, len(run)):
            need = [lengths[at] for lengths in run.lengths]
            total = sum(need)
            if not total:
                continue  # no token, no segment
            row = self._find(need, total)
            if row is None:
                return at, None
            before = row.total
            row.add_uneven(run, at)
            self._filled(row, before)
            if not row.total:
                return at + 1, row
        return len(run), None

    @abc.abstractmethod
    def _take_even(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        """Does what ``take`` says, for sequences that are even."""

    @abc.abstractmethod
    def _find(self, need: Sequence[int], total: int) -> PackedRow | None:
        """Returns the row for a sequence of these lengths, together ``total``."""

    @abc.abstractmethod
    def _add(self, row: PackedRow) -> None:
        """Adds a row, which is empty."""

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
    def to_go(self, rows: Collection[PackedRow]) -> PackedRow:
        """Returns which of all open rows goes out first."""


class FirstFit(Shelf):
    """The open rows of one kind; finds the oldest with room.

    Most rows but the newest have less room than any sequence of a run needs. So a search is among the few that have as much.
    """

    def __init__(self, kind: SequenceKind) -> None:
        super().__init__(kind)
        self._rows: dict[int, PackedRow] = {}  # by when they were opened
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
        rows = self._rows.values()
        self._places = [row for row in rows if row.total >= self._least and row is not self._newest]
        self._rooms = [row.total for row in self._places]
        self._below = max(self._rooms, default=0)

    def _take_even(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        newest, rooms, needs = self._newest, self._rooms, run.needs
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
            if need <= below:
                place = 0
                while rooms[place] < need:
                    place += 1
                row, left = self._places[place], rooms[place] - need
                self._lose(place, left)
                below = self._below
            elif newest is not None and need == room:
                row, left = newest, 0
            else:
                return at, None
            row.add(run, at, begin, left)
            if not left:
                return begin, row
        if begin < count:
            assert newest is not None  # as above
            newest.add(run, begin, count, room)
        return count, None

    def _lose(self, place: int, left: int) -> None:
        """Takes in that the row at this place has so much room left."""
        rooms = self._rooms
        before = rooms[place]
        if left >= self._least:
            rooms[place] = left
        else:
            del rooms[place], self._places[place]
        if before == self._below:
            self._below = max(rooms, default=0)

    def _find(self, need: Sequence[int], total: int) -> PackedRow | None:
        for row in self._places:
            if row.total >= total and _has_room(row, need):
                return row
        newest = self._newest
        return newest if newest is not None and newest.total >= total and _has_room(newest, need) else None

    def _add(self, row: PackedRow) -> None:
        before = self._newest
        if before is not None and before.total >= self._least:
            self._places.append(before)
            self._rooms.append(before.total)
            self._below = max(self._below, before.total)
        self._rows[row.opened_at] = self._newest = row

    def _filled(self, row: PackedRow, before: int) -> None:
        if row is not self._newest:
            self._lose(self._places.index(row), row.total)

    def _become_uneven(self) -> None:
        for row in self._rows.values():
            row.become_uneven()
        self._choose()

    def close(self, row: PackedRow) -> None:
        del self._rows[row.opened_at]
        if row is self._newest:
            self._newest = None
        elif row.total >= self._least:
            self._lose(self._places.index(row), 0)

    def to_go(self, rows: Collection[PackedRow]) -> PackedRow:
        return next(iter(rows))


# In a key, which says how much room a row has and which was opened before it, so much room is one token more.
_ONE_TOKEN: Final = 1 << 40


class BestFit(Shelf):
    """The open rows of one kind; finds the one with the least room that suffices, the oldest of several."""

    def __init__(self, kind: SequenceKind) -> None:
        super().__init__(kind)
        self._keys: list[int] = []  # in order
        self._rows: dict[int, PackedRow] = {}  # by when they were opened

    def _take_even(self, run: SequenceRun, start: int) -> tuple[int, PackedRow | None]:
        keys, needs, count = self._keys, run.needs, len(run.needs)
        at = start
        while at < count:
            begin, need = at, 0
            room = keys[-1] // _ONE_TOKEN if keys else 0
            below = keys[-2] // _ONE_TOKEN if len(keys) > 1 else 0
            for at in range(begin, count):  # into the row with the most room, as long as no other one has room
                need = needs[at]
                if not below < need < room:
                    break
                room -= need
            else:
                at = count
            if at > begin:
                self._take_into(len(keys) - 1, run, begin, at, room)
            elif need:
                place = bisect.bisect_left(keys, need * _ONE_TOKEN)
                if place == len(keys):
                    return at, None
                row = self._take_into(place, run, at, at + 1, keys[place] // _ONE_TOKEN - need)
                at += 1
                if not row.total:
                    return at, row
            else:
                at += 1
        return count, None

    def _take_into(self, place: int, run: SequenceRun, start: int, stop: int, room: int) -> PackedRow:
        """Puts even sequences into the row at this place, which has so much room then."""
        opened_at = self._keys.pop(place) % _ONE_TOKEN
        row = self._rows[opened_at]
        row.add(run, start, stop, room)
        bisect.insort(self._keys, room * _ONE_TOKEN + opened_at)
        return row

    def _find(self, need: Sequence[int], total: int) -> PackedRow | None:
        for place in range(bisect.bisect_left(self._keys, total * _ONE_TOKEN), len(self._keys)):
            row = self._rows[self._keys[place] % _ONE_TOKEN]
            if _has_room(row, need):
                return row
        return None

    def _add(self, row: PackedRow) -> None:
        self._rows[row.opened_at] = row
        bisect.insort(self._keys, _key(row, row.total))

    def _filled(self, row: PackedRow, before: int) -> None:
        del self._keys[bisect.bisect_left(self._keys, _key(row, before))]
        bisect.insort(self._keys, _key(row, row.total))

    def _become_uneven(self) -> None:
        for row in self._rows.values():
            row.become_uneven()
        self._keys = sorted(_key(row, row.total) for row in self._rows.values())

    def close(self, row: PackedRow) -> None:
        del self._keys[bisect.bisect_left(self._keys, _key(row, row.total))], self._rows[row.opened_at]

    def to_go(self, rows: Collection[PackedRow]) -> PackedRow:
        if len(rows) == len(self._keys):  # there are none of another kind
            return self._rows[self._keys[0] % _ONE_TOKEN]
        return min(rows, key=PackedRow.total_room)


def _key(row: PackedRow, room: int) -> int:
    return room * _ONE_TOKEN + row.opened_at


def _has_room(row: PackedRow, need: Sequence[Any]) -> bool:
    """Returns whether a row with room enough in all components together has it in each."""
    assert row.room is not None  # it is asked of uneven ones alone
    return all(map(operator.ge, row.room, need))
