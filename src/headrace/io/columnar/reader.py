"""Reads the rows of one file of columns, whatever its format: an ``AheadReader`` over ``RowGroups``.

A position is the number of a row in its file. A row group that cannot be read is one failure, told at the row up to which
it was read, or at its first one; reading goes on with the group after it.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.columnar.arrow_selection import says_what_arrow_says
from headrace.io.columnar.arrow_values import Leaf, Values, values_of
from headrace.io.columnar.wanted import RowGroups, Selection
from headrace.io.file_format import Piece
from headrace.io.reader import Array, Chunk, RecordPosition

__all__ = ["ColumnarReader"]

# So much is decoded ahead at most: of parts of a file all, unless one group alone has more.
_AHEAD_BYTES: Final = 8 << 20
# What an object counts for beside its place.
_OBJECT_BYTES: Final = 64


@frozen(eq=False)
class _Decoded:
    """Rows, and the number of each in the file."""

    values: Values
    numbers: range | Array

    def __len__(self) -> int:
        return len(self.numbers)


class ColumnarReader:
    """Reads one file in order.

    Args:
        path: the file, local or with ``://``.
        open_groups: opens it.
        selection: which columns and rows are wanted, and what stands for a null.
        position: where to begin.
        piece: the row group that is read; None is all.
        stop: the row at which another reader goes on, the first of a row group; None is the end of the file.

    Attributes:
        rest: who reads what is after the first part of the file, once that was loaded.

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
        stop: int | None = None,
    ) -> None:
        self._path = path
        self._open_groups = open_groups
        self._selection = selection
        self._row = position.record if position is not None else 0
        self._piece = piece
        if piece is not None:
            self._row = max(self._row, piece.records.start)
        self._stop = stop
        self._is_beside_others = False
        self._ended = position.ended if position is not None else False
        self._failed = self._ended
        self._groups: RowGroups | None = None
        self._batches: Iterator[tuple[Any, Any]] | None = None
        self._values: Values | None = None
        self._numbers: range | Array = range(0)
        self._at = 0  # the next row in what was converted
        self._ahead: deque[_Decoded | BaseException] = deque()  # what comes after it, as far as it is there
        self.rest: Sequence[ColumnarReader] = ()

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

    def load(self, *, alone: bool) -> int:
        """Opens the file and decodes what comes first, which ``read`` then gives; ``read`` also raises what fails.

        What is after the first part of the file is left to other readers, the ``rest``.

        Args:
            alone: whether Arrow's threads may help; where others load as well, they would only be in each other's way.

        Returns:
            about how many bytes it has decoded.
        """
        nbytes = 0
        self._is_beside_others = not alone
        try:
            self._leave_rest()
            while nbytes < _AHEAD_BYTES and not self._ended and (decoded := self._decoded()) is not None:
                self._ahead.append(decoded)
                nbytes += sum(map(_nbytes_of, decoded.values.leaves))
        except BaseException as error:  # noqa: BLE001 - it ends the run when its place comes, as in the thread that reads
            self._ahead.append(error)
        return nbytes

    def _leave_rest(self) -> None:
        if self._ended or self._piece is not None or self._stop is not None or self._batches is not None:
            return
        groups = self._open()
        try:
            starts = groups.parts(self._row)[1:]
        except HeadraceError:  # who reads them says what is wrong with them
            return
        if starts:
            self._stop = starts[0]
        self.rest = [self._other(groups, start, stop) for start, stop in zip(starts, [*starts[1:], None], strict=False)]

    def _other(self, groups: RowGroups, start: int, stop: int | None) -> ColumnarReader:
        position = RecordPosition(record=start)
        return ColumnarReader(self._path, lambda *_: groups.another(), self._selection, position, stop=stop)

    def _open(self) -> RowGroups:
        if self._groups is None:
            self._groups = self._open_groups(self._path, self._selection)
        return self._groups

    def _loads(self) -> bool:
        """Has the next batch of rows be the one that is given; False at the end of the file."""
        self._values = None  # its memory is for what is decoded now, if nobody else holds it
        try:
            decoded = self._ahead.popleft() if self._ahead else self._decoded()
            if isinstance(decoded, BaseException):
                raise decoded
        except HeadraceError as error:
            raise self._passed_over(error) from error.__cause__
        if decoded is None:
            return False
        self._values, self._numbers, self._at = decoded.values, decoded.numbers, 0
        return True

    def _decoded(self) -> _Decoded | None:
        """Converts the next batch of rows; None at the end."""
        if self._batches is None:
            self._batches = self._open().batches(
                self._row, self._piece, self._stop, beside_others=self._is_beside_others
            )
        batch, numbers = next(self._batches, (None, range(0)))
        if batch is None:
            return None
        with says_what_arrow_says(self._path, "columns"):
            return _Decoded(values_of(batch, self._selection.record_defaults), numbers)

    def _passed_over(self, error: HeadraceError) -> HeadraceError:
        """Returns the error; what follows of the file is after the row group that caused it."""
        if self._groups is not None:  # filters may have left out all rows from the present one to that group
            self._row = max(self._row, self._groups.at)
        is_last = self._piece is not None
        following = None if self._groups is None or is_last else self._groups.after(self._row)
        origin = self._path if self._groups is None else f"{self._path}:{self._row}"
        self._values, self._numbers = None, range(0)
        if following is None or self._groups is None:
            self._ended = self._failed = True
            self.close()
        else:
            self._row = following
            self._batches = None
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
            at_hand=len(self._numbers) - stop + sum(len(one) for one in self._ahead if isinstance(one, _Decoded)),
        )

    def close(self) -> None:
        """Closes the file; ``read`` then returns None. May be called twice."""
        self._ended = True
        self._batches, self._values, self._numbers = iter(()), None, range(0)
        self._ahead.clear()
        if self._groups is not None:
            self._groups.close()
            self._groups = None


def _nbytes_of(leaf: Leaf) -> int:
    if not isinstance(leaf, np.ndarray):
        return leaf.values.nbytes + leaf.offsets.nbytes
    return leaf.nbytes + (_OBJECT_BYTES * leaf.size if leaf.dtype == object else 0)


def _position_of(numbers: range | Array, index: int) -> RecordPosition:
    """Returns the position of one of these rows; after the last, that of the row that follows it in the file."""
    return RecordPosition(record=int(numbers[index]) if index < len(numbers) else int(numbers[-1]) + 1)
