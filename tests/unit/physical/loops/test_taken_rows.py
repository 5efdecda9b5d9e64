"""Rows that are made a few at a time for filters and what comes after them, beside the reference."""

from __future__ import annotations

import itertools
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
    rows, next_seen = Taken.of(PAYLOADS[payload], kinds).read()
    arrays: list[Any] = []
    for row in rows:
        seen = row if len(kinds) == 1 else next_seen()
        assert not seen["x"].flags.writeable
        arrays.append(weakref.ref(seen["x"]))
        del row, seen
        assert sum(array() is not None for array in arrays) <= taken_rows._FEW
    assert len(arrays) == COUNT
    assert all(array() is None for array in arrays)


@pytest.mark.parametrize("kinds", [("filter",), ("filter", "map")], ids=str)
@pytest.mark.parametrize("payload", sorted(PAYLOADS))
def test_rows_that_are_made_when_asked_for_are_a_sequence(payload: str, kinds: tuple[Kind, ...]) -> None:
    rows = Taken.of(PAYLOADS[payload], kinds).rows
    assert len(rows) == COUNT
    assert [row["x"].tolist() for row in rows] == X.tolist()
    assert rows[-1]["x"].tolist() == X[-1].tolist()
    assert [row["x"][0] for row in rows[2:300:70]] == X[2:300:70, 0].tolist()
    assert [row["x"][0] for row in Taken.of(PAYLOADS[payload], kinds).read(200)[0]] == X[200:, 0].tolist()


@pytest.mark.parametrize("chain", ["filter", "filter, map"])
@pytest.mark.parametrize("fails_at", [(1,), (2,), (3,), (2, 3), (1, 2, 3, 4)], ids=str)
def test_where_there_is_no_memory_for_some_rows_one_element_fails_and_none_is_lost(
    chain: str, fails_at: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count(1)
    made = taken_rows._seen_of

    def seen_of(payload: Payload) -> list[Any]:
        if next(calls) in fails_at:
            raise MemoryError("no room")
        return made(payload)

    monkeypatch.setattr(taken_rows, "_seen_of", seen_of)
    dataset = hr.Dataset.from_tensor_slices(X).filter(lambda row: True)
    if chain == "filter, map":
        dataset = dataset.map(lambda row: row)
    found = elements_of(dataset, ONE_BLOCK, limit=2 * COUNT)
    failed = [place for place, element in enumerate(found) if isinstance(element, Exception)]
    assert 0 < len(failed) <= len(fails_at)
    assert len(found) == COUNT
    assert [row[0] // 2 for place, row in enumerate(found) if place not in failed] == [
        place for place in range(COUNT) if place not in failed
    ]
    for place in failed:
        assert f"element {place}: MemoryError" in str(found[place])
