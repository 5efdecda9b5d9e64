"""Rows that are made a few at a time for filters and what comes after them, beside the reference."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, history, resumed, some_of

import headrace as hr
from headrace.blocks.columns import Columns
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import flatten
from headrace.physical.loops import taken_rows
from headrace.physical.loops.taken_rows import Taken
from headrace.physical.loops.text import Kind

COUNT = 3 * taken_rows._FEW + 5  # some whole pieces, and one that is not
ONE_BLOCK = Way(hr.Options(seed=7), block_sizes=(1000,))


def _filled_again() -> Any:
    array = np.zeros(2, np.int64)
    for number in range(COUNT):
        array[:] = number, -number
        yield {"x": array, "y": number}


X = np.arange(2 * COUNT).reshape(COUNT, 2)
SOURCES: dict[str, Callable[[], hr.Dataset]] = {
    "rows": lambda: hr.Dataset.from_tensor_slices(X),
    "pairs": lambda: hr.Dataset.from_tensor_slices((X, X[:, 0])),
    "dicts": lambda: hr.Dataset.from_tensor_slices({"x": X, "y": X[:, 0]}),
    "numbered dicts": lambda: hr.Dataset.from_tensor_slices({"x": X, "y": X[:, 0]}).enumerate(),
    "shuffled dicts": lambda: hr.Dataset.from_tensor_slices({"x": X, "y": X[:, 0]}).shuffle(COUNT, seed=3),
    "a generator": lambda: hr.Dataset.from_generator(_filled_again),
    "made by a function": lambda: hr.Dataset.range(COUNT).map(lambda x: {"x": np.full(2, x), "y": x}),
    "beside each other": lambda: hr.Dataset.zip(
        {"a": hr.Dataset.from_tensor_slices(X), "b": hr.Dataset.range(COUNT).map(lambda x: [x, np.full(1, x)])}
    ),
    "lists in an array": lambda: hr.Dataset.from_tensor_slices(np.array([[[n], None] for n in range(COUNT)], object)),
    "numbers": lambda: hr.Dataset.range(COUNT),
    "texts": lambda: hr.Dataset.from_tensor_slices([str(n) for n in range(COUNT)]),
}


def _number(element: tuple[Any, ...]) -> int:
    return sum(int(leaf) if not isinstance(leaf, np.ndarray) else int(leaf.sum()) for leaf in flatten(element)[0])


def _spoilt(element: tuple[Any, ...]) -> None:
    """Does to an element all that a filter can do to what it sees."""
    for part in element:
        if isinstance(part, dict):
            part.clear()
        elif isinstance(part, np.ndarray):
            assert not part.flags.writeable
            part.shape = (part.size, 1)


def _judged(*element: Any) -> bool:
    number = _number(element)
    _spoilt(element)
    if number % 11 == 4:
        raise ValueError("cannot judge")
    return number % 3 > 0


def _changed(*element: Any) -> Any:
    if _number(element) % 13 == 5:
        raise ValueError("cannot change")
    for leaf in flatten(element)[0]:
        if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
            np.add(leaf, 1, out=leaf)
    return element[0] if len(element) == 1 else element


CHAINS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "filter": lambda ds: ds.filter(_judged),
    "filter, map": lambda ds: ds.filter(_judged).map(_changed),
    "filter, filter": lambda ds: ds.filter(_judged).filter(lambda *x: _number(x) % 5 > 0),
    "filter, map, filter": lambda ds: ds.filter(_judged).map(_changed).filter(_judged),
    "filter, map, batch": lambda ds: ds.filter(_judged).map(_changed).batch(4),
}


@pytest.mark.parametrize("chain", sorted(CHAINS))
@pytest.mark.parametrize("source", sorted(SOURCES))
def test_elements_and_states_are_those_of_the_reference(source: str, chain: str) -> None:
    def build() -> hr.Dataset:
        return CHAINS[chain](SOURCES[source]())

    expected = elements_of(build(), REFERENCE, limit=COUNT)
    found, states = history(build(), ONE_BLOCK, limit=COUNT)
    assert_same(expected, found)
    for count, state in some_of(states, one_in=40, apart=source + chain):
        assert_same(expected[count:], resumed(build(), state, ONE_BLOCK, limit=COUNT - count))


PAYLOADS: dict[str, Payload] = {
    "columns": Columns(flatten({"x": 0})[1], [X]),
    "rows": Rows([{"x": x} for x in X]),
}


@pytest.mark.parametrize("kinds", [("filter",), ("filter", "map")], ids=str)
@pytest.mark.parametrize("payload", sorted(PAYLOADS))
def test_few_rows_that_a_filter_sees_are_there_at_a_time(payload: str, kinds: tuple[Kind, ...]) -> None:
    taken = Taken.of(PAYLOADS[payload], kinds)
    seen = taken.seen or taken.rows
    arrays = [weakref.ref(row["x"]) for row in seen]
    assert [array for array in arrays if array() is not None] == []
    most = 0
    for number, row in enumerate(seen):
        arrays[number] = weakref.ref(row["x"])
        most = max(most, sum(array() is not None for array in arrays))
        del row
    assert most == taken_rows._FEW


@pytest.mark.parametrize("payload", sorted(PAYLOADS))
def test_rows_that_are_made_when_asked_for_are_a_sequence(payload: str) -> None:
    taken = Taken.of(PAYLOADS[payload], ("filter", "map"))
    for rows in (taken.rows, taken.seen):
        assert len(rows) == COUNT
        assert [row["x"].tolist() for row in rows] == X.tolist()
        assert rows[-1]["x"].tolist() == X[-1].tolist()
        assert [row["x"][0] for row in rows[2:300:70]] == X[2:300:70, 0].tolist()
    assert not taken.seen[0]["x"].flags.writeable
