"""Functions that take time, each in one way: they wait, compute beside Python's lock, or compute and hold it.

How long is an amount of work, measured once in each process, and not a look at the clock: beside other work it takes as much longer as real
work does.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from headrace.feed.feeding import Feed

__all__ = ["bursts", "computing", "copying", "large", "late", "reading", "sleeping", "spinning", "straggling"]

_DATA: Final = bytes(4 << 20)
_TRIES: Final = 5


@functools.cache
def _bytes_per_s() -> float:
    return len(_DATA) / min(_took_s(lambda: hashlib.sha1(_DATA, usedforsecurity=False)) for _ in range(_TRIES))


@functools.cache
def _turns_per_s() -> float:
    return 100_000 / min(_took_s(lambda: _spin(100_000)) for _ in range(_TRIES))


def _took_s(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _spin(turns: int) -> int:
    total = 0
    for number in range(turns):
        total ^= number
    return total


def sleep(seconds: float) -> None:
    """Waits, as for a disk, a network or a GPU."""
    time.sleep(seconds)


def compute(seconds: float) -> None:
    """Computes without Python's lock, as NumPy and codecs do."""
    left = max(2048, int(seconds * _bytes_per_s()))
    while left > 0:
        hashlib.sha1(memoryview(_DATA)[:left], usedforsecurity=False)
        left -= len(_DATA)


def spin(seconds: float) -> None:
    """Computes and holds Python's lock."""
    _spin(int(seconds * _turns_per_s()))


def sleeping(seconds: float) -> Callable[[Any], Any]:
    """Returns a function that waits."""

    def fetch(element: Any) -> Any:
        sleep(seconds)
        return element

    return fetch


def computing(seconds: float) -> Callable[[Any], Any]:
    """Returns a function that computes without the lock."""

    def decode(element: Any) -> Any:
        compute(seconds)
        return element

    return decode


def spinning(seconds: float) -> Callable[[Any], Any]:
    """Returns a function that holds the lock."""

    def parse(element: Any) -> Any:
        spin(seconds)
        return element

    return parse


def straggling(seconds: float, every: int, longest_s: float) -> Callable[[int], int]:
    """Returns a function that waits, for one of so many elements far longer."""

    def fetch(number: int) -> int:
        sleep(longest_s if number % every == every // 2 else seconds)
        return number

    return fetch


def large(nbytes: int, seconds: float) -> Callable[[Any], np.ndarray]:
    """Returns a function that waits, and gives an array of so many bytes."""

    def load(_: Any) -> np.ndarray:
        sleep(seconds)
        return np.zeros(nbytes, np.uint8)

    return load


def reading(count: int, work: Callable[[float], None], seconds: float) -> Callable[[], Iterator[int]]:
    """Returns a generator that works for each element."""

    def read() -> Iterator[int]:
        for number in range(count):
            work(seconds)
            yield number

    return read


def bursts(count: int, each: int, longest_s: float) -> Callable[[], Iterator[int]]:
    """Returns a generator that waits after so many elements, as at the end of a file."""

    def read() -> Iterator[int]:
        for number in range(count):
            if number % each == each - 1:
                sleep(longest_s)
            yield number

    return read


def late(work: Callable[[float], None], seconds: float) -> Callable[[Any], None]:
    """Returns a step that takes so long."""

    def step(_: Any) -> None:
        work(seconds)

    return step


def copying(seconds: float, buffer_size: int) -> Callable[[Any], Feed]:
    """Returns what feeds a device to which an element takes so long."""
    return lambda ds: Feed(ds.__headrace_plan__(), functools.partial(_Slow, seconds), buffer_size)


class _Slow:
    """The way to a device that is far away."""

    takes_time = True

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._copies_s: list[float] = []

    def begin(self, element: Any) -> Any:
        """Brings an element over."""
        start = time.perf_counter()
        sleep(self._seconds)
        self._copies_s.append(time.perf_counter() - start)
        return element

    def finish(self, begun: Any) -> Any:
        """Returns the element."""
        return begun

    def copies_s(self) -> list[float]:
        """Returns how long the latest took."""
        return [self._copies_s.pop(0) for _ in range(len(self._copies_s))]
