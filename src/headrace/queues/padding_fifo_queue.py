"""The queue whose elements may differ in size, and are padded when several are taken out as one."""

from __future__ import annotations

from headrace.clock import MONOTONIC, Clock
from headrace.errors import InvalidArgumentError
from headrace.queues.queue_base import QueueBase
from headrace.queues.typed_elements import DTypes, Names, Shapes, typed_elements

__all__ = ["PaddingFIFOQueue"]


class PaddingFIFOQueue(QueueBase):
    """A bounded queue, first in, first out, for arrays of a fixed rank and sizes that vary.

    ``dequeue_many`` pads at the end of each axis, with 0 or the empty string, to the largest of those it takes.

    Args:
        capacity: how many elements may be inside, at least 1.
        dtypes: the dtype of each component.
        shapes: a list with the shape of each component; None stands for a size that varies.
        names: as for ``FIFOQueue``.
        name: how messages call the queue.
        capacity_bytes: as for ``FIFOQueue``.
        clock: as for ``FIFOQueue``.
        warn_after_s: as for ``FIFOQueue``.

    Raises:
        InvalidArgumentError: ``shapes`` is no list of one shape for each dtype, or as for ``FIFOQueue``.

    Example:
        >>> from headrace import queues
        >>> queue = queues.PaddingFIFOQueue(10, ["int64"], shapes=[(None,)])
        >>> queue.enqueue([[1, 2, 3]])
        >>> queue.enqueue([[4]])
        >>> queue.dequeue_many(2)
        array([[1, 2, 3],
               [4, 0, 0]])
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypes,
        shapes: Shapes,
        names: Names = None,
        *,
        name: str = "padding_fifo_queue",
        capacity_bytes: int | None = None,
        clock: Clock = MONOTONIC,
        warn_after_s: float | None = 5.0,
    ) -> None:
        if not isinstance(shapes, (list, tuple)) or any(size is None or isinstance(size, int) for size in shapes):
            raise InvalidArgumentError(f"{self._title(name)}: shapes must be a list with one shape for each dtype")
        super().__init__(
            elements=typed_elements(self._title(name), dtypes, shapes, names, pads=True),
            capacity=capacity,
            capacity_bytes=capacity_bytes,
            name=name,
            clock=clock,
            warn_after_s=warn_after_s,
        )
