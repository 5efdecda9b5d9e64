"""Random small plans, as functions make them of elements, of windows and of groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import Failing, Point, Step, add_one, fail_on, text, total

import headrace as hr

Source = Callable[[int], hr.Dataset]

SOURCES: dict[str, Source] = {
    "range": lambda n: hr.Dataset.range(n % 7),
    "range by steps": lambda n: hr.Dataset.range(n % 5, -3, -2, output_type=np.int32),
    "slices": lambda n: hr.Dataset.from_tensor_slices(np.arange(n % 6) + n),
    "slices of a list": lambda n: hr.Dataset.from_tensor_slices([n, n + 1, n % 3]),
    "rows": lambda n: hr.Dataset.from_tensor_slices(np.arange(2.0 * (n % 4)).reshape(-1, 2) + n),
    "a dict of slices": lambda n: hr.Dataset.from_tensor_slices({"b": np.arange(3), "a": np.full((3, n % 3), n)}),
    "a named tuple of slices": lambda n: hr.Dataset.from_tensor_slices(Point([n, 2], ["a", "b"])),
    "texts": lambda n: hr.Dataset.from_tensor_slices(["é" * (n % 3), "b", b"c"]),
    "one": lambda n: hr.Dataset.from_tensors((n, np.arange(n % 3))),
    "a generator": lambda n: hr.Dataset.from_generator(lambda: iter(range(n % 4))),
    "a generator of arrays": lambda n: hr.Dataset.from_generator(lambda: _filled_again(n % 4)),
    "a generator that fails": lambda n: hr.Dataset.from_generator(lambda: _failing(n % 4)),
    "a generator with a signature": lambda n: hr.Dataset.from_generator(
        lambda: iter([n, n + 1, 2.5, n][n % 3 :]), output_signature=hr.TensorSpec((), np.int32)
    ),
    "a generator of many": lambda n: hr.Dataset.from_generator(range, args=(10 * (n % 4),)),
    "a generator that says where it is": lambda n: hr.Dataset.from_generator(lambda: Counted(n % 4)),
    "the first of a generator": lambda n: hr.Dataset.from_generator(lambda: itertools.count(n)).take(n % 4),
    "the first that fit": lambda n: hr.Dataset.from_generator(
        lambda: itertools.cycle([n, 0.5, n + 1]), output_signature=hr.TensorSpec((), np.int32)
    ).take(n % 4),
    "without end": lambda n: hr.Dataset.counter(n).take(n % 4),
}


def _filled_again(count: int) -> Iterator[np.ndarray]:
    """Yields one array again and again, with other contents."""
    array = np.zeros(2, np.int64)
    for number in range(count):
        array += number
        yield array


def _failing(count: int) -> Iterator[int]:
    yield from range(count)
    raise Failing("no more")


class Counted:
    """An iterator that has a state of its own."""

    def __init__(self, count: int) -> None:
        self.at, self.count = 0, count

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if self.at == self.count:
            raise StopIteration
        self.at += 1
        return self.at

    def state_dict(self) -> dict[str, int]:
        """Says how many it gave."""
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Goes on there."""
        self.at = state["at"]


_COUNTS = range(-1, 5)
_SIZES = range(1, 5)


def _then(step: Callable[..., hr.Dataset], *arguments: Any) -> Step:
    return lambda ds: step(ds, *arguments)


# What is done to the elements of a small plan.
STEPS: dict[str, Step] = {
    "map": lambda ds: ds.map(add_one),
    **{text("map fail", m): _then(lambda ds, m: ds.map(fail_on(1, m)), m) for m in (2, 3, 5)},
    "map instead": lambda ds: ds.map(fail_on(1, 3), on_error=lambda _: -1),
    "map skip": lambda ds: ds.map(fail_on(1, 3), on_error="skip"),
    **{text("filter", m): _then(lambda ds, m: ds.filter(lambda *x: total(x) % m == 1), m) for m in (2, 3)},
    "filter fail": lambda ds: ds.filter(lambda *x: total(x) % 3 != 0 or None),
    "filter fail map": lambda ds: ds.filter(lambda *x: total(x) % 3 > 0 or (total(x) % 2 and None)).map(add_one),
    "enumerate": lambda ds: ds.enumerate(3),
    **{text("take", n): _then(lambda ds, n: ds.take(n), n) for n in _COUNTS},
    **{text("skip", n): _then(lambda ds, n: ds.skip(n), n) for n in _COUNTS},
    **{text("batch", n, d): _then(lambda ds, n, d: ds.batch(n, d), n, d) for n in _SIZES for d in (False, True)},
    "padded_batch": lambda ds: ds.map(lambda *x: np.arange(total(x) % 3)).padded_batch(2),
    "ragged_batch": lambda ds: ds.map(lambda *x: np.arange(total(x) % 3)).ragged_batch(2),
    "unbatch": lambda ds: ds.batch(2).unbatch(),
    **{text("zip", n): _then(lambda ds, n: hr.Dataset.zip(ds, hr.Dataset.range(n)), n) for n in range(4)},
    "zip with itself": lambda ds: hr.Dataset.zip({"b": ds, "a": ds.skip(1)}),
    "repeat": lambda ds: ds.repeat(2),
    "shuffle": lambda ds: ds.shuffle(3),
    "shuffle seed": lambda ds: ds.shuffle(3, seed=5),
    "prefetch": lambda ds: ds.prefetch(1),
    "flat_map": lambda ds: ds.flat_map(lambda *x: hr.Dataset.range(total(x) % 3)),
    "window": lambda ds: ds.map(total).window(2).flat_map(lambda window: window.batch(2)),
}


def small_steps() -> st.SearchStrategy[tuple[str, Step]]:
    """A few operations in a row, and their name."""

    def in_a_row(steps: list[tuple[str, Step]]) -> tuple[str, Step]:
        def apply(ds: hr.Dataset) -> hr.Dataset:
            for _, step in steps:
                ds = step(ds)
            return ds

        return " ".join(name for name, _ in steps), apply

    return st.lists(st.sampled_from(sorted(STEPS.items(), key=lambda step: step[0])), max_size=3).map(in_a_row)


def openers() -> st.SearchStrategy[tuple[str, Callable[..., Any]]]:
    """Functions that make a small plan of an element of any structure; of few elements they make none, or fail."""

    def opener(parts: tuple[str, tuple[str, Step], int]) -> tuple[str, Callable[..., Any]]:
        source, (name, apply), fails = parts

        def opened(*element: Any) -> Any:
            number = total(element)
            if fails and number % 7 == fails:
                raise Failing("cannot open")
            return apply(SOURCES[source](number))

        return f"{source}, {name}" + (f", fails on {fails}" if fails else ""), opened

    return st.tuples(st.sampled_from(sorted(SOURCES)), small_steps(), st.sampled_from([0, 0, 2])).map(opener)
