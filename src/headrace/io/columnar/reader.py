"""Reads the rows of one file of columns, whatever its format: a ``RecordReader`` over ``RowGroups``.

A position is the number of a row in its file. A row group that cannot be read is one failure, told at the row up to which
it was read; reading goes on with the group after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.io.columnar.arrow_selection import says_what_arrow_says
from headrace.io.columnar.arrow_values import Values, values_of
from headrace.io.columnar.wanted import RowGroups, Selection
from headrace.io.file_format import Piece
from headrace.io.reader import Array, Chunk, RecordPosition

__all__ = ["ColumnarReader"]


class ColumnarReader:
    """Reads one file in order.

    Args:
        path: the file, local or with ``://``.
        open_groups: opens it.
        selection: which columns and rows are wanted, and what stands for a null.
        position: where to begin.
        piece: the row group that is read; None is all.

    Raises:
        InvalidArgumentError: from ``read``, for a row with a null that nothing stands for, and for a file that has not
            the columns that are wanted.
        NotFoundError: from ``read``, if there is no such file.
        DataLossError: from ``read``, for what is corrupt or truncated, or was changed while it was read.

    Example:
        >>> import pathlib, tempfile
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> from headrace.io.columnar.wanted import Selection
        >>> from headrace.io.columnar.reader import ColumnarReader
        >>> from headrace.io.columnar.parquet import ParquetGroups
        >>> path = str(pathlib.Path(tempfile.mkdtemp(), "a.parquet"))
        >>> pq.write_table(pa.table({"x": [1, 2, 3]}), path)
        >>> ColumnarReader(path, ParquetGroups, Selection()).read(max_records=2).columns
        (array([1, 2]),)
    """

    def __init__(
        self,
        path: str,
        open_groups: Callable[[str, Selection], RowGroups],
        selection: Selection,
        position: RecordPosition | None = None,
        piece: Piece | None = None,
    ) -> None:
        self._path = path
        self._open_groups = open_groups
        self._selection = selection
        self._row = position.record if position is not None else 0
        self._piece = piece
        if piece is not None:
            self._row = max(self._row, piece.records.start)
        self._ended = position.ended if position is not None else False
        self._failed = self._ended
        self._groups: RowGroups | None = None
        self._batches: Iterator[tuple[Any, Any]] = iter(())
        self._values: Values | None = None
        self._numbers: range | Array = range(0)
        self._at = 0  # the next row in what was converted

    @property
    def path(self) -> str:
        """The file, as the caller named it."""
        return self._path

    @property
    def position(self) -> RecordPosition:
        """The row that ``read`` looks at next."""
        return RecordPosition(record=self._row, ended=self._failed)

    def read(self, max_records: int) -> Chunk | None:
        """Returns the next 1 to ``max_records`` rows, or None at the end of the file."""
        if max_records < 1:
            raise InvalidArgumentError(f"max_records is at least 1, and not {max_records}")
        while self._values is None or self._at >= len(self._numbers):
            if self._ended or not self._loads():
                self.close()
                return None
        stop = self._good_until(self._values, self._at + max_records)
        if stop == self._at:
            raise self._fault(self._values)
        return self._chunk(self._values, stop)

    def _loads(self) -> bool:
        """Converts the next batch of rows; False at the end of the file."""
        try:
            if self._groups is None:
                self._groups = self._open_groups(self._path, self._selection)
                self._batches = self._groups.batches(self._row, self._piece)
            self._values = None  # its memory is for what is decoded now, if nobody else holds it
            batch, self._numbers = next(self._batches, (None, range(0)))
            if batch is None:
                return False
            with says_what_arrow_says(self._path, "columns"):
                self._values = values_of(batch, self._selection.record_defaults)
            self._at = 0
        except HeadraceError as error:
            raise self._passed_over(error) from error.__cause__
        return True

    def _passed_over(self, error: HeadraceError) -> HeadraceError:
        """Returns the error; what follows of the file is after the row group that caused it."""
        is_last = self._piece is not None
        following = None if self._groups is None or is_last else self._groups.after(self._row)
        origin = self._path if self._groups is None else f"{self._path}:{self._row}"
        self._values, self._numbers = None, range(0)
        if following is None or self._groups is None:
            self._ended = self._failed = True
            self.close()
        else:
            self._row = following
            self._batches = self._groups.batches(following)
        return error.located(stage=None, origin=origin)

    def _good_until(self, values: Values, most: int) -> int:
        """Returns the first row from the present one on that has a fault, and no more than ``most``."""
        stop = min(most, len(self._numbers))
        return min((row for row in values.faults if self._at <= row < stop), default=stop)

    def _fault(self, values: Values) -> HeadraceError:
        row, reason = int(self._numbers[self._at]), values.faults[self._at]
        self._at, self._row = self._at + 1, row + 1
        return InvalidArgumentError(reason, origin=f"{self._path}:{row}")

    def _chunk(self, values: Values, stop: int) -> Chunk:
        start, self._at = self._at, stop
        numbers = self._numbers[start:stop]
        self._row = int(numbers[-1]) + 1
        arrays = values.arrays(start, stop)
        return Chunk(
            arrays=() if arrays is None else tuple(arrays),
            matrix=None,
            position=RecordPosition(record=int(numbers[0])),
            lines=numbers,
            structure=values.structure,
            rows=values.rows(start, stop) if arrays is None else None,
            positions=functools.partial(_position_of, numbers),
            at_hand=len(self._numbers) - stop,
        )

    def close(self) -> None:
        """Closes the file; ``read`` then returns None. May be called twice."""
        self._ended = True
        self._batches, self._values, self._numbers = iter(()), None, range(0)
        if self._groups is not None:
            self._groups.close()
            self._groups = None


def _position_of(numbers: range | Array, index: int) -> RecordPosition:
    """Returns the position of one of these rows; after the last, that of the row that follows it in the file."""
    return RecordPosition(record=int(numbers[index]) if index < len(numbers) else int(numbers[-1]) + 1)
