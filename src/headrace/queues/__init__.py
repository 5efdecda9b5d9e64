"""Bounded queues: the one implementation of hand-off between threads, and TensorFlow's queues built on it."""

from __future__ import annotations

from headrace.queues.channel import EMPTY, Channel, Empty
from headrace.queues.fifo_queue import FIFOQueue
from headrace.queues.padding_fifo_queue import PaddingFIFOQueue
from headrace.queues.priority_queue import PriorityQueue
from headrace.queues.producers import Producer
from headrace.queues.queue_base import QueueBase
from headrace.queues.random_shuffle_queue import RandomShuffleQueue
from headrace.queues.snapshot import ChannelSnapshot
from headrace.queues.wait_times import WaitTimes

__all__ = [
    "EMPTY",
    "Channel",
    "ChannelSnapshot",
    "Empty",
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "Producer",
    "QueueBase",
    "RandomShuffleQueue",
    "WaitTimes",
]
