"""The queue that hands elements out in the order in which they came."""

from __future__ import annotations

from headrace.clock import MONOTONIC, Clock
from headrace.queues.queue_base import QueueBase, elements_of
from headrace.queues.typed_elements import DTypes, Names, Shapes

__all__ = ["FIFOQueue"]


class FIFOQueue(QueueBase):
    """A bounded queue, first in, first out.

    Args:
        capacity: how many elements may be inside, at least 1.
        dtypes: the dtype of each component (of the only one, if it is no list), or None for elements of any structure.
        shapes: the shape of each component, where it is to be checked; ``dequeue_many`` of typed elements needs it.
        names: the name of each component; then elements are dicts.
        name: how messages call the queue.
        capacity_bytes: how many bytes may be inside, or None for no such bound.
        clock: what deadlines and waits are measured on.
        warn_after_s: seconds after which a waiting dequeue logs why it may be waiting; None for never.

    Raises:
        InvalidArgumentError: a bound is below 1, or shapes or names do not fit the dtypes.
        TypeError: ``shapes`` is neither a shape nor a list of shapes.

    Example:
        >>> from headrace import queues
        >>> queue = queues.FIFOQueue(10, ["int32", "float32"], shapes=[(), (2,)])
        >>> queue.enqueue((1, [1.0, 2.0]))
        >>> queue.enqueue_many(([2, 3], [[3.0, 4.0], [5.0, 6.0]]))
        >>> queue.close()
        >>> queue.dequeue_many(2)
        (array([1, 2], dtype=int32), array([[1., 2.],
               [3., 4.]], dtype=float32))
        >>> queue.dequeue()
        (np.int32(3), array([5., 6.], dtype=float32))
        >>> queue.dequeue()
        Traceback (most recent call last):
        headrace.errors.OutOfRangeError: FIFOQueue 'fifo_queue' is closed and has insufficient elements (requested 1, current size 0)
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypes = None,
        shapes: Shapes = None,
        names: Names = None,
        *,
        name: str = "fifo_queue",
        capacity_bytes: int | None = None,
        clock: Clock = MONOTONIC,
        warn_after_s: float | None = 5.0,
    ) -> None:
        super().__init__(
            elements=elements_of(self._title(name), dtypes, shapes, names),
            capacity=capacity,
            capacity_bytes=capacity_bytes,
            name=name,
            clock=clock,
            warn_after_s=warn_after_s,
        )
