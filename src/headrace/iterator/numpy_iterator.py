"""A run of a dataset with tf.data's names for its state, and NumPy's numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from headrace.blocks.payload import Payload
from headrace.elements.as_numpy import as_numpy_rows
from headrace.elements.structure import Element
from headrace.iterator.at_hand import payload_at_hand
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.ready_iterator import Ready
from headrace.plan.node import Node

__all__ = ["NumpyIterator", "ReadyNumpyIterator", "numpy_iterator_of"]


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
        return as_numpy_rows(payload.rows())

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


class ReadyNumpyIterator(Ready, NumpyIterator):
    """Becomes a ``NumpyIterator``."""

    becomes = NumpyIterator
