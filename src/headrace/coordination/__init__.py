"""Who stops whom, who hears of a failure, and the threads that fill queues."""

from __future__ import annotations

from headrace.coordination.coordinator import Coordinator
from headrace.coordination.latch import Latch
from headrace.coordination.looper_thread import LooperThread
from headrace.coordination.queue_runner import QueueRunner
from headrace.coordination.scope import (
    QUEUE_RUNNERS,
    add_queue_runner,
    get_collection,
    scope,
    start_queue_runners,
)

__all__ = [
    "QUEUE_RUNNERS",
    "Coordinator",
    "Latch",
    "LooperThread",
    "QueueRunner",
    "add_queue_runner",
    "get_collection",
    "scope",
    "start_queue_runners",
]
