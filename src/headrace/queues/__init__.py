"""Bounded queues: the one implementation of hand-off between threads, and TensorFlow's queues built on it."""

from __future__ import annotations

from headrace.queues.channel import EMPTY, Channel, Empty
from headrace.queues.snapshot import ChannelSnapshot
from headrace.queues.wait_times import WaitTimes

__all__ = ["EMPTY", "Channel", "ChannelSnapshot", "Empty", "WaitTimes"]
