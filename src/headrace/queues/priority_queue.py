"""The queue that hands out the element with the smallest priority first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headrace.clock import MONOTONIC, Clock
from headrace.elements.structure import Element
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.queues.any_elements import AnyElements, Elements, Row
from headrace.queues.order import PriorityOrder
from headrace.queues.queue_base import QueueBase
from headrace.queues.typed_elements import DTypes, Names, Shapes, list_of_shapes, typed_elements

__all__ = ["PriorityQueue"]


class PriorityQueue(QueueBase):
    """A bounded queue whose first component is a priority: the smallest is next; among equals, the first that came.

    Args:
        capacity: how many elements may be inside, at least 1.
        types: the dtypes of the components after the priority, or None for tuples that begin with an int.
        shapes: the shapes of the components after the priority, as for ``FIFOQueue``.
        names: the names of all components, the priority's first.
        name: how messages call the queue.
        capacity_bytes: as for ``FIFOQueue``.
        clock: as for ``FIFOQueue``.
        warn_after_s: as for ``FIFOQueue``.

    Raises:
        InvalidArgumentError: as for ``FIFOQueue``.
        TypeError: as for ``FIFOQueue``.

    Example:
        >>> from headrace import queues
        >>> queue = queues.PriorityQueue(10, types=[str], shapes=[()])
        >>> queue.enqueue((3, "later"))
        >>> queue.enqueue((1, "first"))
        >>> queue.dequeue()
        (1, 'first')
    """

    def __init__(
        self,
        capacity: int,
        types: DTypes = None,
        shapes: Shapes = None,
        names: Names = None,
        *,
        name: str = "priority_queue",
        capacity_bytes: int | None = None,
        clock: Clock = MONOTONIC,
        warn_after_s: float | None = 5.0,
    ) -> None:
        super().__init__(
            elements=_with_priority(self._title(name), types, shapes, names),
            capacity=capacity,
            capacity_bytes=capacity_bytes,
            name=name,
            clock=clock,
            warn_after_s=warn_after_s,
            order=PriorityOrder(),
        )

    def _arranged(self, rows: list[Row]) -> Sequence[Row]:
        # More than the capacity is taken in portions, each sorted; TensorFlow waits for ever there.
        return sorted(rows, key=_priority)


class _PrioritizedAny(AnyElements):
    """Elements of any structure after a priority."""

    __slots__ = ()

    def pack(self, vals: Element) -> Row:
        if not isinstance(vals, tuple) or not vals or not isinstance(vals[0], int):
            raise InvalidArgumentError(f"{self._queue}: an element is a tuple that begins with its priority, an int")
        return vals

    def pack_many(self, vals: Element) -> list[Row]:
        return [self.pack(row) for row in super().pack_many(vals)]


def _with_priority(queue: str, types: DTypes, shapes: Shapes, names: Names) -> Elements:
    if types is None and shapes is None and names is None:
        return _PrioritizedAny(queue)
    kinds = list(types) if isinstance(types, (list, tuple)) else [types]
    sizes = None if shapes is None else [(), *list_of_shapes(queue, shapes)]
    elements = typed_elements(queue, ["int64", *kinds], sizes, names)
    # A scalar, also without shapes.
    return replace(elements, specs=(TensorSpec((), np.dtype(np.int64)), *elements.specs[1:]))


def _priority(row: Any) -> int:
    return int(row[0])
