"""Fields to values: one record's, with an error that names the column; and rows of values to columns.

This is the careful path; ``csv_columns`` does the same for whole blocks of well-formed fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.io.csv.numbers import PARSERS
from headrace.io.csv.record_format import Column, CsvFormat
from headrace.io.reader import Array
from headrace.io.text.reader import not_utf8

__all__ = ["columns_of_rows", "row_of_fields"]

# As much of a bad field as a message shows.
_SHOWN_BYTES: Final = 40


def row_of_fields(fields: Sequence[bytes], fmt: CsvFormat, where: str = "") -> list[Any]:
    """Returns the values of one record, a Python object for each column that is read.

    Args:
        fields: all of its fields.
        fmt: which of them are read, and as what.
        where: what messages add to say which record it is.

    Raises:
        InvalidArgumentError: when there are too few or too many fields, a required one is empty, or one is not of its
            column's type.
    """
    fault = fmt.count_fault(len(fields), where)
    if fault is not None:
        raise fault
    na_value = fmt.na_value.encode()
    row = []
    for index, (position, column) in enumerate(zip(fmt.positions, fmt.columns, strict=True)):
        text = fields[position]
        if not text or text == na_value:
            row.append(_default(column, index, position, where))
        else:
            row.append(_value(text, column, position, where))
    return row


def columns_of_rows(rows: Sequence[Sequence[Any] | None], fmt: CsvFormat) -> tuple[tuple[Array, ...], Array | None]:
    """Returns the columns, and the matrix, that rows make, as in ``Chunk``. A row that is None is filled with anything."""
    filler = [_filler(column) for column in fmt.columns]
    filled = [filler if row is None else row for row in rows]
    with np.errstate(over="ignore"):  # what is too large for a float32 is infinite
        if fmt.uniform is not None:
            return (), np.array(filled, fmt.uniform).reshape(len(filled), len(filler))
        columns = zip(*filled, strict=True) if filled else [()] * len(filler)
        return tuple(_array(values, column) for values, column in zip(columns, fmt.columns, strict=True)), None


def _default(column: Column, index: int, position: int, where: str) -> Any:
    if column.default is None:
        raise InvalidArgumentError(
            f"Field {index} is required but missing{where}! Give column {position} a default, if it may be empty."
        )
    return column.default


def _value(text: bytes, column: Column, position: int, where: str) -> Any:
    if isinstance(column.dtype, type):
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            fault = not_utf8(error)
            raise InvalidArgumentError(f"column {position}{where}: {fault.reason}") from fault.__cause__
    value = PARSERS[column.dtype](text)
    if value is None:
        shown = text[:_SHOWN_BYTES].decode(errors="replace") + ("…" if len(text) > _SHOWN_BYTES else "")
        raise InvalidArgumentError(f"column {position}{where}: {shown!r} is not a valid {column.name}")
    return value


def _filler(column: Column) -> Any:
    return "" if isinstance(column.dtype, type) else 0


def _array(values: Sequence[Any], column: Column) -> Array:
    array = np.empty(len(values), object if isinstance(column.dtype, type) else column.dtype)
    array[:] = values
    return array
