"""The table of contents of a file of elements, looked through before anything in it is believed.

What always holds: what passes here names only bytes that the file has, and every count is the one that its bytes give. What
a leaf's own bytes say (where texts end, which shapes leaves have) is compared when they are read.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np

from headrace.io.elements.structure import check_structure

__all__ = ["check_table"]

# So many elements are numbered by 64 bits, with room to add.
_MOST: Final = 1 << 60
# zlib makes at most 1,032 bytes of one.
_LARGEST_RATIO: Final = 1032
_MOST_AXES: Final = 62
_DTYPE: Final = re.compile(r"[<>|=]?[a-zA-Z]\d*(\[[\w/]+\])?")
_TEXTS: Final = ("str", "bytes")


def check_table(table: Any, start: int, end: int) -> None:
    """Refuses a table that is not as it is written, for a file whose elements lie between two places.

    Raises:
        ValueError, TypeError, LookupError, OverflowError, DataLossError: it is not.
    """
    _need(type(table) is dict and type(table["meta"]) is dict, "it is no table")
    _need(table["compression"] in (None, "GZIP"), "it names an unknown compression")
    for where in table["origins"]:
        _check_origins(where, start, end)
    total = 0
    for segment in table["segments"]:
        _check_segment(segment, start, end, is_compressed=table["compression"] is not None)
        total += segment["count"]
    _need(total <= _MOST, "it has too many elements")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _size(value: Any) -> int:
    _need(type(value) is int and 0 <= value <= _MOST, f"{value!r:.50} is no size")
    size: int = value
    return size


def _check_place(where: dict[str, Any], start: int, end: int) -> None:
    _need(start <= _size(where["at"]) <= end - _size(where["nbytes"]), "it names bytes that the file does not have")
    _size(where["crc32"])


def _check_origins(where: dict[str, Any], start: int, end: int) -> None:
    _size(where["count"])
    if "prefix" in where:
        _need(type(where["prefix"]) is str, "it names origins by no text")
        _size(where["start"])
    else:
        _check_place(where, start, end)


def _check_segment(segment: dict[str, Any], start: int, end: int, *, is_compressed: bool) -> None:
    _check_place(segment, start, end)
    nbytes = segment["nbytes"]
    if is_compressed:
        whole = _size(segment["whole"])
        _need(whole <= nbytes * _LARGEST_RATIO, "it has more bytes than were compressed")
        nbytes = whole
    count, columns = _size(segment["count"]), segment["columns"]
    _need(check_structure(segment["structure"]) == len(columns), "its columns are not those of its structure")
    for column in columns:
        _check_column(column, count, nbytes)


def _check_column(column: dict[str, Any], count: int, nbytes: int) -> None:
    values = _array(column["values"], nbytes)
    size = column["values"]["count"]
    if "text" in column:
        _need(column["text"] in _TEXTS and values == np.uint8, "it has texts of an unknown kind")
        _need(_array(column["ends"], nbytes) == np.int64, "it does not say where its texts end")
        size = column["ends"]["count"] - 1
    _need(column.get("form") in (None, "numpy", "python", "array"), "it has leaves of an unknown form")
    if "shape" in column:
        shape = [_size(axis) for axis in column["shape"]]
        _need(count * math.prod(shape) == size, "its elements are not as many as it says")
    else:
        shape = [0 if axis is None else _size(axis) for axis in column["axes"]]
        _need(_array(column["shapes"], nbytes) == np.int64, "it does not say which shapes its elements have")
        _need(column["shapes"]["count"] == count * len(shape), "its elements are not as many as it says")
    # NumPy has no array whose axes but the empty ones would be too large.
    _need(len(shape) <= _MOST_AXES and math.prod(axis or 1 for axis in shape) <= _MOST, "its elements are too large")


def _array(where: dict[str, Any], nbytes: int) -> np.dtype[Any]:
    name = where["dtype"]
    _need(type(name) is str and _DTYPE.fullmatch(name) is not None, f"{name!r:.50} is no dtype")
    dtype: np.dtype[Any] = np.dtype(name)
    _need(not dtype.hasobject and dtype.itemsize > 0, f"{name!r:.50} has no bytes")
    end = _size(where["at"]) + _size(where["count"]) * dtype.itemsize
    _need(end <= nbytes, "it names bytes that the file does not have")
    return dtype
