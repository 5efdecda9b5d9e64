"""Lists and objects inside results and elements of generators are in a loop that knows their form as where each is looked at by itself.

Lists become arrays, and objects that nobody knows are carried as they are.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import enum
import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import HeadraceError

PATHS = [pathlib.PurePosixPath("a"), pathlib.PurePosixPath("b")]

ITEMS: dict[str, Callable[[int], Any]] = {
    "ints": lambda i: [i, i + 1, i + 2],
    "floats": lambda i: [i / 2, 1.5],
    "mixed numbers": lambda i: [i, 1.5],
    "large": lambda i: [i, 2**63 + i],
    "too large": lambda i: [-1, 2**64],
    "bools": lambda i: [True, i % 2 == 0],
    "texts": lambda i: ["a", f"text {i}"],
    "bytes": lambda i: [b"a\0", b"b"],
    "text and number": lambda i: ["a", i],
    "none": lambda i: [None, i],
    "empty": lambda i: [],
    "nested": lambda i: [[i, 1], [2, 3]],
    "nested texts": lambda i: [["a", "b"], [f"{i}", "c"]],
    "ragged": lambda i: [[i, 1], [2]],
    "arrays": lambda i: [np.arange(3), np.arange(3) + i],
    "dicts": lambda i: [{"a": i}],
    "an array": lambda i: np.arange(3) + i,
    "texts in an array": lambda i: np.array(["a", f"{i}"], dtype=object),
    "a number": lambda i: i,
    "numpy's text": lambda i: np.str_(f"{i}"),
    "numpy's bytes": lambda i: np.bytes_(b"a\0b"),
    "numpy's texts": lambda i: np.array(["a", f"{i}"]),
    "numpy's nested bytes": lambda i: np.array([[b"a"], [b"bc"]]),
    "one text of numpy's": lambda i: np.array("a"),
    "of variable length": lambda i: np.array(["a", f"{i}"], np.dtypes.StringDType()),
    "an object": lambda i: PATHS[i % 2],
    "a date": lambda i: dt.date(2000, 1, 1 + i % 28),
    "a member": lambda i: Kind.A,
    "an iterator": lambda i: iter([i]),
    "a set": lambda i: {i},
    "no lists": lambda i: (i, i),
}


class Pair(NamedTuple):
    """A named tuple."""

    item: Any
    number: int


class Kind(enum.Enum):
    """An enum."""

    A = 1


@dataclasses.dataclass
class Record:
    """A dataclass."""

    item: Any
    index: int


WHOLE: dict[str, Callable[[int, Any], Any]] = {
    "dict": lambda i, item: {"id": i, "item": item},
    "tuple": lambda i, item: (i, item),
    "listed": lambda i, item: [i, item],
    "deep": lambda i, item: {"id": i, "inner": {"item": item, "pair": (item, i)}},
    "named": lambda i, item: Pair(item, i),
    "record": lambda i, item: {"record": Record(item, i)},
    "alone": lambda i, item: item,
}
# So many results come before it is known what to expect, and what others have of them.
FIRST = 40


class Results:
    """Makes results in the order that it is told, and spoils what it keeps of them."""

    def __init__(self, whole: str, kinds: list[str], keeps: str) -> None:
        self._whole, self._kinds, self._keeps = WHOLE[whole], kinds, keeps
        self._kept: list[Any] = []

    def __call__(self, index: int) -> Any:
        for kept in self._kept:
            self._spoil(kept)
        self._kept.clear()
        item = ITEMS[self._kinds[index]](index)
        result = self._whole(index, item)
        if self._keeps == "items":
            self._kept.append(item)
        elif self._keeps == "results":
            self._kept.append(result)
        return result

    def _spoil(self, kept: Any) -> None:
        if isinstance(kept, np.ndarray):
            kept[...] = 0
        elif isinstance(kept, dict):
            for part in kept.values():
                self._spoil(part)
            kept.clear()
        elif isinstance(kept, (list, tuple)):
            for part in kept:
                self._spoil(part)
            if isinstance(kept, list):
                kept.append("spoiled")
        elif isinstance(kept, Record):
            self._spoil(kept.item)
            kept.index = -1


def shown(value: Any) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def described(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, shown(value.tolist())
    if isinstance(value, dict):
        return [(key, described(part)) for key, part in value.items()]
    if isinstance(value, tuple):
        return type(value), [described(part) for part in value]
    return type(value), described(vars(value)) if isinstance(value, Record) else shown(value)


def came(dataset: hr.Dataset) -> list[Any]:
    """What a dataset gives, with failures in their places."""
    found = []
    iterator = iter(dataset)
    while True:
        try:
            found.append(described(copy.deepcopy(next(iterator))))
        except StopIteration:
            return found
        except HeadraceError as error:
            found.append((type(error), str(error)))


def given_as(dataset: hr.Dataset, executor: str) -> list[Any]:
    return came(dataset.with_options(hr.Options(executor=executor)))


@pytest.mark.parametrize("keeps", ["nothing", "items", "results"])
@pytest.mark.parametrize("whole", WHOLE)
@given(first=st.sampled_from(list(ITEMS)), rest=st.lists(st.sampled_from(list(ITEMS)), max_size=12))
def test_results_are_what_each_by_itself_is(whole: str, keeps: str, first: str, rest: list[str]) -> None:
    kinds = [first] * FIRST + rest

    def dataset() -> hr.Dataset:
        return hr.Dataset.range(len(kinds)).map(Results(whole, kinds, keeps))

    assert given_as(dataset(), "thread") == given_as(dataset(), "inline")


@pytest.mark.parametrize("whole", WHOLE)
@given(first=st.sampled_from(list(ITEMS)), rest=st.lists(st.sampled_from(list(ITEMS)), max_size=12))
def test_filters_behind_them_see_the_same(whole: str, first: str, rest: list[str]) -> None:
    kinds = [first] * FIRST + rest

    def seen(*parts: Any) -> bool:
        saw.append(described(parts))
        return len(saw) % 2 == 0

    def run(executor: str) -> tuple[list[Any], list[Any]]:
        saw.clear()
        dataset = hr.Dataset.range(len(kinds)).map(Results(whole, kinds, "nothing")).filter(seen)
        return given_as(dataset, executor), list(saw)

    saw: list[Any] = []
    assert run("thread") == run("inline")


@pytest.mark.parametrize("keeps", ["nothing", "items", "results"])
@pytest.mark.parametrize("whole", WHOLE)
@given(first=st.sampled_from(list(ITEMS)), rest=st.lists(st.sampled_from(list(ITEMS)), max_size=12))
def test_elements_of_generators_are_what_each_by_itself_is(whole: str, keeps: str, first: str, rest: list[str]) -> None:
    kinds = [first] * FIRST + rest

    def generated() -> Iterator[Any]:
        yield from map(Results(whole, kinds, keeps), range(len(kinds)))

    assert given_as(hr.Dataset.from_generator(generated), "thread") == given_as(
        hr.Dataset.from_generator(generated), "inline"
    )
