"""The naive way: rows are read and parsed inside the training loop, a number at a time.

It is what one writes first, and it is plain Python: ``csv`` for the rows, ``float`` for the numbers. As it looks at
every number, it also says best what is wrong with a file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headrace.cli.demo.csv_folder import CsvFolder
from headrace.errors import DataLossError, InvalidArgumentError

__all__ = ["naive_batches"]


def naive_batches(
    folder: CsvFolder, *, epochs: int, batch_size: int
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Yields batches of features (n × features) and labels (n × 1), in the order of the files; only the last may be smaller.

    Raises:
        InvalidArgumentError: a row has too few or too many columns, a word where a number belongs, or a label that is
            not between 0 and 1.
        DataLossError: a file is not UTF-8 text.
    """
    rows = (row for _ in range(epochs) for path in folder.paths for row in _rows_of(path, folder.features + 1))
    while batch := list(islice(rows, batch_size)):
        with np.errstate(over="ignore"):  # what float32 cannot hold is inf, as in the other ways
            numbers = np.array(batch, dtype=np.float32)
        yield numbers[:, :-1], numbers[:, -1:]


def _rows_of(path: Path, columns: int) -> Iterator[list[float]]:
    with path.open(encoding="utf-8", newline="") as file:
        try:
            for number, fields in enumerate(csv.reader(file), start=1):
                yield _parsed(fields, columns, f"{path}, row {number}")
        except UnicodeDecodeError as error:
            raise DataLossError("the file is not UTF-8 text", origin=str(path)) from error
        except csv.Error as error:
            raise DataLossError(f"the file is not CSV: {error}", origin=str(path)) from error


def _parsed(fields: list[str], columns: int, origin: str) -> list[float]:
    if len(fields) < columns:
        reason = f"there are {len(fields):,} columns, column {len(fields) + 1:,} is missing; {columns:,} are needed"
        raise InvalidArgumentError(reason, origin=origin)
    if len(fields) > columns:
        raise InvalidArgumentError(f"there are {len(fields):,} columns, but {columns:,} are needed", origin=origin)
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        raise _not_a_number(fields, origin) from None
    if not 0 <= numbers[-1] <= 1:  # as of NaN
        reason = f"the label is {fields[-1]}; it must be 0 or 1, or a probability between them"
        raise InvalidArgumentError(reason, origin=f"{origin}, column {columns:,}")
    return numbers


def _not_a_number(fields: list[str], origin: str) -> InvalidArgumentError:
    for column, field in enumerate(fields, start=1):
        try:
            float(field)
        except ValueError:
            return InvalidArgumentError(f"{field[:40]!r} is not a number", origin=f"{origin}, column {column:,}")
    raise AssertionError("some field was not a number a moment ago")
