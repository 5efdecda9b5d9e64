"""Everything that a reader tells, as plain values that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np

from headrace.errors import HeadraceError
from headrace.io.reader import RecordPosition, RecordReader

__all__ = ["bits", "everything_of", "steps_of"]

# More than any file of a test has to tell; a reader that raises for ever is found out by it.
LIMIT = 5_000


def bits(value: Any) -> Any:
    """A value with which nothing but the same value is equal: NaN with NaN, 0.0 not with -0.0, int32 not with int64."""
    return (value.dtype.str, value.tobytes()) if isinstance(value, np.generic) else (type(value), value)


def everything_of(reader: RecordReader, sizes: Iterable[int] = ()) -> list[tuple[Any, ...]]:
    """For each record its place, line and values, and for each error its place, class and message."""
    told: list[tuple[Any, ...]] = []
    for step in chain.from_iterable(map(_told, repeat(reader), chain(sizes, repeat(64)))):
        if step is None:
            reader.close()
            return told
        told.append(step)
        assert len(told) < LIMIT, "the reader does not come to an end"
    raise AssertionError("sizes are endless")


def _told(reader: RecordReader, size: int) -> Iterator[tuple[Any, ...] | None]:
    position = reader.position
    try:
        chunk = reader.read(size)
    except HeadraceError as error:
        yield position, type(error), str(error)
        return
    if chunk is None:
        assert reader.read(size) is None
        yield None
        return
    assert 1 <= len(chunk) <= size
    # What is no record, a header or blank lines, is passed over with the record behind it.
    assert position.record == chunk.position.record
    assert position.offset <= chunk.position.offset
    rows = list(zip(*chunk.columns, strict=True)) if chunk.rows is None else [(row,) for row in chunk.rows]
    assert len(rows) == len(chunk)
    for index, (line, row) in enumerate(zip(chunk.lines, rows, strict=True)):
        # Only the first record of a run has a place of its own.
        where: RecordPosition | None = chunk.position if index == 0 else None
        yield where, int(line), [bits(value) for value in row]


def steps_of(reader: RecordReader) -> list[tuple[RecordPosition, str]]:
    """Each record and each error by itself, and the place before it: who goes on there is told the same from then on."""
    told: list[tuple[RecordPosition, str]] = []
    while len(told) < LIMIT:
        position = reader.position
        try:
            chunk = reader.read(1)
        except HeadraceError as error:
            told.append((position, f"{type(error).__name__}: {error}"))
            continue
        if chunk is None:
            reader.close()
            return told
        row = chunk.columns if chunk.rows is None else chunk.rows
        told.append((position, f"{list(chunk.lines)} {[np.asarray(column).tolist() for column in row]}"))
    raise AssertionError("the reader does not come to an end")
