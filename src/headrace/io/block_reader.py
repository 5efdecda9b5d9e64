"""Reads the records of a file a buffer at a time; what a record is, a ``RecordParser`` says.

How it works. The buffer holds the file from ``_base`` on. The format cuts it into records, all that are complete, and
parses them at once: that is where the speed is. ``read`` hands out slices of the result, which cost nothing. What is
left of the buffer, an incomplete record, stays in front of the bytes read next; while no record is complete, each
reading doubles the buffer, so that a long record is looked at a few times only.

What always holds: ``position`` is exact whatever the size of the buffer, and each error is raised once (see reader.py).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from headrace.elements.structure import Element
from headrace.errors import HeadraceError, ResourceExhaustedError
from headrace.frozen import frozen
from headrace.io.reader import Array, Chunk, RecordPosition
from headrace.io.stream_reader import MAX_RECORD_BYTES, BufferedReader

__all__ = ["BlockReader", "Header", "RecordParser", "Records"]

# Positions in a buffer are 32 bit wide, and a buffer may hold a record and as much again.
_HIGHEST_SIZE: Final = 1 << 30


@frozen(eq=False)
class Records:
    """The complete records at the beginning of a buffer.

    Attributes:
        arrays, matrix: the parsed records, as in ``Chunk``; rows of bad ones hold anything.
        ends: for each record, the bytes of the buffer up to its end, line break included.
        lines: for each record, the line breaks of the buffer before it.
        line_breaks: those up to the end of the last one.
        faults: what is wrong with the bad ones, by their index.
        rows: the records one by one, where they are no columns.
        blank_bytes: where there are no records: how many bytes of the buffer, with ``line_breaks``, belong to none.
    """

    arrays: tuple[Array, ...]
    matrix: Array | None
    ends: Array
    lines: range | Array
    line_breaks: int
    faults: Mapping[int, HeadraceError]
    rows: Sequence[Element] | None = None
    blank_bytes: int = 0

    def __len__(self) -> int:
        return len(self.ends)

    def first(self, count: int) -> Records:
        """Returns the first ``count`` of them, less than all."""
        return Records(
            tuple(array[:count] for array in self.arrays),
            None if self.matrix is None else self.matrix[:count],
            self.ends[:count],
            self.lines[:count],
            int(self.lines[count]),
            {index: fault for index, fault in self.faults.items() if index < count},
            None if self.rows is None else self.rows[:count],
        )


@frozen(eq=False)
class _Positions:
    """Where the records of a buffer are in their file, by their index from ``first`` on; ``base`` is that of the buffer."""

    base: RecordPosition
    ends: Array
    lines: range | Array
    line_breaks: int
    first: int = 0

    def __call__(self, number: int) -> RecordPosition:
        index = self.first + number
        if index == 0:
            return self.base
        breaks = self.line_breaks if index == len(self.ends) else int(self.lines[index])
        return RecordPosition(
            self.base.offset + int(self.ends[index - 1]), self.base.line + breaks, self.base.record + index
        )


NO_RECORDS: Final = Records((), None, np.empty(0, np.int64), range(0), 0, {})


@frozen
class Header:
    """What stands before the first record: its bytes, its line breaks, and what is wrong with it."""

    end: int
    line_breaks: int
    fault: HeadraceError | None = None


class RecordParser(Protocol):
    """How the bytes of a file are its records. A pure function of them."""

    @property
    def has_header(self) -> bool:
        """Whether something stands before the first record."""
        ...

    def header(self, data: bytes, *, last: bool) -> Header | None:
        """Returns the header of a file that begins with ``data``, or None when more bytes are needed to tell."""
        ...

    def parse(self, data: bytes, *, last: bool) -> Records:
        """Returns the complete records at the beginning of ``data``, which is not empty; all of it when nothing follows (``last``)."""
        ...


class BlockReader(BufferedReader):
    """A ``RecordReader`` of any format.

    Args:
        path: the file, local or with ``://``.
        parser: what its records are.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        position: where to begin.
        max_record_bytes: the longest record that is read, 1 GiB at most.

    Raises:
        InvalidArgumentError: when an argument does not fit. The file is not touched before the first ``read``.
    """

    _most_bytes = _HIGHEST_SIZE

    def __init__(
        self,
        path: str,
        parser: RecordParser,
        *,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        position: RecordPosition | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self._base = position or RecordPosition()  # of the first byte of _records, or of _data when there are none
        super().__init__(
            path,
            compression_type=compression_type,
            buffer_size=buffer_size,
            max_record_bytes=max_record_bytes,
            ended=self._base.ended,
        )
        self._parser = parser
        self._header_due = parser.has_header and self._base.offset == 0 and not self._base.ended
        self._records = NO_RECORDS
        self._next = 0  # of _records, to be handed out
        self._faulty: list[int] = []

    @property
    def position(self) -> RecordPosition:
        """Where the next record that ``read`` returns begins."""
        return self._positions(self._next)

    def _read(self, max_records: int) -> Chunk | None:
        while self._next == len(self._records):
            if not self._advance():
                return None
        first = self._next
        if first in self._records.faults:
            self._next += 1
            line = self._base.line + int(self._records.lines[first])  # blank lines may come before the first record
            raise self._at_line(self._records.faults[first], line)
        self._next = min(first + max_records, self._good_until(first))
        return self._chunk(first, self._next)

    def close(self) -> None:
        """Closes the file; ``read`` then returns None. May be called twice."""
        self._base = self.position
        self._take(NO_RECORDS)
        self._stop()

    # --- handing out --------------------------------------------------------------------------------------------

    def _take(self, records: Records) -> None:
        self._records = records
        self._next = 0
        self._faulty = sorted(records.faults)

    def _good_until(self, index: int) -> int:
        nth = bisect_left(self._faulty, index)
        return self._faulty[nth] if nth < len(self._faulty) else len(self._records)

    def _chunk(self, start: int, stop: int) -> Chunk:
        records = self._records
        positions = _Positions(self._base, records.ends, records.lines, records.line_breaks, start)
        lines = records.lines[start:stop]
        return Chunk(
            arrays=tuple([array[start:stop] for array in records.arrays]),
            matrix=None if records.matrix is None else records.matrix[start:stop],
            position=positions(0),
            lines=_shifted(lines, self._base.line),
            rows=None if records.rows is None else records.rows[start:stop],
            positions=positions,
            at_hand=len(records) - stop,
            is_last=stop == len(records) and not self._data and self._has_no_more,
        )

    @property
    def _positions(self) -> _Positions:
        records = self._records
        return _Positions(self._base, records.ends, records.lines, records.line_breaks)

    # --- reading on ---------------------------------------------------------------------------------------------

    def _advance(self) -> bool:
        """Parses the next records; False at the end of the file."""
        self._base = self.position
        self._take(NO_RECORDS)
        while not self._parse():
            if self._failure is not None:
                raise self._failed(self._failure)
            if self._ended:
                self._stop()
                return False
            self._extend()
        return True

    def _parse(self) -> bool:
        """Parses what is in the buffer; False when it holds no complete record."""
        if (self._header_due and not self._skip_header()) or not self._data:
            return False
        records = self._parser.parse(self._data, last=self._ended)
        if records.blank_bytes:
            self._drop(records.blank_bytes, records.line_breaks)
            return False
        if len(self._data) > self._max_record_bytes:
            records = self._until_too_long(records)
        self._take(records)
        if not len(records):
            return False
        self._data = self._data[int(records.ends[-1]) :]
        return True

    def _until_too_long(self, records: Records) -> Records:
        """Returns the records before one that is too long. What is refused does not depend on how much was read at once."""
        ends = np.append(records.ends, len(self._data))
        too_long = np.flatnonzero(np.diff(ends, prepend=0) > self._max_record_bytes)
        if len(too_long) and too_long[0] == 0:
            raise self._passed_over()
        return records.first(too_long[0]) if len(too_long) and too_long[0] < len(records) else records

    def _skip_header(self) -> bool:
        header = self._parser.header(self._data, last=self._ended)
        if header is None:
            return False
        line = self._base.line
        self._header_due = False
        self._drop(header.end, header.line_breaks)
        if header.fault is not None:
            raise self._at_line(header.fault, line)
        return True

    def _drop(self, size: int, line_breaks: int, records: int = 0) -> None:
        self._data = self._data[size:]
        self._base = RecordPosition(
            self._base.offset + size, self._base.line + line_breaks, self._base.record + records
        )

    def _extend(self) -> None:
        self._read_on(self._data, self._base.offset)

    # --- what goes wrong ----------------------------------------------------------------------------------------

    def _failed(self, failure: HeadraceError) -> HeadraceError:
        """Returns the error of the file itself, which ends it; an incomplete record before it is no record."""
        line = self._base.line + self._data.count(b"\n")
        self._base = replace(self._base, ended=True)
        self._stop()
        return self._told(failure, line)

    def _passed_over(self) -> HeadraceError:
        """Returns the error of a record that is too long; reading goes on after the first line feed after the limit."""
        error = ResourceExhaustedError(
            f"a record is longer than the limit of {self._max_record_bytes} bytes; is a quote never closed, or the "
            "file no text?",
            origin=f"{self._path}:{self._base.line}",
        )
        self._header_due = False
        self._drop(self._max_record_bytes, self._data.count(b"\n", 0, self._max_record_bytes), records=1)
        while not (end := self._data.find(b"\n") + 1) and not (self._ended or self._failure):
            self._drop(len(self._data), 0)
            self._extend()
        self._drop(end or len(self._data), int(end > 0))
        return error

    def _stop(self) -> None:
        super()._stop()
        self._header_due = False


def _shifted(lines: range | Array, by: int) -> range | Array:
    if isinstance(lines, range):
        return range(lines.start + by, lines.stop + by)
    return lines + by
