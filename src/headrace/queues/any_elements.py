"""Elements of any structure: what a queue without dtypes holds. They are copied on their way in, as TensorFlow does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from headrace.elements.ownership import copied
from headrace.elements.rows_and_columns import columns_of, rows_of
from headrace.elements.structure import Element, flatten, nbytes_of, normalize, paths_of, unflatten
from headrace.errors import InvalidArgumentError

__all__ = ["AnyElements", "Elements", "Row", "check_lengths"]

Row: TypeAlias = Any  # an element as it is inside the queue


class Elements(Protocol):
    """How the elements of one queue go in and come out."""

    def pack(self, vals: Element) -> Row:
        """Returns the element as it is kept inside."""
        ...

    def pack_many(self, vals: Element) -> list[Row]:
        """Returns the elements that lie along the first axis of every component."""
        ...

    def unpack(self, row: Row) -> Element:
        """Returns the element as it is handed out."""
        ...

    def check_stackable(self) -> None:
        """Refuses to take many elements at once where it is known that they need not fit together."""

    def stack(self, rows: Sequence[Row]) -> Element:
        """Returns the elements as one, each component with a new first axis."""
        ...

    def nbytes(self, row: Row) -> int:
        """Returns about how many bytes an element holds."""
        ...


class AnyElements:
    """Elements of any structure."""

    __slots__ = ("_queue",)

    def __init__(self, queue: str) -> None:
        self._queue = queue

    def pack(self, vals: Element) -> Row:
        """Returns an equal element: who enqueued this one may go on writing to it."""
        return copied(vals)

    def pack_many(self, vals: Element) -> list[Row]:
        """Returns the elements along the first axis of the arrays in ``vals``; a list is an array."""
        leaves, treedef = flatten(normalize(vals))
        labels = [f"{self._queue}, component {path or 0}" for path in paths_of(treedef)]
        columns = [np.asarray(copied(leaf)) for leaf in leaves]
        check_lengths(columns, labels)
        return rows_of(treedef, columns)

    def unpack(self, row: Row) -> Element:
        """Returns the element itself."""
        return row

    def check_stackable(self) -> None:
        """Allows all: whether any elements fit together shows in ``stack``."""

    def stack(self, rows: Sequence[Row]) -> Element:
        """Returns the elements as one, each leaf an array with a new first axis."""
        if not rows:
            raise InvalidArgumentError(
                f"{self._queue}: without dtypes and shapes, nothing says what 0 elements look like"
            )
        treedef, columns = columns_of([normalize(row) for row in rows])
        return unflatten(treedef, columns)

    def nbytes(self, row: Row) -> int:
        """Returns about how many bytes the leaves hold."""
        return nbytes_of(row)


def check_lengths(columns: Sequence[Any], labels: Sequence[str]) -> None:
    """Refuses components that have no first axis, or whose first axes differ in length."""
    for column, label in zip(columns, labels, strict=True):
        if not np.ndim(column):
            hint = "one component is written as [values]" if len(labels) == 1 else "a scalar has none"
            raise InvalidArgumentError(f"{label}: enqueue_many takes elements along the first axis; {hint}")
        if len(column) != len(columns[0]):
            raise InvalidArgumentError(f"{label} has {len(column)} elements, but the first has {len(columns[0])}")
