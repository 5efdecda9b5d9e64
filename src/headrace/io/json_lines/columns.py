"""The fields of flat JSON objects as columns, a block of lines at once, by pyarrow.

What always holds: the answer is that of ``json_lines.values``, or None. pyarrow reads JSON that is not quite JSON, so
everything in which the two may differ is looked for first, cheaply, and left to the careful way: whatever is not one object a
line, text that is not UTF-8, deep nesting, numbers that Python reads otherwise. What pyarrow itself refuses is left to it, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headrace.elements.structure import object_array
from headrace.io.json_lines.fields import JsonField, JsonFields
from headrace.io.json_lines.objects import MAX_DEPTH
from headrace.io.json_lines.values import fits_float
from headrace.io.reader import Array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["columns_of_lines"]

# pyarrow takes Inf for a number, Python only Infinity, so both are left to Python; and what is not quite NaN.
_NOT_FINITE: Final = re.compile(rb"[:\[,][ \t]*(?:-?Inf|-NaN|NaN(?![ \t\r\n,}\]]))")
_SECOND_LETTERS: Final = np.frombuffer(b"na", np.uint8)
_LINE_FEED, _CARRIAGE_RETURN, _BRACKET, _BRACE, _CLOSING_BRACE = b"\n\r[{}"


def columns_of_lines(body: bytes, ends: Array, fields: JsonFields) -> list[Array] | None:
    """Returns the columns of the objects on these lines, an array for each field; None where the careful way is to be gone.

    Args:
        body: whole lines.
        ends: where each of them ends in it, line break included.
        fields: what is read.
    """
    if not all(map(_is_flat, fields)):
        return None
    text = np.frombuffer(body, np.uint8)
    if not _is_one_object_a_line(text, ends) or not _is_plain(body, text, ends):
        return None
    import pyarrow as pa

    try:
        table = _read(body, fields)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(ends):
        return None
    columns = []
    for field in fields:
        column = _column(table.column(field.path[0]).combine_chunks(), field)
        if column is None:
            return None
        columns.append(column)
    return columns


def _is_flat(field: JsonField) -> bool:
    """Returns whether a field is of a kind that is read here: a value, or a list of numbers, in no inner object."""
    if len(field.path) > 1 or field.dtype == np.uint64:
        return False
    return not field.shape or (len(field.shape) == 1 and not isinstance(field.dtype, type) and field.dtype.kind != "b")


# --- what pyarrow and Python read alike ------------------------------------------------------------------------------


def _is_one_object_a_line(text: Array, ends: Array) -> bool:
    """Returns whether each line begins with ``{`` and ends with ``}``.

    So many objects as lines are then one a line. For where an object does not end at the end of a line, the next one
    begins with a comma or a bracket that closes; and where it does, each line has at least one.
    """
    begins = np.append(0, ends[:-1])
    closes = ends - 1 - (text[ends - 1] == _LINE_FEED)
    closes -= text[closes] == _CARRIAGE_RETURN
    return bool((text[begins] == _BRACE).all() and (text[closes] == _CLOSING_BRACE).all())


def _is_plain(body: bytes, text: Array, ends: Array) -> bool:
    if b"\0" in body or (not body.isascii() and not _is_utf8(body)):
        return False
    return not _may_be_deep(text, ends) and not (_has_word(text) and _NOT_FINITE.search(body))


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _may_be_deep(text: Array, ends: Array) -> bool:
    """Returns whether some line has more brackets than may be nested."""
    opening = np.flatnonzero((text == _BRACKET) | (text == _BRACE))
    if len(opening) <= len(ends) + MAX_DEPTH - 1:  # each line has one
        return False
    return bool(np.diff(np.searchsorted(opening, ends), prepend=0).max() > MAX_DEPTH)


def _has_word(text: Array) -> bool:
    """Returns whether ``In`` or ``Na`` stands somewhere; four times as fast as to look for the words themselves."""
    at = np.flatnonzero((text[:-1] == ord("I")) | (text[:-1] == ord("N")))
    return bool(np.isin(text[at + 1], _SECOND_LETTERS).any())


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(body: bytes, fields: JsonFields) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    schema = pa.schema([(field.path[0], _type_of(field)) for field in fields])
    return pj.read_json(
        pa.BufferReader(body),
        # One piece, and one thread: what runs at once, the pipeline decides.
        read_options=pj.ReadOptions(use_threads=False, block_size=len(body) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="ignore"
        ),
    )


def _type_of(field: JsonField) -> pa.DataType:
    import pyarrow as pa

    if isinstance(field.dtype, type):
        return pa.string()
    wide = {"b": pa.bool_(), "f": pa.float64()}.get(field.dtype.kind, pa.int64())
    return pa.list_(wide) if field.shape else wide


# --- pyarrow's columns as ours ----------------------------------------------------------------------------------------


def _column(column: Any, field: JsonField) -> Array | None:
    """Returns the values of one field with defaults for what is missing; None where one does not fit."""
    if column.null_count and field.default is None:
        return None
    if field.shape:
        return _lists(column, field)
    if isinstance(field.dtype, type):
        texts: Array = column.to_numpy(zero_copy_only=False)
        if column.null_count:
            texts = texts.copy()
            texts[_nulls(column)] = field.default
        return object_array(texts.tolist())
    filled = column.fill_null(False if field.dtype.kind == "b" else 0) if column.null_count else column
    numbers = _narrowed(filled.to_numpy(zero_copy_only=False), field.dtype)
    if numbers is not None and column.null_count:
        numbers[_nulls(column)] = field.default
    return numbers


def _nulls(column: Any) -> Array:
    nulls: Array = column.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _narrowed(wide: Array, dtype: np.dtype[Any]) -> Array | None:
    """Returns the numbers in their own dtype, as an array that nobody else has; None where one does not fit."""
    if dtype.kind == "f":
        if not _are_pythons(wide, dtype):
            return None
        wide = np.where(np.isnan(wide), np.nan, wide)  # of all that are none, Python has this one
    if dtype.kind in "iu" and len(wide):
        info = np.iinfo(dtype)
        if wide.min() < info.min or wide.max() > info.max:
            return None
    return wide.astype(dtype)


def _are_pythons(wide: Array, dtype: np.dtype[Any]) -> bool:
    """Returns whether Python has the same floats: pyarrow takes -0 for a float, and a long whole number for infinity."""
    odd = np.isinf(wide) | (np.signbit(wide) & (wide == 0))
    return not odd.any() and fits_float(wide, dtype)


def _lists(column: Any, field: JsonField) -> Array | None:
    assert not isinstance(field.dtype, type)  # only lists of numbers come here
    items = column.flatten()  # of those lists that are there
    if items.null_count:
        return None
    numbers = _narrowed(items.to_numpy(zero_copy_only=False), field.dtype)
    if numbers is None:
        return None
    missing = _nulls(column)
    sizes = np.zeros(len(column), np.int64)
    sizes[~missing] = column.value_lengths().drop_null().to_numpy(zero_copy_only=False)
    if field.varies:
        return _of_several_lengths(numbers, sizes, missing, field)
    size = field.shape[0] or 0
    if (sizes[~missing] != size).any():
        return None
    stacked = np.empty((len(column), size), field.dtype)
    stacked[~missing] = numbers.reshape(np.count_nonzero(~missing), size)
    if missing.any():
        stacked[missing] = field.default
    return stacked


def _of_several_lengths(numbers: Array, sizes: Array, missing: Array, field: JsonField) -> Array:
    """Returns each list as an array of its own: who keeps one does not keep the block."""
    ends = np.cumsum(sizes)
    arrays = [
        field.default.copy() if absent else numbers[start:end].copy()
        for start, end, absent in zip((ends - sizes).tolist(), ends.tolist(), missing.tolist(), strict=True)
    ]
    return object_array(arrays)
