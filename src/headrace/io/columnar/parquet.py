"""Parquet files: row groups, of which those are read that the filters cannot rule out, a few megabytes at a time.

What always holds. A row group is decoded from its start, as its encodings ask for, and in batches whose size depends
on the file alone: so a failure is at the same row in every reader. The numbers of rows are the file's.
"""

from __future__ import annotations

import bisect
import copy
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import DataLossError
from headrace.io.arrow_threads import fit_arrows_threads
from headrace.io.columnar.arrow_selection import BoundSelection, bound, check_piece, check_reaches, says_what_arrow_says
from headrace.io.columnar.arrow_source import native_file
from headrace.io.columnar.parquet_footer import bounds_of
from headrace.io.columnar.parquet_pruning import may_fit
from headrace.io.columnar.wanted import Selection, in_parts
from headrace.io.file_format import Piece
from headrace.io.files import version_of
from headrace.io.reader import Array

__all__ = ["ParquetGroups"]

# What is decoded at once: enough that a call for each column does not count (a quarter of it takes a third longer, four
# times as much gains nothing), little enough that two such batches are no memory to speak of.
_BATCH_BYTES: Final = 4 << 20
# So much is worth a task of its own, for which the file is opened once more: that takes a tenth of a millisecond.
_PART_BYTES: Final = 4 << 20
# Below this, handing columns to Arrow's threads costs more than they save.
_THREADED_BYTES: Final = 1 << 20
# A row group of more is not decoded at once by who reads ahead, and then most of it by who reads: with threads anyway.
_LARGE_BYTES: Final = 8 << 20
# How much of a column is read from the disk at once; without it, a column of a whole row group is.
_READ_BYTES: Final = 1 << 20
# What a text, or anything of no fixed width, is taken for beside its bytes: a Python object.
_OBJECT_BYTES: Final = 64
# So many stand for a number that is no count of rows; numbers of rows of many files can still be added.
_MOST_ROWS: Final = 1 << 48


