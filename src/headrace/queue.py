"""TensorFlow's queues, ``tf.queue`` there: ``hr.queue``, the public face of ``headrace.queues``."""

from __future__ import annotations

from headrace.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]
