"""Which columns of a CSV record make up which component of an element.

A default value is one column and one scalar. A one-dimensional array of n defaults is n columns that come as one
array: so rows of 1,025 numbers are pairs of 1,024 features and a label, and nobody handles 1,025 scalars. That holds for
one column too, or a program that counts its columns would get another shape at 1. A list of one value is a scalar, as
TensorFlow's programs write it, and an empty array is a required field.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from headrace.elements.tensor_spec import TensorSpec
from headrace.frozen import frozen
from headrace.io.csv.record_format import Column, CsvFormat
from headrace.io.reader import Array
from headrace.known_as import known_as

__all__ = ["CsvComponents"]


@known_as("components of CSV")
@frozen
class CsvComponents:
    """The format of the records, and the components that their columns make up.

    Attributes:
        csv: how the fields become columns.
        spans: for each component how many columns it is, as one array; None is one column, as a scalar.
    """

    csv: CsvFormat
    spans: tuple[int | None, ...]

    @classmethod
    def of(cls, record_defaults: Any, **arguments: Any) -> CsvComponents:
        """Returns the components that ``record_defaults`` describes; the other arguments are those of ``CsvFormat``.

        What was made for equal arguments is used again: for records of many columns, making it takes as long as
        reading some dozens of them, and pipelines make it for each file or batch.

        Raises:
            InvalidArgumentError: when an argument does not fit.
        """
        try:
            return _kept(_Arguments(record_defaults, arguments))
        except (pickle.PicklingError, TypeError, AttributeError):  # no bytes to know them by
            return _made(record_defaults, arguments)

    def spec(self) -> tuple[TensorSpec, ...]:
        """Returns the shape and type of each component of one record."""
        columns = self.csv.columns  # of which a component of a thousand asks the first alone
        return tuple(
            TensorSpec(() if span is None else (span,), columns[first].dtype)
            for first, span in zip(self._firsts(), self.spans, strict=True)
        )

    def arrays(self, columns: Sequence[Array], matrix: Array | None) -> list[Array]:
        """Returns the components of some records, as arrays with the records along the first axis.

        Args:
            columns: the records' columns; not looked at where there is a matrix.
            matrix: the records as rows, where all columns are numbers of one dtype.
        """
        if not any(self.spans):
            return list(columns) if matrix is None else list(matrix.T)
        return [
            _component(columns, matrix, first, span) for first, span in zip(self._firsts(), self.spans, strict=True)
        ]

    def _firsts(self) -> Iterable[int]:
        """Returns the number of each component's first column."""
        return accumulate((span or 1 for span in self.spans[:-1]), initial=0)


def _component(columns: Sequence[Array], matrix: Array | None, first: int, span: int | None) -> Array:
    if span is None:
        return columns[first] if matrix is None else matrix[:, first]
    if matrix is not None:
        return matrix[:, first : first + span]
    return np.stack(columns[first : first + span], axis=-1)


class _Arguments:
    """Arguments that are equal when they would be written down alike."""

    __slots__ = ("key", "others", "record_defaults")

    def __init__(self, record_defaults: Any, others: dict[str, Any]) -> None:
        self.key = pickle.dumps((record_defaults, others))
        self.record_defaults = record_defaults
        self.others = others

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Arguments) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=32)
def _kept(arguments: _Arguments) -> CsvComponents:
    return _made(arguments.record_defaults, arguments.others)


def _made(record_defaults: Any, arguments: dict[str, Any]) -> CsvComponents:
    if isinstance(record_defaults, str | bytes) or not isinstance(record_defaults, Iterable):
        return CsvComponents(CsvFormat(record_defaults, **arguments), ())  # which says what is wrong with it
    columns: list[Any] = []
    spans: list[int | None] = []
    for default in record_defaults:
        spread = isinstance(default, np.ndarray) and default.ndim == 1 and len(default) > 0
        columns.extend(Column.each_of(default) if spread else [default])
        spans.append(len(default) if spread else None)
    return CsvComponents(CsvFormat(columns, **arguments), tuple(spans))
