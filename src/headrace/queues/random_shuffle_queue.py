"""The queue that hands elements out in random order."""

from __future__ import annotations

from headrace.clock import MONOTONIC, Clock
from headrace.errors import InvalidArgumentError
from headrace.queues.order import ShuffledOrder
from headrace.queues.queue_base import QueueBase, elements_of
from headrace.queues.typed_elements import DTypes, Names, Shapes

__all__ = ["RandomShuffleQueue"]


class RandomShuffleQueue(QueueBase):
    """A bounded queue from which any element inside is as likely to come next as any other.

    Args:
        capacity: how many elements may be inside, at least 1.
        min_after_dequeue: how many elements a dequeue leaves inside, so that they mix: it waits for more. This ends
            when the queue is closed, and gives way when ``capacity_bytes`` is full with fewer.
        dtypes: as for ``FIFOQueue``.
        shapes: as for ``FIFOQueue``.
        names: as for ``FIFOQueue``.
        seed: the same seed and the same calls give the same order; None gives another order each time. The order for
            a seed is not TensorFlow's.
        name: how messages call the queue.
        capacity_bytes: as for ``FIFOQueue``.
        clock: as for ``FIFOQueue``.
        warn_after_s: as for ``FIFOQueue``.

    Raises:
        InvalidArgumentError: ``min_after_dequeue`` is not in [0, capacity), or as for ``FIFOQueue``.
        TypeError: as for ``FIFOQueue``.

    Example:
        >>> from headrace import queues
        >>> queue = queues.RandomShuffleQueue(10, min_after_dequeue=2, dtypes="int64", seed=0)
        >>> queue.enqueue_many([[1, 2, 3, 4]])
        >>> queue.close()
        >>> sorted(queue.dequeue() for _ in range(4))
        [1, 2, 3, 4]
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: DTypes = None,
        shapes: Shapes = None,
        names: Names = None,
        seed: int | None = None,
        *,
        name: str = "random_shuffle_queue",
        capacity_bytes: int | None = None,
        clock: Clock = MONOTONIC,
        warn_after_s: float | None = 5.0,
    ) -> None:
        if not 0 <= min_after_dequeue < capacity:
            bounds = f"min_after_dequeue {min_after_dequeue} must be at least 0 and below the capacity {capacity}"
            raise InvalidArgumentError(f"{self._title(name)}: {bounds}")
        super().__init__(
            elements=elements_of(self._title(name), dtypes, shapes, names),
            capacity=capacity,
            capacity_bytes=capacity_bytes,
            name=name,
            clock=clock,
            warn_after_s=warn_after_s,
            order=ShuffledOrder(seed),
            held_back=min_after_dequeue,
        )
