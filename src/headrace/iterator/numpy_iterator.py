"""A run of a dataset with tf.data's names for its state, and NumPy's numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Indexed, Payload
from headrace.elements.as_numpy import as_numpy_rows, numpy_rows_of
from headrace.elements.structure import Element
from headrace.iterator.at_hand import payload_at_hand
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.ready_iterator import Ready
from headrace.plan.node import Node

__all__ = ["NumpyIterator", "ReadyNumpyIterator", "numpy_iterator_of"]

# Of fewer elements one is no small part, and they may be large.
_MANY: Final = 16


def numpy_iterator_of(plan: Node) -> NumpyIterator:
    """Returns an iterator of a plan, for ``dataset.as_numpy_iterator()``: one that has its elements, where ``iter`` returns such a one."""
    payload = payload_at_hand(plan)
    return NumpyIterator(plan) if payload is None else ReadyNumpyIterator(plan, payload)


class NumpyIterator(DatasetIterator):
    """A run whose elements carry every number as a NumPy scalar or array; made by ``dataset.as_numpy_iterator()``.

    Example:
        >>> import headrace as hr
        >>> numbers = hr.Dataset.range(4).as_numpy_iterator()
        >>> next(numbers)
        np.int64(0)
        >>> state = numbers.save()
        >>> again = hr.Dataset.range(4).as_numpy_iterator()
        >>> again.restore(state)
        >>> list(again)
        [np.int64(1), np.int64(2), np.int64(3)]
    """

    @staticmethod
    def _rows_in(payload: Payload) -> Sequence[Element]:
        columns = _scalars_in(payload)
        return as_numpy_rows(payload.rows()) if columns is None else numpy_rows_of(columns.treedef, columns.arrays)

    def next(self) -> Element:
        """Returns the next element, as ``next(iterator)``.

        Raises:
            StopIteration: the epoch has ended.
        """
        return next(self)

    def save(self) -> dict[str, Any]:
        """Returns where it stands, by tf.data's name: what ``state_dict`` returns (in tf.data a tensor)."""
        return self.state_dict()

    def restore(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continues where the iterator that gave the state stood, by tf.data's name for ``load_state_dict``.

        Args:
            state: what ``save`` or ``state_dict`` returned.
            allow: what of the plan may have changed on purpose, as in ``load_state_dict``.

        Raises:
            InvalidArgumentError: as ``load_state_dict``.
        """
        self.load_state_dict(state, allow=allow)


def _scalars_in(payload: Payload) -> Columns | None:
    """Returns the elements as arrays, where these have them and all leaves are scalars; else None."""
    if isinstance(payload, Indexed):
        return _scalars_in(payload.columns()) if _has_many_scalars(payload) else None
    if not isinstance(payload, Columns) or payload.matrix is not None:
        return None
    return payload if all(map(_is_of_scalars, payload.arrays)) else None


def _has_many_scalars(payload: Indexed) -> bool:
    """Returns whether elements that have not been read are many, and scalars, by the first of them."""
    is_worth_it = len(payload) >= _MANY and payload.source.is_columnar
    return is_worth_it and _scalars_in(payload.subset(range(1)).columns()) is not None


def _is_of_scalars(column: np.ndarray) -> bool:
    """Returns whether what stands in an array is nothing that could be written to."""
    return column.ndim == 1 and column.dtype.names is None


class ReadyNumpyIterator(Ready, NumpyIterator):
    """Becomes a ``NumpyIterator``."""

    becomes = NumpyIterator
