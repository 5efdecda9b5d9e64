"""Decodes CSV records that are in memory already, as ``tf.io.decode_csv`` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import LEAF
from headrace.errors import InvalidArgumentError
from headrace.io.csv.components import CsvComponents
from headrace.io.csv.fields import split_record
from headrace.io.csv.layout import record_bounds
from headrace.io.csv.record_format import CsvFormat
from headrace.io.csv.table import columns_of_text
from headrace.io.csv.values import columns_of_rows, row_of_fields
from headrace.io.reader import Array

__all__ = ["decode_csv"]

# So much text is parsed at once: long enough that the cost of a call vanishes, short enough for a core's cache.
_PIECE_BYTES: Final = 1 << 20
# The size of float64 and int64, and of a reference to a str.
_PYTHON_BYTES: Final = 8

# The columns, or all of them as one array, as in ``Chunk``.
_ArraysOrMatrix = tuple[tuple[Array, ...], Array | None]


def decode_csv(
    records: str | bytes | Sequence[Any] | Array,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Iterable[int] | None = None,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> list[Any]:
    """Turns CSV records into columns.

    Args:
        records: one record, or an array or (nested) list of records, of any shape; str, or bytes in UTF-8. A record
            has no line break at its end.
        record_defaults: for each column that is read, its type and what an empty field means; see ``CsvFormat``. A
            Python float is float32, an int int32; an empty list or a dtype is a required field. An array of n defaults
            is n columns that come as one array, also where n is 1; a list of one value is a scalar column.
        field_delim: the one ASCII character between fields.
        use_quote_delim: whether ``"`` can enclose a field; if not, it is a character like any other.
        na_value: text that means an empty field, beside the empty text.
        select_cols: which columns are read, increasing, from 0; all when None.
        name: accepted for the sake of ported programs.

    Returns:
        For each column that is read, an array of the shape of ``records``, text as an object array of str; for one
        record, a scalar. Columns of numbers of one dtype are views of one array. n columns that come as one array
        have one more axis, of that length.

    Raises:
        InvalidArgumentError: when an argument does not fit; or for the first record that has too few or too many
            fields, lacks a required one, has one that is not of its column's type, or has quotes where none may be.

    Example:
        >>> import headrace as hr
        >>> hr.io.decode_csv("1.5,,x", [0.0, 7, ""])
        [np.float32(1.5), np.int32(7), 'x']
        >>> hr.io.decode_csv(["1,2", "3,4"], [0.0, 0.0])
        [array([1., 3.], dtype=float32), array([2., 4.], dtype=float32)]
        >>> import numpy as np
        >>> hr.io.decode_csv(["1,2,0", "3,4,1"], [np.zeros(2, np.float32), 0.0])[0]
        array([[1., 2.],
               [3., 4.]], dtype=float32)
        >>> hr.io.decode_csv("1,two", [0, 0])
        Traceback (most recent call last):
        ...
        headrace.errors.InvalidArgumentError: column 1 in record 0: 'two' is not a valid int32
    """
    components = CsvComponents.of(
        record_defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols if select_cols is None else tuple(select_cols),
    )
    if isinstance(records, str | bytes):
        arrays, matrix = _parsed([_encoded(records, 0)], components.csv, 0)
        if any(components.spans):
            return [component for array in components.arrays(arrays, matrix) for component in rows_of(LEAF, [array])]
        return _scalars(arrays, matrix)
    array = np.asarray(records, object)
    texts = [_encoded(record, index) for index, record in enumerate(array.ravel().tolist())]
    decoded = components.arrays(*_columns(texts, components.csv))
    if array.ndim == 1:
        return decoded
    return [column.reshape((*array.shape, *column.shape[1:])) for column in decoded]


def _encoded(record: Any, index: int) -> bytes:
    if isinstance(record, bytes):
        return record
    if not isinstance(record, str):
        raise InvalidArgumentError(f"a record is a str or bytes, and record {index} is a {type(record).__name__}")
    try:
        return record.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"record {index} is no text that has a form in UTF-8: {error}") from error


def _columns(texts: list[bytes], fmt: CsvFormat) -> _ArraysOrMatrix:
    pieces = []
    for start, stop in _bounds(texts):
        arrays, matrix = _parsed(texts[start:stop], fmt, start)
        pieces.append(arrays if matrix is None else (matrix,))
    joined = pieces[0] if len(pieces) == 1 else tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return (joined, None) if fmt.uniform is None else ((), joined[0])


def _bounds(texts: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yields where pieces of a good size begin and end; one of nothing, when there is nothing."""
    start = size = 0
    for index, text in enumerate(texts):
        if size >= _PIECE_BYTES:
            yield start, index
            start, size = index, 0
        size += len(text)
    yield start, len(texts)


def _parsed(texts: list[bytes], fmt: CsvFormat, first: int) -> _ArraysOrMatrix:
    parsed = _parsed_fast(texts, fmt, first)
    if parsed is None:
        parsed = columns_of_rows([_row(text, fmt, first + index) for index, text in enumerate(texts)], fmt)
    return parsed


def _parsed_fast(texts: list[bytes], fmt: CsvFormat, first: int) -> _ArraysOrMatrix | None:
    """Returns the columns of records that can be parsed as the lines of a file, None when they cannot.

    A record in a string is not a line in all: it may not end in a line break, and an empty one has no field.
    """
    lines = b"\n".join([*texts, b""])
    if not all(texts) or b"\r" in lines:
        return None
    bounds = record_bounds(lines, fmt, last=True) if texts else None
    if bounds is None or not len(bounds.breaks) == len(bounds) == len(texts):
        return None  # quotes that are not as they should be, or a line break inside a record
    columns = columns_of_text(lines, bounds, fmt)
    for index in columns.unparsed.tolist():
        columns.put_row(index, _row(texts[index], fmt, first + index))
    return columns.arrays, columns.matrix


def _row(text: bytes, fmt: CsvFormat, record: int) -> list[Any]:
    where = f" in record {record}"
    until = fmt.min_fields if fmt.select_cols else None
    fields = split_record(text, fmt.field_delim, quotes=fmt.use_quote_delim, until=until, where=where)
    return row_of_fields(fields, fmt, where)


def _scalars(arrays: tuple[Array, ...], matrix: Array | None) -> list[Any]:
    """Returns the one value of each column: a Python number where NumPy has Python's own precision, else NumPy's scalar."""
    if matrix is not None:
        row = matrix[0]
        return list(row) if row.itemsize < _PYTHON_BYTES else row.tolist()
    return [array.item() if array.itemsize == _PYTHON_BYTES else array[0] for array in arrays]
