"""Arrow's own files (IPC): the file format, which is also Feather's second version, and the stream format.

Local files are mapped into memory: what is not compressed is used where it lies. What always holds: a record batch is
checked before its memory is looked at, because what a file says of its own lengths may be wrong.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import pyarrow as pa

from headrace.errors import DataLossError, InvalidArgumentError
from headrace.io.columnar.arrow_selection import BoundSelection, bound, check_piece, check_reaches, says_what_arrow_says
from headrace.io.columnar.arrow_source import native_file
from headrace.io.columnar.arrow_specs import dtype_of
from headrace.io.columnar.wanted import RowGroups, Selection
from headrace.io.file_format import Piece
from headrace.io.files import version_of
from headrace.io.reader import Array

__all__ = ["ArrowFileGroups", "ArrowStreamGroups", "open_arrow"]

_FILE_MARK: Final = b"ARROW1"
_FIRST_FEATHER: Final = b"FEA1"
# This many rows of a record batch are converted at once; those of text become Python objects then.
_ROWS_AT_ONCE: Final = 1 << 14


def open_arrow(path: str, selection: Selection) -> RowGroups:
    """Opens a file of either format.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is no Arrow file, or not a whole one.
        InvalidArgumentError: its columns are not those that are wanted, or it is a Feather file of the first version.
    """
    with says_what_arrow_says(path, "Arrow"):
        source = native_file(path, mapped=True)
        try:
            mark = source.read(len(_FILE_MARK))
            if mark.startswith(_FIRST_FEATHER):
                raise InvalidArgumentError(f"{path} is a Feather file of version 1; write it anew with pyarrow.feather")
            source.seek(0)
            is_file = mark == _FILE_MARK
            return ArrowFileGroups(path, source, selection) if is_file else ArrowStreamGroups(path, source, selection)
        except BaseException:
            source.close()
            raise


class _Mapped:
    """What both formats have in common: a source, and whether it is still what it was."""

    def __init__(self, path: str, source: Any) -> None:
        self.path = path
        self.at = 0
        self._source = source
        self._version = None if "://" in path else version_of(path)
        self.selection: BoundSelection

    def _is_changed(self) -> bool:
        return self._version is not None and version_of(self.path) != self._version

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        batch.validate(full=True)
        return batch

    def _check_unchanged(self) -> None:
        # Where a mapped file was made shorter, there is no memory behind it any more.
        if self._is_changed():
            raise DataLossError(f"{self.path} was changed while it was read")

    def _cut(self, batch: pa.RecordBatch, first: int, row: int) -> Iterator[tuple[pa.RecordBatch, range | Array]]:
        """Yields the rows of a batch from ``row`` on that are wanted, some thousands at a time."""
        for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, batch.num_rows)
            begin = max(start, row - first)
            if begin < stop:
                self._check_unchanged()
                yield self.selection.wanted(batch.slice(begin, stop - begin), first + begin)

    def parts(self, row: int) -> list[int]:
        """Returns one part: what is not compressed is used where it lies, and Arrow's threads share the columns of what is."""
        return [row]

    def another(self) -> RowGroups:
        raise NotImplementedError  # it has one part

    def close(self) -> None:
        """Closes the file; arrays that lie in it stay."""
        self._source.close()


