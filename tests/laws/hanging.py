"""Pipelines with one function that does not come back from element 7, and how that is told."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import headrace as hr
from headrace.observe.stalls import Stall

__all__ = ["BEHIND", "LIMIT_S", "OPERATIONS", "Hang", "assert_told", "consumed"]

LIMIT_S = 30.0


class Hang(Protocol):
    """A function that does not come back from one number until it is let go."""

    def at(self, number: Any) -> Any: ...


class Numbered:
    """A source that is read by number."""

    def __init__(self, hang: Hang) -> None:
        self._hang = hang

    def __len__(self) -> int:
        return 12

    def __getitem__(self, number: int) -> int:
        return int(self._hang.at(number))


def generated(hang: Hang) -> hr.Dataset:
    def numbers() -> Iterator[int]:
        for number in range(12):
            yield hang.at(number)

    return hr.Dataset.from_generator(numbers)


RANGE = hr.Dataset.range(12)
NAMES = hr.Dataset.from_tensor_slices([f"{number}.jpg" for number in range(12)])
Make = Callable[[Hang], hr.Dataset]

# How each is told: its label begins with the first word; and its element.
OPERATIONS: dict[str, tuple[Make, str]] = {
    "map": (lambda hang: RANGE.map(hang.at), "element 7"),
    "map in workers": (lambda hang: RANGE.map(hang.at, num_parallel_calls=3), "element 7"),
    "map out of order": (lambda hang: RANGE.map(hang.at, num_parallel_calls=2, deterministic=False), "element 7"),
    "map of structures": (lambda hang: RANGE.map(lambda x: {"x": x}).map(lambda e: hang.at(e["x"])), "element 7"),
    "map of names": (lambda hang: NAMES.map(lambda x: hang.at(x[:-4])), "element 7 (7.jpg)"),
    "map of names and labels in workers": (
        lambda hang: NAMES.enumerate().map(lambda n, x: hang.at(x[:-4]), num_parallel_calls=2),
        "element 7 (7.jpg)",
    ),
    "map behind shuffle": (lambda hang: RANGE.shuffle(5, seed=1).map(hang.at), "element 7"),
    "map with on_error": (lambda hang: RANGE.map(lambda x: 1 // (x - 7), on_error=lambda _: hang.at(7)), "element 7"),
    "filter": (lambda hang: RANGE.filter(lambda x: hang.at(x) >= 0), "element 7"),
    "filter that keeps nothing": (lambda hang: RANGE.filter(lambda x: hang.at(x) < 0), "element 7"),
    "take_while": (lambda hang: RANGE.take_while(lambda x: hang.at(x) >= 0), "element 7"),
    "scan": (lambda hang: RANGE.scan(0, lambda total, x: (total, hang.at(x))), "element 7"),
    "flat_map": (lambda hang: RANGE.flat_map(lambda x: hr.Dataset.range(hang.at(x))), "element 7"),
    "interleave": (lambda hang: RANGE.interleave(lambda x: hr.Dataset.range(hang.at(x)), cycle_length=2), "element 7"),
    "interleave in workers": (
        lambda hang: RANGE.interleave(lambda x: hr.Dataset.range(hang.at(x)), cycle_length=2, num_parallel_calls=2),
        "element 7",
    ),
    "map inside flat_map": (
        lambda hang: RANGE.flat_map(lambda x: hr.Dataset.range(2).map(lambda y: hang.at(2 * x + y))),
        "element 1 of element 3",
    ),
    "map inside interleave in workers": (
        lambda hang: RANGE.interleave(
            lambda x: hr.Dataset.range(2).map(lambda y: hang.at(2 * x + y)), cycle_length=2, num_parallel_calls=2
        ),
        "element 1 of element 3",
    ),
    "group_by_window": (
        lambda hang: RANGE.group_by_window(lambda x: hang.at(x) % 2, lambda _, group: group.batch(4), 4),
        "element 7",
    ),
    "group_by_window with a slow reduce_func": (
        lambda hang: RANGE.group_by_window(lambda x: x // 4, lambda key, group: group.take(hang.at(key + 7)), 4),
        "elements 0 … 3",
    ),
    "rejection_resample": (lambda hang: RANGE.rejection_resample(lambda x: hang.at(x) * 0, [1.0, 0.0]), "element 7"),
    "from_generator": (generated, "element 7"),
    "source": (lambda hang: hr.Dataset.source(Numbered(hang)), "element 7"),
}
BEHIND: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "nothing": lambda ds: ds,
    "batch": lambda ds: ds.batch(2),
    "prefetch": lambda ds: ds.prefetch(2),
    "a parallel map": lambda ds: ds.map(lambda *x: x, num_parallel_calls=2),
    "a shuffle": lambda ds: ds.shuffle(20, seed=3),
}


@contextlib.contextmanager
def consumed(dataset: hr.Dataset) -> Iterator[tuple[hr.DatasetIterator, list[Any]]]:
    """An iterator that a thread reads to its end, and what it got."""
    got: list[Any] = []
    with iter(dataset) as iterator:
        reader = threading.Thread(target=lambda: got.extend(iterator), daemon=True)
        reader.start()
        yield iterator, got
        reader.join(LIMIT_S)
        assert not reader.is_alive()


def holding(iterator: hr.DatasetIterator, origin: str) -> Stall:
    """What is told of the element, which somebody holds; its thread may only just be coming there."""
    until_s = time.monotonic() + LIMIT_S
    while True:
        stalls = iterator.stalls()
        found = [stall for stall in stalls if stall.origin == origin and ", in at\n" in stall.stack]
        if found:
            return found[0]
        assert time.monotonic() < until_s, stalls


def assert_told(iterator: hr.DatasetIterator, operation: str) -> None:
    """Fails unless the function that hangs is told with its operation, its element and its line."""
    stall = holding(iterator, OPERATIONS[operation][1])
    assert stall.stage.startswith(operation.split(maxsplit=1)[0])
    assert stall.held_s >= 0
