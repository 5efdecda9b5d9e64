"""Which row groups cannot have a row that passes the filters, by the least and the largest values of their columns.

What always holds: where it is not certain, a row group is read; every row is judged by pyarrow afterwards.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.io.columnar.parquet_footer import Bounds
from headrace.io.columnar.wanted import Filters

__all__ = ["may_fit"]

# How values lie in bounds, by the type of a column and that which it is written as (INT32 1, INT64 2, FLOAT 4, DOUBLE 5,
# BYTE_ARRAY 6).
_INT32, _INT64, _FLOAT, _DOUBLE, _BYTES = 1, 2, 4, 5, 6
_NUMBERS: Final[Mapping[tuple[pa.DataType, int], str]] = {
    **{(kind, _INT32): "<i" for kind in (pa.int8(), pa.int16(), pa.int32())},
    **{(kind, _INT32): "<I" for kind in (pa.uint8(), pa.uint16(), pa.uint32())},
    (pa.int64(), _INT64): "<q",
    (pa.uint64(), _INT64): "<Q",
    (pa.float32(), _FLOAT): "<f",
    (pa.float64(), _DOUBLE): "<d",
    (pa.date32(), _INT32): "<i",
}
_EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
_TEXTS: Final = (pa.string(), pa.large_string(), pa.string_view())


def may_fit(filters: Filters, schema: pa.Schema, bounds: Mapping[str, Bounds]) -> bool:
    """Returns whether a row of a row group may pass the filters.

    Args:
        filters: alternatives of conditions that hold together.
        schema: the types of the columns.
        bounds: of the columns that have some.
    """
    return any(
        all(
            column not in bounds or _may_hold(operator, value, schema.field(column).type, bounds[column])
            for column, operator, value in group
        )
        for group in filters
    )


def _may_hold(operator: str, value: Any, kind: pa.DataType, bounds: Bounds) -> bool:
    if operator == "not in":
        return True
    if operator == "in":
        return any(_may_hold("=", each, kind, bounds) for each in value)
    try:
        low, high = _read(kind, bounds, bounds.lowest), _read(kind, bounds, bounds.highest)
        return any(_may_compare(operator, each, low, high) for each in _meant(value, kind))
    except (TypeError, LookupError, ValueError, OverflowError, struct.error):
        return True  # it is of no kind that is compared here


def _read(kind: pa.DataType, bounds: Bounds, written: bytes) -> Any:
    if kind in _TEXTS and bounds.physical == _BYTES:
        return written
    if pa.types.is_timestamp(kind) and bounds.physical == _INT64 and bounds.unit is not None:
        # In the unit that its writer chose, which the column's type need not have.
        return np.frombuffer(written, "<i8").view(f"M8[{bounds.unit}]")[0]
    (number,) = struct.unpack(_NUMBERS[kind, bounds.physical], written)
    return number


def _meant(value: Any, kind: pa.DataType) -> list[Any]:
    """Returns what a filter's value may be compared as."""
    if kind in _TEXTS:
        return [value.encode()] if isinstance(value, str) else [None]  # of UTF-8, bytes are in the order of the text
    if kind == pa.date32():
        is_day = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        return [value.toordinal() - _EPOCH_DAY if is_day else None]
    if pa.types.is_timestamp(kind):
        return [_instant(value, has_zone=kind.tz is not None)]
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(number, (int, float)):
        return [None]
    if not pa.types.is_floating(kind):
        return [number]
    # A column may be widened to the value, or the value be rounded to the column.
    with np.errstate(over="ignore"):
        return [number, float(number), float(np.float32(number))]


def _instant(value: Any, *, has_zone: bool) -> np.datetime64 | None:
    if not isinstance(value, dt.datetime) or (value.tzinfo is not None) != has_zone:
        return None
    return np.datetime64(value.astimezone(dt.UTC).replace(tzinfo=None) if has_zone else value, "us")


def _may_compare(operator: str, value: Any, low: Any, high: Any) -> bool:
    if isinstance(value, float) and isinstance(low, int):
        low, high = float(low), float(high)  # as pyarrow compares them
    if low != low or high != high:  # noqa: PLR0124 - NaN says nothing of the others
        return True
    match operator:
        case "=" | "==":
            return bool(low <= value <= high)
        case "<":
            return bool(low < value)
        case "<=":
            return bool(low <= value)
        case ">":
            return bool(high > value)
        case ">=":
            return bool(high >= value)
        case _:  # NaN is not equal to anything either
            return isinstance(value, float) or not low == high == value