class ParquetGroups:
    """One open file: a ``RowGroups``.

    Args:
        path: the file.
        selection: what is wanted of it.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is no Parquet file, or not a whole one.
        InvalidArgumentError: its columns are not those that are wanted.
    """

    says_where: ClassVar[bool] = True

    def __init__(self, path: str, selection: Selection) -> None:
        self.path = path
        self.at = 0
        self._is_remote = "://" in path
        with self._reading():
            self._source = native_file(path)
            self._version = None if self._is_remote else version_of(path)
        try:
            self._open(selection)
        except BaseException:
            self._source.close()
            raise

    def _open(self, selection: Selection) -> None:
        with self._reading():
            self._file = self._opened()
            self._metadata = metadata = self._file.metadata
            counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
            self.schema = self._file.schema_arrow
        if min(counts, default=0) < 0 or sum(counts) > _MOST_ROWS:
            raise DataLossError(f"{self.path}: its footer is corrupt: its row groups are to have {counts[:9]} rows")
        self.starts: list[int] = np.cumsum([0, *counts]).tolist()
        self.selection: BoundSelection = bound(selection, self.schema, self.path)
        self._chosen = self._groups_that_may_fit()

    def _opened(self, metadata: Any = None) -> Any:
        return pq.ParquetFile(
            self._source,
            metadata=metadata,
            pre_buffer=self._is_remote,
            buffer_size=0 if self._is_remote else _READ_BYTES,
            page_checksum_verification=True,
        )

    def another(self) -> ParquetGroups:
        """Returns the same file opened once more, for another thread; the footer is not read again."""
        other = copy.copy(self)
        other.open_again()
        return other

    def open_again(self) -> None:
        """Opens its file with a place of its own, and leaves the one that it shares with others to these."""
        with self._reading():
            self._source = native_file(self.path)
            try:
                self._file = self._opened(self._metadata)
            except BaseException:
                self._source.close()
                raise

    def _reading(self) -> Any:
        return says_what_arrow_says(self.path, "Parquet")

    def _groups_that_may_fit(self) -> list[int]:
        """Returns the row groups whose statistics do not exclude that a row passes the filters."""
        everything = list(range(len(self.starts) - 1))
        filters = self.selection.filters
        if filters is None:
            return everything
        with self._reading():
            bounds = bounds_of(self.path, self._source, self.selection.judged)
        if len(bounds) != len(everything):
            raise DataLossError(
                f"{self.path}: its footer is corrupt: it has {len(bounds)} row groups of {len(everything)}"
            )
        return [number for number in everything if may_fit(filters, self.schema, bounds[number])]

    def batches(
        self, row: int, piece: Piece | None = None, stop: int | None = None, *, beside_others: bool = False
    ) -> Iterator[tuple[pa.RecordBatch, range | Array]]:
        """Yields what is wanted of the rows from this one on, or of one group of them, or of the groups before row ``stop``."""
        check_reaches(self.path, len(self), row)
        if piece is not None:
            check_piece(self.path, piece, range(*self.starts[piece.number : piece.number + 2]))
        for number in self._chosen:
            if stop is not None and self.starts[number] >= stop:
                return
            if self.starts[number + 1] > row and (piece is None or piece.number == number):
                self.at = self.starts[number]
                yield from self._batches_of(number, row, beside_others=beside_others)

    def parts(self, row: int) -> list[int]:
        """Returns the rows from this one on at which a part of the file begins that is worth a task: groups of some megabytes in all."""
        numbers = [number for number in self._chosen if self.starts[number + 1] > row]
        with self._reading():
            sizes = [self._nbytes(number) for number in numbers]
        return [self.starts[numbers[first]] for first in in_parts(sizes, _PART_BYTES)]

    def _batches_of(
        self, number: int, row: int, *, beside_others: bool
    ) -> Iterator[tuple[pa.RecordBatch, range | Array]]:
        self._check_unchanged()
        rows, threads = self._batch_rows(number, beside_others=beside_others)
        first = self.starts[number]
        with self._reading():
            for batch in self._file.iter_batches(
                batch_size=rows, row_groups=[number], columns=self.selection.read, use_threads=threads
            ):
                self._check_dictionaries(batch)
                start, first = first, first + batch.num_rows
                if first > row:
                    dropped = max(0, row - start)
                    yield self.selection.wanted(batch.slice(dropped), start + dropped)
                del batch  # its memory is for the next one, if nobody else holds it
        if first != self.starts[number + 1]:
            raise DataLossError(f"{self.path}: row group {number} ends before row {self.starts[number + 1]}")

    def group(self, number: int) -> pa.RecordBatch:
        """Returns all rows of a row group, of the wanted columns."""
        self._check_unchanged()
        with self._reading():
            read = self._file.read_row_group(number, columns=self.selection.read, use_threads=fit_arrows_threads())
            table = read.select(self.selection.names)
            batches = table.combine_chunks().to_batches()
            for batch in batches:
                self._check_dictionaries(batch)
            return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)

    def _check_dictionaries(self, batch: pa.RecordBatch) -> None:
        """Refuses numbers that are beyond their dictionary, which pyarrow's decoder takes as it finds them."""
        for name in self.selection.dictionaries:
            if name in batch.schema.names:
                batch.column(name).validate(full=True)

    def _batch_rows(self, number: int, *, beside_others: bool) -> tuple[int, bool]:
        """Returns how many rows of a row group are decoded at once, and whether by several threads."""
        count = max(1, self.starts[number + 1] - self.starts[number])
        with self._reading():  # of the footer: names may be damaged
            nbytes = self._nbytes(number)
        each = max(1, nbytes // count)
        rows = min(count, max(1, _BATCH_BYTES // each))
        if len(self.selection.read) < 2 or rows * each < _THREADED_BYTES or (beside_others and nbytes < _LARGE_BYTES):
            return rows, False
        return rows, fit_arrows_threads()

    def _nbytes(self, number: int) -> int:
        """Returns about how many bytes the wanted columns of a row group have when they are decoded, and no fewer.

        The sizes of its columns are in the footer as well, but pyarrow aborts the process where they are corrupt.
        """
        group = self._metadata.row_group(number)
        widths = self.selection.widths
        nbytes: int = group.num_rows * sum(width or _OBJECT_BYTES for width in widths)
        return nbytes if all(widths) else nbytes + max(0, group.total_byte_size)

    def _check_unchanged(self) -> None:
        if self._is_changed():
            raise DataLossError(f"{self.path} was changed while it was read")

    def _is_changed(self) -> bool:
        return self._version is not None and version_of(self.path) != self._version

    def after(self, row: int) -> int | None:
        """Returns the first row of the group after that in which a row is; None after the last."""
        following = bisect.bisect_right(self.starts, row)
        return self.starts[following] if following < len(self.starts) - 1 and not self._is_changed() else None

    def __len__(self) -> int:
        return self.starts[-1]

    def close(self) -> None:
        """Closes the file."""
        self._file.close(force=True)
        self._source.close()
