"""CSV files as records: the format behind ``CsvDataset``, which parses blocks fast and knows the careful way as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.io.block_reader import NO_RECORDS, BlockReader, Header, Records
from headrace.io.csv.columns import Columns
from headrace.io.csv.fields import RawRecord, count_line_breaks, first_record, records_of_file
from headrace.io.csv.layout import RecordBounds, record_bounds
from headrace.io.csv.record_format import CsvFormat
from headrace.io.csv.table import columns_of_text
from headrace.io.csv.values import columns_of_rows, row_of_fields
from headrace.io.reader import RecordPosition
from headrace.io.stream_reader import MAX_RECORD_BYTES

__all__ = ["CsvParser", "CsvReader"]


class CsvReader(BlockReader):
    r"""Reads the records of one CSV file, as ``tf.data.experimental.CsvDataset`` does: a ``RecordReader``.

    Args:
        path: the file, local or with ``://``.
        fmt: its columns, and how fields are told apart.
        header: whether the first record is none, and is passed over.
        compression_type: how the file is compressed, one of ``compression.COMPRESSION_TYPES``; None is none.
        buffer_size: bytes to read at once, or None for a good size.
        position: where to begin.
        max_record_bytes: the longest record that is read.

    Raises:
        InvalidArgumentError: when an argument does not fit; from ``read``, for a record that does not.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.io.csv.record_format import CsvFormat
        >>> from headrace.io.csv.reader import CsvReader
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.csv")
        ...     _ = path.write_text("x,y\n1,2\n,4\n")
        ...     CsvReader(str(path), CsvFormat([0.0, []]), header=True).read(max_records=10).matrix
        array([[1., 2.],
               [0., 4.]], dtype=float32)
    """

    def __init__(
        self,
        path: str,
        fmt: CsvFormat,
        *,
        header: bool = False,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        position: RecordPosition | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(
            path,
            CsvParser(fmt, has_header=header),
            compression_type=compression_type,
            buffer_size=buffer_size,
            position=position,
            max_record_bytes=max_record_bytes,
        )

    def _at_line(self, error: HeadraceError, line: int) -> HeadraceError:
        told = super()._at_line(error, line)
        if line > 1 or self._parser.has_header or not isinstance(told, InvalidArgumentError):
            return told
        return told.with_reason(f"{told.reason}. If this line names the columns, say header=True")


class CsvParser:
    """A record is what stands between line breaks that are not inside quotes.

    Args:
        fmt: the columns, and how fields are told apart.
        has_header: whether the first record of a file is passed over.
        as_table: whether records are read as a table, as for ``columns_of_text``; nothing else depends on it.
    """

    def __init__(self, fmt: CsvFormat, *, has_header: bool = False, as_table: bool | None = None) -> None:
        self._fmt = fmt
        self._as_table = as_table
        self._has_header = has_header

    @property
    def has_header(self) -> bool:
        """Whether the first record of a file is passed over."""
        return self._has_header

    def header(self, data: bytes, *, last: bool) -> Header | None:
        """Returns the first record, whatever is in its fields."""
        if last and not data:
            return Header(0, 0, InvalidArgumentError("the file is empty, and should have a header"))
        found = first_record(data, self._fmt.field_delim, quotes=self._fmt.use_quote_delim, last=last) if data else None
        if found is None:
            return None
        fault = None if found.fault is None else InvalidArgumentError(f"the header is not CSV: {found.fault.reason}")
        return Header(found.end, count_line_breaks(data, 0, found.end), fault)

    def parse(self, data: bytes, *, last: bool) -> Records:
        """Returns the complete records of ``data``: fast, and carefully where that does not do."""
        bounds = record_bounds(data, self._fmt, last=last)
        if bounds is None:
            return self.parse_carefully(data, last=last)
        if not len(bounds):
            return NO_RECORDS
        columns = columns_of_text(data, bounds, self._fmt, as_table=self._as_table)
        faults = _faults(columns, lambda index: self._row(data, bounds, index))
        return Records(columns.arrays, columns.matrix, bounds.record_ends, bounds.lines, bounds.line_breaks, faults)

    def parse_carefully(self, data: bytes, *, last: bool) -> Records:
        """Returns the same, a field at a time: the reference, and what words the errors."""
        fmt = self._fmt
        records = list(records_of_file(data, fmt.field_delim, quotes=fmt.use_quote_delim, last=last))
        rows: list[list[Any] | None] = []
        faults: dict[int, HeadraceError] = {}
        for index, record in enumerate(records):
            try:
                rows.append(self._row_of(record))
            except InvalidArgumentError as error:
                rows.append(None)
                faults[index] = error.with_traceback(None)
        ends = [record.end for record in records]
        breaks = [count_line_breaks(data, start, end) for start, end in zip([0, *ends], ends, strict=False)]
        lines = np.cumsum([0, *breaks])
        return Records(*columns_of_rows(rows, fmt), np.array(ends, np.int64), lines[:-1], int(lines[-1]), faults)

    def _row(self, data: bytes, bounds: RecordBounds, index: int) -> list[Any]:
        start = int(bounds.record_ends[index - 1]) if index else 0
        text = data[start : int(bounds.record_ends[index])]
        found = next(records_of_file(text, self._fmt.field_delim, quotes=self._fmt.use_quote_delim, last=True))
        return self._row_of(found)

    def _row_of(self, record: RawRecord) -> list[Any]:
        if record.fault is not None:
            raise record.fault
        return row_of_fields(record.fields, self._fmt)


def _faults(columns: Columns, parse_row: Callable[[int], list[Any]]) -> dict[int, HeadraceError]:
    """Parses the rows that are left, carefully, into their places; what is wrong with those that cannot be."""
    faults: dict[int, HeadraceError] = {}
    for index in columns.unparsed.tolist():
        try:
            columns.put_row(index, parse_row(index))
        except InvalidArgumentError as error:
            faults[index] = error.with_traceback(None)
    return faults