class ArrowFileGroups(_Mapped):
    """One open file of the file format: a ``RowGroups``, whose groups are its record batches."""

    says_where: ClassVar[bool] = True

    def __init__(self, path: str, source: Any, selection: Selection) -> None:
        super().__init__(path, source)
        self.schema = pa.ipc.open_file(source).schema
        self.selection = bound(selection, self.schema, path)
        self._reader = self._opened(self.selection.read)
        self._known_starts = [0]  # of the record batches that were counted, and of the next one

    def _opened(self, columns: list[str]) -> Any:
        """Returns a reader that reads, and decompresses, these columns alone."""
        fields = sorted(self.schema.get_field_index(name) for name in columns)
        self._source.seek(0)
        return pa.ipc.open_file(self._source, options=pa.ipc.IpcReadOptions(included_fields=fields))

    @property
    def starts(self) -> list[int]:
        """The row at which each record batch begins, and the number of all rows; found by the narrowest column.

        Raises:
            DataLossError: a record batch does not say how many it has.
        """
        while len(self._known_starts) <= self._reader.num_record_batches:
            self._count_one()
        return self._known_starts

    def _starts_until(self, row: int) -> list[int]:
        """Returns the first of these, up to one that is not before this row, whatever is wrong with what is after it."""
        while self._known_starts[-1] < row and len(self._known_starts) <= self._reader.num_record_batches:
            self._count_one()
        return self._known_starts

    def _count_one(self) -> None:
        number = len(self._known_starts) - 1
        with says_what_arrow_says(self.path, "Arrow"):
            try:
                batch = self._narrowest.get_batch(number)
            except (pa.ArrowException, OSError, MemoryError):  # of a column that nobody may have asked for
                batch = self._reader.get_batch(number)
        self._known_starts.append(self._known_starts[-1] + batch.num_rows)

    @functools.cached_property
    def _narrowest(self) -> Any:
        """A reader of one column, which says sooner than others how many rows a record batch has."""
        return self._opened([min(self.schema.names, key=lambda name: _is_wide(self.schema.field(name).type))])

    def batches(
        self, row: int, piece: Piece | None = None, stop: int | None = None, *, beside_others: bool = False
    ) -> Iterator[tuple[pa.RecordBatch, range | Array]]:
        """Yields what is wanted of the rows from this one on, or of one record batch of them."""
        assert stop is None  # it has one part
        if piece is not None:
            yield from self._piece(row, piece)
            return
        number = first = 0
        if row:  # to count the rows, every record batch before it is opened
            starts = self._starts_until(row)
            check_reaches(self.path, starts[-1], row)
            number = bisect.bisect_right(starts, row) - 1
            first = starts[number]
        for index in range(number, self._reader.num_record_batches):
            self.at = first
            batch = self._batch(index)
            yield from self._cut(batch, first, row)
            first += batch.num_rows

    def _piece(self, row: int, piece: Piece) -> Iterator[tuple[pa.RecordBatch, range | Array]]:
        self.at = piece.records.start
        is_there = piece.number < self._reader.num_record_batches
        batch = self._batch(piece.number) if is_there else None
        first = piece.records.start
        check_piece(self.path, piece, range(0) if batch is None else range(first, first + batch.num_rows))
        yield from self._cut(batch, first, row)

    def _batch(self, number: int) -> pa.RecordBatch:
        self._check_unchanged()
        with says_what_arrow_says(self.path, "Arrow"):
            return self._checked(self._reader.get_batch(number))

    def group(self, number: int) -> pa.RecordBatch:
        """Returns all rows of a record batch, of the wanted columns."""
        return self._batch(number).select(self.selection.names)

    def after(self, row: int) -> int | None:
        """Returns the first row of the record batch after that in which a row is; None after the last."""
        if self._is_changed():
            return None
        try:
            starts = self._starts_until(row + 1)
        except DataLossError:  # where the next one begins, this one alone could tell
            return None
        following = bisect.bisect_right(starts, row)
        return starts[following] if following < self._reader.num_record_batches else None

    def __len__(self) -> int:
        return self.starts[-1]


class ArrowStreamGroups(_Mapped):
    """One open file of the stream format: a ``RowGroups``. Where a record batch begins, only those before it tell."""

    says_where: ClassVar[bool] = False

    def __init__(self, path: str, source: Any, selection: Selection) -> None:
        super().__init__(path, source)
        self.schema = pa.ipc.open_stream(source).schema
        self.selection = bound(selection, self.schema, path)

    def batches(
        self, row: int, piece: Piece | None = None, stop: int | None = None, *, beside_others: bool = False
    ) -> Iterator[tuple[pa.RecordBatch, range | Array]]:
        """Yields what is wanted of the rows from this one on."""
        assert piece is None  # it does not say where one begins
        assert stop is None
        fields = sorted(self.schema.get_field_index(name) for name in self.selection.read)
        self._source.seek(0)
        self.at = first = 0
        with says_what_arrow_says(self.path, "an Arrow stream"):
            reader = pa.ipc.open_stream(self._source, options=pa.ipc.IpcReadOptions(included_fields=fields))
            while (batch := self._next(reader)) is not None:
                if first + batch.num_rows > row:
                    yield from self._cut(self._checked(batch), first, row)
                self.at = first = first + batch.num_rows
        check_reaches(self.path, first, row)

    def _next(self, reader: Any) -> pa.RecordBatch | None:
        self._check_unchanged()
        try:
            return reader.read_next_batch()
        except StopIteration:
            return None

    @property
    def starts(self) -> list[int]:
        """Only a reading of the whole file would tell.

        Raises:
            InvalidArgumentError: always.
        """
        raise InvalidArgumentError(
            f"{self.path} is a stream, which does not say where a row stands; write it anew with pyarrow.ipc.new_file"
        )

    def after(self, row: int) -> int | None:
        """Returns None: what follows a broken record batch cannot be found."""
        return None


def _is_wide(kind: pa.DataType) -> int:
    """Returns a measure of what a column costs to read."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 1 << 20 if dtype_of(kind) is not None else 1 << 30
