"""What one hand-off between threads costs: headrace's channel and queues beside queue.Queue and TensorFlow's FIFOQueue.

    python benchmarks/handoff.py                 where TensorFlow is not installed, its rows are left out
    python benchmarks/handoff.py --rounds 31

Candidates take turns, round by round, so that a slow moment of the machine meets all of them; a figure is the median of
the rounds, and a ratio the median of the ratios within a round. Two bounds are promised: a hand-off through a channel
costs at most 1.2 times one through queue.Queue, and through a FIFOQueue at most a fifth of TensorFlow's in eager mode.
"""

from __future__ import annotations

import argparse
import os
import platform
import queue
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from headrace.queues import Channel, FIFOQueue

Put = Callable[[Any], object]
Get = Callable[[], object]
Ends = tuple[Put, Get]


@dataclass(frozen=True, slots=True)
class Contest:
    """The same hand-offs by several means; ratios are to the first, which is not ours.

    Attributes:
        title: what is measured.
        candidates: for each name, what makes an empty queue and returns its two ends.
        measure: seconds for one hand-off, given the ends.
        bound: the most that our first candidate may cost, as a ratio to the first.
    """

    title: str
    candidates: dict[str, Callable[[], Ends]]
    measure: Callable[[Ends], float]
    bound: float | None = None


def one_thread(ends: Ends, item: Any = 1, count: int = 20_000) -> float:
    """Put and get in turn, in one thread: what the calls themselves cost."""
    put, get = ends
    begin_s = time.perf_counter()
    for _ in range(count):
        put(item)
        get()
    return (time.perf_counter() - begin_s) / count


def two_threads(ends: Ends, item: Any = 1, count: int = 20_000) -> float:
    """One thread puts and another gets, as fast as they can."""
    put, get = ends

    def produce() -> None:
        for _ in range(count):
            put(item)

    producer = threading.Thread(target=produce)
    begin_s = time.perf_counter()
    producer.start()
    for _ in range(count):
        get()
    producer.join()
    return (time.perf_counter() - begin_s) / count


def of_queue(capacity: int) -> Ends:
    """The standard library's queue."""
    plain: queue.Queue[Any] = queue.Queue(capacity)
    return plain.put, plain.get


def of_channel(capacity: int) -> Ends:
    """The engine's hand-off."""
    channel: Channel[Any] = Channel(capacity=capacity)
    return channel.put, channel.get


def of_fifo_queue(capacity: int, dtypes: Any = None, shapes: Any = None) -> Ends:
    """The user's queue."""
    fifo = FIFOQueue(capacity, dtypes, shapes)
    return fifo.enqueue, fifo.dequeue


def of_tensorflow(tf: Any, dtype: str, shape: tuple[int, ...]) -> Ends:
    """TensorFlow's queue, in eager mode."""
    theirs = tf.queue.FIFOQueue(5, dtype, shapes=[shape])
    return theirs.enqueue, theirs.dequeue


def standard_contests() -> list[Contest]:
    """Beside queue.Queue."""
    contests = []
    for title, capacity, measure in [
        ("put and get in one thread", 100, one_thread),
        ("two threads, capacity 100", 100, two_threads),
        ("two threads, capacity 5", 5, two_threads),
        ("two threads, capacity 1", 1, two_threads),
    ]:
        candidates: dict[str, Callable[[], Ends]] = {
            "queue.Queue": partial(of_queue, capacity),
            "Channel": partial(of_channel, capacity),
            "FIFOQueue": partial(of_fifo_queue, capacity),
        }
        contests.append(Contest(title, candidates, measure, bound=1.2))
    return contests


def tensorflow_contests() -> list[Contest]:
    """Beside TensorFlow's FIFOQueue in eager mode; none where TensorFlow is not installed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import tensorflow as tf
    except ImportError:
        return []
    batch = np.zeros((128, 1024), np.float32)
    contests = []
    for title, dtype, shape, item in [
        ("a number, in one thread", "int32", (), 1),
        ("a batch of 128 × 1,024 float32, in one thread", "float32", batch.shape, batch),
    ]:
        candidates: dict[str, Callable[[], Ends]] = {
            "tf.queue.FIFOQueue": partial(of_tensorflow, tf, dtype, shape),
            "FIFOQueue, same dtype and shape": partial(of_fifo_queue, 5, dtype, [shape]),
            "FIFOQueue, without dtypes": partial(of_fifo_queue, 5),
        }
        contests.append(Contest(title, candidates, partial(one_thread, item=item, count=500), bound=0.2))
    return contests


def run(contest: Contest, rounds: int) -> dict[str, list[float]]:
    """Seconds a hand-off, for each candidate and round; the first round warms up and is left out."""
    seconds: dict[str, list[float]] = {name: [] for name in contest.candidates}
    for number in range(rounds + 1):
        for name, make in contest.candidates.items():
            taken_s = contest.measure(make())
            if number:
                seconds[name].append(taken_s)
    return seconds


def show(contest: Contest, seconds: dict[str, list[float]]) -> bool:
    """Print one contest; whether its bound was kept."""
    print(f"\n{contest.title}")
    names = list(seconds)
    kept = True
    for name in names:
        ratio = statistics.median(ours / theirs for ours, theirs in zip(seconds[name], seconds[names[0]], strict=True))
        line = f"  {name:<32} {statistics.median(seconds[name]) * 1e6:9.2f} µs   {ratio:6.3f}×"
        if name == names[1] and contest.bound is not None:
            kept = ratio <= contest.bound
            line += f"   promised: at most {contest.bound}×: {'kept' if kept else 'NOT KEPT'}"
        print(line)
    return kept


def main() -> int:
    """Measure everything; 1 when a bound was not kept."""
    parser = argparse.ArgumentParser(description="What one hand-off between threads costs.")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores; medians of {rounds} rounds, a hand-off each")
    kept = [show(contest, run(contest, rounds)) for contest in standard_contests() + tensorflow_contests()]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
