"""The rows of a query to any database that has a driver of Python's DB-API (PEP 249).

The promise of ``RecordReader`` holds for rows as it does for records, with two differences. A position is the number of a
row, and, where the query has an ``order_key``, the value of that key in the row before: reading then goes on with a query
for what comes after it. Keys are compared by the database, whose texts may be equal where Python's are not. Without a key the query is executed again, and as many rows are passed over, which is right as long
as it gives the same rows in the same order.

What always holds, beside it.
- Connection and cursor are made, used and closed in one thread of the reader's own, since most drivers' belong to the
  thread that made them; they are closed at the end of the rows, after an error, and by ``close``, and nothing is
  committed.
- An error of the driver ends the reading: what a cursor gives after one, no driver says. It stands at its own row: where
  fetching fails, the query is executed once more after the rows that were given, and then fetched row by row.
- So much is held as ``arraysize`` rows need, and what the driver itself holds.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, Self

from headrace.elements.structure import Element
from headrace.errors import CancelledError, DataError, DataLossError, HeadraceError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.sql.connection_thread import ConnectionThread
from headrace.io.sql.query import OpenQuery, Query
from headrace.io.sql.rows import Row, RowReading
from headrace.io.sql.statement import Statement
from headrace.log import LOG

__all__ = ["RowChunk", "RowPosition", "RowReader"]

_KEY_TYPES: Final = frozenset((int, str, float))


@frozen
class RowPosition:
    """Where the next row of a query is.

    Attributes:
        row: how many rows come before it.
        key: the key of the row before, where the query has one.
        ended: whether reading ended here by an error, which was told.
    """

    row: int = 0
    key: int | float | str | None = None
    ended: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns the position as plain data, for a saved state."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Self:
        """Makes the position that ``to_json`` described.

        Raises:
            InvalidArgumentError: when ``state`` is no such description.
        """
        if set(state) != {"row", "key", "ended"} or type(state["row"]) is not int or state["row"] < 0:
            raise InvalidArgumentError(f"a position in a query has row, key and ended, and this is {dict(state)}")
        return cls(**state)


@frozen(eq=False)
class RowChunk:
    """A run of consecutive rows.

    Attributes:
        position: of the first row.
        keys: the key of each row, where the query has one.
        elements: the rows, where types are not stated.
        arrays: the rows as a structure of arrays, where they are.
    """

    position: RowPosition
    count: int
    keys: Sequence[Any] | None
    elements: list[Element] | None
    arrays: Any

    def __len__(self) -> int:
        return self.count

    def position_of(self, index: int) -> RowPosition:
        """Returns the position of one row, or after the last one."""
        if index == 0:
            return self.position
        return RowPosition(self.position.row + index, None if self.keys is None else self.keys[index - 1])


class RowReader:
    """Reads the rows of one query, once.

    Args:
        query: what is read. The database is not touched before the first ``read``.
        position: where to begin.
    """

    def __init__(self, query: Query, position: RowPosition) -> None:
        self._query = query
        self._position = position
        self._open: OpenQuery | None = None
        self._thread = ConnectionThread("headrace-sql", last=self._close_open, cancel=self._cancel_open)
        self._ended = position.ended
        self._rows: list[Row] = []  # fetched, and not given yet
        self._keys: list[Any] | None = None  # theirs
        self._failure: HeadraceError | None = None  # what is after them
        self._one_by_one = query.arraysize == 1

    @property
    def position(self) -> RowPosition:
        """Where the next row that ``read`` returns is."""
        return self._position

    def read(self, max_rows: int) -> RowChunk | None:
        """Returns the next 1 to ``max_rows`` rows, or None at the end.

        Raises:
            CancelledError: ``stop`` was called; the next call returns None.
            HeadraceError: for the next row, or the query; the next call goes on after it.
        """
        if not self._rows and not self._ended:
            self._fetch()
        if not self._rows:
            failure, self._failure = self._failure, None
            if failure is not None:
                self._position = replace(self._position, row=self._position.row + 1, ended=True)
                raise failure
            return None
        return self._given(min(max_rows, len(self._rows)))

    def stop(self) -> None:
        """Ends a ``read`` that waits for the database; safe from any thread."""
        self._thread.stop()

    def close(self) -> None:
        """Closes cursor and connection, whatever they do; ``read`` then returns None. May be called twice."""
        self._ended = True
        self._rows, self._failure = [], None
        self._thread.end()

    # --- giving -------------------------------------------------------------------------------------------------

    def _given(self, count: int) -> RowChunk:
        """Returns the chunk of the next rows, as far as they are good.

        Raises:
            InvalidArgumentError: the next row fits no element.
        """
        assert self._open is not None  # rows came from somewhere
        reading, rows = self._open.reading, self._rows[:count]
        try:
            chunk = self._chunk(reading, rows)
        except InvalidArgumentError as error:
            good = 0 if count == 1 else _good_rows(reading, rows)
            if good == 0:
                fault = error if count == 1 else _fault_of(reading, rows[0])
                self._position = self._after(1)
                self._drop(1)
                raise fault.located(stage=None, origin=f"element {self._position.row - 1}") from None
            count = good
            chunk = self._chunk(reading, rows[:good])
        self._position = chunk.position_of(count)
        self._drop(count)
        return chunk

    def _chunk(self, reading: RowReading, rows: list[Row]) -> RowChunk:
        arrays = reading.arrays(rows)
        elements = reading.elements(rows) if arrays is None else None
        keys = None if self._keys is None else self._keys[: len(rows)]
        return RowChunk(self._position, len(rows), keys, elements, arrays)

    def _after(self, count: int) -> RowPosition:
        return RowPosition(self._position.row + count, None if self._keys is None else self._keys[count - 1])

    def _drop(self, count: int) -> None:
        del self._rows[:count]
        if self._keys is not None:
            del self._keys[:count]

    # --- fetching -----------------------------------------------------------------------------------------------

    def _fetch(self) -> None:
        """Fetches rows, or notes that there are none, or why."""
        try:
            self._rows = self._fetched()
        except CancelledError:
            # Somebody closes this. It is no end, which a cache would keep; and told once, for who leaves errors out and reads on.
            self._ended = True
            raise
        except Exception as error:  # noqa: BLE001 - a driver raises what it likes
            self._fail(error)
            return
        if not self._rows:
            self._finish()
        elif self._query.statement.order_key is not None:
            self._take_keys()

    def _fetched(self) -> list[Row]:
        """Returns the next rows of the cursor; where it fails among them, those before come one by one."""
        if self._open is None and (rows := self._executed()):
            return rows
        try:
            return self._call_fetch(1 if self._one_by_one else None)
        except HeadraceError:
            raise
        except Exception:
            if self._one_by_one:
                raise
        # A driver does not say at which row it failed, and keeps none of those before: what is told should not depend on
        # how many were fetched at once.
        self._one_by_one = True
        return self._executed() or self._call_fetch(1)

    def _executed(self) -> list[Row]:
        """Executes the query after the last row; the first row, where it was fetched to see whether it is that one."""
        if isinstance(self._position.key, str):
            self._execute_after_text(self._position.key)
            return []
        self._execute(self._position.key)
        if self._position.row == 0:
            return []
        if self._query.statement.order_key is None:
            self._pass_over(
                "the query is executed again, and its first %d rows are passed over; with an order_key it would go on there: %s"
            )
            return []
        # From the last key on, and not after it: a row that shares it is an error, and should not be lost in silence.
        first = self._call_fetch(1)
        return first if first and first[0][self._opened().key_index] != self._position.key else []

    def _execute(self, since: Any, compared: str = ">=") -> None:
        if self._open is not None:
            self._thread.call(self._open.close)
        self._open = OpenQuery(self._query)
        self._thread.call(functools.partial(self._open.execute, since, compared))

    def _execute_after_text(self, key: str) -> None:
        """Executes the query after a text, which the database may take for equal to others: 'a' and 'A', 'e' and 'é'."""
        self._execute(key, "=")
        equal: list[Any] = []
        while len(equal) < 2 and (rows := self._call_fetch(1)):
            equal.append(rows[0][self._opened().key_index])
        if len(equal) < 2:
            self._execute(key, ">")
            return
        if equal[0] == equal[1]:
            raise _twice(key, self._query.statement)
        # In which order they come, and so which of them were given, only the whole query tells.
        self._execute(None)
        last = self._pass_over(
            "the database takes keys for equal that are not: the query is executed again, and its first %d rows are passed over: %s"
        )
        if last[self._opened().key_index] != key:
            reason = f"row {self._position.row} had the key {key!r}, which the database takes for equal to others, and has another now"
            raise DataLossError(
                f"{reason}: the data has changed, and no key leads after it; choose a column that tells rows apart "
                f"for the database, or add COLLATE to the query {self._query.statement.shown}"
            )

    def _call_fetch(self, most: int | None) -> list[Row]:
        return self._thread.call(functools.partial(self._opened().fetch, most))

    def _opened(self) -> OpenQuery:
        assert self._open is not None  # who calls this has opened it
        return self._open

    def _pass_over(self, message: str) -> Row:
        """Passes the rows over that were read before, where no key leads after them; the last of them."""
        left, last = self._position.row, ()
        LOG.warning(message, left, self._query.statement.shown)
        while left:
            rows = self._call_fetch(left)
            if not rows:
                reason = f"the query gave {self._position.row - left} rows, and reading is to go on after row {self._position.row}"
                raise DataLossError(f"{reason}: the data has changed; the query is {self._query.statement.shown}")
            left, last = left - len(rows), rows[-1]
        return last

    def _take_keys(self) -> None:
        """Notes the keys of the rows; the rows from the first on that has no good one are not given."""
        position = self._opened().key_index
        keys = [row[position] for row in self._rows]
        if _are_good(self._position.key, keys):  # mostly, and seen for all of them at once
            self._keys = keys
            return
        for index, (before, key) in enumerate(itertools.pairwise([self._position.key, *keys])):
            wrong = _wrong_key(before, key, self._query.statement)
            if wrong is not None:
                del self._rows[index:], keys[index:]
                self._finish()
                self._failure = wrong.located(stage=None, origin=f"element {self._position.row + index}")
                break
        self._keys = keys

    def _fail(self, error: Exception) -> None:
        self._finish()
        if isinstance(error, HeadraceError):
            self._failure = error.located(stage=None, origin=f"element {self._position.row}")
            return
        shown = f"{type(error).__name__}: {' '.join(str(error).split())}"
        # Not "at the next row": SQLite's driver steps ahead, and fails with the row before in its hands.
        reason = f"{shown}, after row {self._position.row} of the query {self._query.statement.shown}"
        self._failure = DataError(reason, origin=f"element {self._position.row}")
        self._failure.__cause__ = error

    def _finish(self) -> None:
        """Gives the connection back; rows that were fetched stay."""
        self._ended = True
        self._thread.end()

    def _close_open(self) -> None:
        if self._open is not None:
            self._open.close()

    def _cancel_open(self) -> None:
        if self._open is not None:
            self._open.cancel()


def _are_good(before: Any, keys: Sequence[Any]) -> bool:
    """Returns whether nothing is wrong with keys that come after another."""
    return _KEY_TYPES.issuperset(map(type, keys)) and not any(map(operator.eq, keys, [before, *keys[:-1]]))


def _wrong_key(before: Any, key: Any, statement: Statement) -> InvalidArgumentError | None:
    if type(key) not in _KEY_TYPES:
        shown = "NULL" if key is None else f"of type {type(key).__name__}"
        return InvalidArgumentError(
            f"order_key {statement.order_key} is {shown}; it must be a number or text in every row"
        )
    if key == before:
        return _twice(key, statement)
    return None


def _twice(key: Any, statement: Statement) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"order_key {statement.order_key} is {key!r} in two rows; choose a column, or make one, that tells rows apart"
    )


def _good_rows(reading: RowReading, rows: list[Row]) -> int:
    """Returns how many rows come before the first bad one."""
    return next(index for index, row in enumerate(rows) if _fault_of(reading, row) is not None)


def _fault_of(reading: RowReading, row: Row) -> Any:
    try:
        if reading.arrays([row]) is None:
            reading.elements([row])
    except InvalidArgumentError as error:
        return error
    return None
