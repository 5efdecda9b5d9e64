"""Law 3 for the keys of dicts, whose order equality does not see, and who takes ``batch.values()`` apart does.

An element keeps its keys in their order, and a batch has those of its first element, however elements came together on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import REFERENCE, Way, elements_of, history, resumed, ways

import headrace as hr
from headrace.elements.key_orders import orders_of_keys

COUNT = 70

Make = Callable[[int], Any]
# What an element is, in one order of keys and in the other.
ELEMENTS: dict[str, Callable[[int, Callable[[dict[Any, Any]], Any]], Any]] = {
    "numbers": lambda n, put: put({"b": n, "a": n / 2}),
    "arrays": lambda n, put: put({"b": np.full(2, n), "a": np.full(3, n, np.float32)}),
    "large arrays": lambda n, put: put({"b": np.full(3_000, n), "a": n}),
    "texts": lambda n, put: put({"b": f"text {n}", "a": n}),
    "within": lambda n, put: {"b": n, "a": put({"d": np.full(2, n), "c": n})},
    "in a tuple": lambda n, put: (n, put({"d": n, "c": (n, n)})),
    "None beside": lambda n, put: put({"b": None, "a": n}),
    "keys that are numbers": lambda n, put: put({7: n, 3: n + 1}),
}


def columns(*keys: str) -> hr.Dataset:
    """Rows of arrays, with the keys in this order."""
    return hr.Dataset.from_tensor_slices({key: np.arange(COUNT // 2) for key in keys})


SOURCES: dict[str, Callable[[Make], hr.Dataset]] = {
    "map": lambda make: hr.Dataset.range(COUNT).map(make),
    "maps": lambda make: hr.Dataset.range(COUNT).map(make).map(lambda *row: row if len(row) > 1 else row[0]),
    "map, parallel": lambda make: hr.Dataset.range(COUNT).map(make, num_parallel_calls=2),
    "vectorized": lambda make: (
        hr.Dataset.range(COUNT).map(make).map(hr.vectorized(lambda *row: row if len(row) > 1 else row[0]))
    ),
    "filter": lambda make: hr.Dataset.range(COUNT).map(make).filter(lambda *_: True),
    "generator": lambda make: hr.Dataset.from_generator(lambda: map(make, range(COUNT))),
    "zip": lambda make: hr.Dataset.zip((hr.Dataset.range(COUNT).map(make), hr.Dataset.range(COUNT))),
    "cache": lambda make: hr.Dataset.range(COUNT).map(make).cache(),
    "shuffle": lambda make: hr.Dataset.range(COUNT).map(make).shuffle(5, seed=3, reshuffle_each_iteration=False),
    "concatenate": lambda make: hr.Dataset.range(30).map(make).concatenate(hr.Dataset.range(30, COUNT).map(make)),
    "flat_map": lambda make: hr.Dataset.range(7).flat_map(
        lambda n: hr.Dataset.range(10 * int(n), 10 * int(n) + 10).map(make)
    ),
    "interleave": lambda make: hr.Dataset.range(7).interleave(
        lambda n: hr.Dataset.range(10 * int(n), 10 * int(n) + 10).map(make), cycle_length=3, block_length=2
    ),
    "columns": lambda _: columns("b", "a").concatenate(columns("a", "b")),
    "columns in turns": lambda _: hr.Dataset.choose_from_datasets(
        [columns("b", "a"), columns("a", "b")], hr.Dataset.range(COUNT).map(lambda n: n // 3 % 2)
    ),
    "repeat": lambda make: hr.Dataset.range(COUNT // 2).map(make).repeat(2),
}
STEPS: dict[str, Callable[[hr.Dataset, int], hr.Dataset]] = {
    "nothing": lambda ds, _: ds,
    "batch": lambda ds, size: ds.batch(size),
    "batch, parallel": lambda ds, size: ds.batch(size, num_parallel_calls=2),
    "batch without the rest": lambda ds, size: ds.batch(size, drop_remainder=True),
    "batch of batches": lambda ds, size: ds.batch(size, drop_remainder=True).batch(2),
    "rebatch": lambda ds, size: ds.batch(size).rebatch(3),
    "unbatch": lambda ds, size: ds.batch(size).unbatch(),
    "batches in datasets": lambda ds, size: ds.enumerate().flat_map(
        lambda _, row: hr.Dataset.from_tensors(row).repeat(3).batch(size)
    ),
    "prefetch": lambda ds, size: ds.batch(size).prefetch(2),
    "cache": lambda ds, size: ds.batch(size).cache(),
}


def made_by(element: str, period: int, turned: frozenset[int]) -> Make:
    def make(n: int) -> Any:
        n = int(n)
        is_turned = n % period in turned
        return ELEMENTS[element](n, (lambda row: dict(reversed(row.items()))) if is_turned else dict)

    return make


def shown(elements: list[Any]) -> list[tuple[str, Any]]:
    """What elements are, and in which order their keys are."""
    return [(repr(element), orders_of_keys(element)) for element in elements]


@given(
    st.sampled_from(sorted(ELEMENTS)),
    st.sampled_from(sorted(SOURCES)),
    st.sampled_from(sorted(STEPS)),
    st.integers(1, 9),
    st.integers(2, 20),
    st.frozensets(st.integers(0, 19), min_size=1),
    ways(),
    st.data(),
)
def test_keys_have_the_order_of_the_first_element(
    element: str,
    source: str,
    step: str,
    size: int,
    period: int,
    turned: frozenset[int],
    way: Way,
    data: st.DataObject,
) -> None:
    make = made_by(element, period, turned)
    dataset = STEPS[step](SOURCES[source](make), size)
    expected = shown(elements_of(dataset, REFERENCE, limit=COUNT * 4))
    elements, states = history(dataset, way, limit=COUNT * 4)
    assert shown(elements) == expected
    at = data.draw(st.integers(0, len(states) - 1))
    assert shown(resumed(dataset, states[at], way, limit=COUNT * 4)) == expected[at:]


def test_a_batch_has_the_keys_of_its_first_element() -> None:
    make = made_by("arrays", 8, frozenset({4, 5}))
    for step, size in (("batch", 4), ("batch, parallel", 4), ("batch without the rest", 2)):
        batches = elements_of(STEPS[step](SOURCES["map"](make), size), REFERENCE)
        assert [[*batch] for batch in batches] == [[*make(size * index)] for index in range(len(batches))]


@pytest.mark.parametrize("element", ["numbers", "arrays", "large arrays"])
def test_keys_have_their_order_where_processes_make_the_elements(element: str) -> None:
    make = made_by(element, 10, frozenset({0}))
    rows = hr.Dataset.range(COUNT).map(make, num_parallel_calls=2, executor="process")
    for dataset, size in ((rows, 1), (rows.batch(4), 4), (rows.batch(4, num_parallel_calls=2), 4)):
        assert [[*batch] for batch in dataset] == [[*make(n)] for n in range(0, COUNT, size)]


@pytest.mark.parametrize("element", ["numbers", "arrays", "within", "in a tuple"])
def test_keys_have_their_order_where_elements_were_stored(element: str, tmp_path: Path) -> None:
    made = hr.Dataset.range(COUNT).map(made_by(element, 10, frozenset({0, 4})))
    made.save(tmp_path / "saved")
    kept = {
        "saved": hr.Dataset.load(tmp_path / "saved"),
        "cached": made.cache(tmp_path / "cached"),
        "snapshot": made.snapshot(tmp_path / "snapshot"),
        "shuffled": hr.Dataset.load(tmp_path / "saved").shuffle(9, seed=3, reshuffle_each_iteration=False),
    }
    for dataset in kept.values():
        for _ in range(2):
            firsts = [orders_of_keys(row) for row in dataset][::4]
            assert [orders_of_keys(batch) for batch in dataset.batch(4)] == firsts
            assert [orders_of_keys(batch) for batch in dataset.batch(4, num_parallel_calls=2)] == firsts
