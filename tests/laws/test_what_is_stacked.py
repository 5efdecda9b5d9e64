"""Laws 1, 3 and 6 for chains of functions that a batch reads: results that are taken apart are those that each by itself would be.

A function returns one kind of element, and here and there another one, raises, or fills memory of its own again, as generators do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.kinds_of_elements import ARRAYS, WHOLES, Own
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, history, resumed, ways

import headrace as hr
from headrace.physical.loop_policy import LoopPolicy


def whole_again(*parts: Any) -> Any:
    return parts if len(parts) > 1 else parts[0]


Function = Callable[[int], Any]
CHAINS: dict[str, Callable[[hr.Dataset, Function], hr.Dataset]] = {
    "map": lambda ds, f: ds.map(f),
    "map, map": lambda ds, f: ds.map(f).map(whole_again),
    "filter, map": lambda ds, f: ds.filter(lambda n: n % 7 != 3).map(f),
    "map, filter": lambda ds, f: ds.map(f).filter(lambda *_: True),
    "map, filter, map": lambda ds, f: ds.map(lambda n: n).filter(lambda n: n % 5 > 0).map(f),
    "map, enumerate": lambda ds, f: ds.map(f).enumerate(),
    "enumerate, map": lambda ds, f: ds.map(lambda n: n).enumerate().map(lambda _, n: f(n)),
    "map, instead": lambda ds, f: ds.map(f, on_error=lambda _: f(0)),
    "map, as headrace finds": lambda ds, f: ds.map(f, num_parallel_calls=hr.AUTOTUNE),
    "map, map as headrace finds, filter": lambda ds, f: (
        ds.map(lambda n: n).map(f, num_parallel_calls=hr.AUTOTUNE).filter(lambda *_: True)
    ),
    "map of dicts": lambda ds, f: ds.map(lambda n: {"n": n}).map(lambda row: f(row["n"])),
}


def made_by(usual: tuple[str, str], odd: dict[int, tuple[str, str]], failing: tuple[int, ...] = ()) -> Function:
    of_threads = threading.local()

    def make(n: int) -> Any:
        own = of_threads.__dict__.setdefault("own", Own())
        if n in failing:
            raise ValueError("failing")
        whole, array = odd.get(n, usual)
        return WHOLES[whole](own, ARRAYS[array](own, n), n)

    return make


@st.composite
def batched_chains(draw: st.DrawFn) -> tuple[str, Callable[[], hr.Dataset]]:
    kinds = st.tuples(st.sampled_from(sorted(WHOLES)), st.sampled_from(sorted(ARRAYS)))
    usual = draw(kinds)
    odd = draw(st.dictionaries(st.integers(0, 60), kinds, max_size=8))
    failing = tuple(draw(st.lists(st.integers(1, 60), max_size=3)))
    chain = draw(st.sampled_from(sorted(CHAINS)))
    size, drop = draw(st.sampled_from([1, 4, 7])), draw(st.booleans())

    def build() -> hr.Dataset:
        chained = CHAINS[chain](hr.Dataset.range(60), made_by(usual, odd, failing))
        return chained.batch(size, drop_remainder=drop)

    return f"{usual}, but {odd}; failing: {failing}; {chain}; batch({size}, {drop})", build


WAYS = [
    Way(hr.Options(seed=7), sizes, loops=policy)
    for sizes in [(1, 2, 9), (25,)]
    for policy in [LoopPolicy(probed=1), LoopPolicy(probed=3, rows_a_look=2)]
]


@pytest.mark.parametrize("array", sorted(ARRAYS))
@pytest.mark.parametrize("chain", sorted(CHAINS))
def test_each_kind_is_batched_as_it_was_returned(chain: str, array: str) -> None:
    for whole in ("pair", "dict", "alone", "deep"):
        batches = CHAINS[chain](hr.Dataset.range(40), made_by((whole, array), {})).batch(4)
        expected = elements_of(batches, REFERENCE)
        for way in WAYS:
            assert_same(expected, elements_of(batches, way))


@pytest.mark.parametrize("usual", ["pair", "dict", "deep"])
@pytest.mark.parametrize("odd", sorted(WHOLES))
def test_one_of_another_kind_is_batched_in_its_place(usual: str, odd: str) -> None:
    at = {n: (odd, "of ints" if n == 40 else "the same") for n in (9, 21, 40)}
    batches = hr.Dataset.range(60).map(made_by((usual, "the same"), at, (30,))).batch(4)
    elements, states = history(batches, REFERENCE, limit=60)
    for way in WAYS:
        assert_same(elements, elements_of(batches, way))
        assert_same(elements[7:], resumed(batches, states[7], way, limit=60))


@given(batched_chains(), ways())
def test_what_is_stacked_is_what_was_returned(chain: tuple[str, Callable[[], hr.Dataset]], way: Way) -> None:
    _, build = chain
    assert_same(elements_of(build(), REFERENCE), elements_of(build(), way))


@given(batched_chains(), ways(), st.data())
def test_it_goes_on_from_any_batch(chain: tuple[str, Callable[[], hr.Dataset]], way: Way, data: st.DataObject) -> None:
    _, build = chain
    elements, states = history(build(), way, limit=60)
    at = data.draw(st.integers(0, len(elements)))
    assert_same(elements[at:], resumed(build(), states[at], way, limit=60))


@pytest.mark.parametrize(
    ("whole", "array"), [("alone", "a number"), ("deep", "a scalar"), ("dict", "new"), ("pair", "text")]
)
def test_what_a_process_stacks_is_what_was_returned(whole: str, array: str) -> None:
    odd = {29: "a scalar", 41: "of ints", 50: "text"}

    def make(n: int) -> Any:
        return WHOLES[whole](own := Own(), ARRAYS[odd.get(n, array)](own, n), n)

    numbers = hr.Dataset.range(60)
    there = numbers.map(make, num_parallel_calls=2, executor="process").batch(4)
    assert_same(elements_of(numbers.map(make).batch(4), REFERENCE), elements_of(there, Way(hr.Options(seed=7))))


@given(st.sampled_from([np.int8, np.int64, np.uint64, np.float16, np.float64, np.bool_, int, float, bool, str, bytes]))
def test_scalars_have_the_dtype_that_they_have_alone(kind: type) -> None:
    def make(n: int) -> Any:
        scalar = kind([n % 2]) if kind is bytes else kind(n % 2)
        return {"b": scalar, "a": (scalar, n)}

    for chain in (hr.Dataset.range(50).map(make), hr.Dataset.range(50).map(make).filter(lambda row: row["a"][1] > 3)):
        expected = elements_of(chain.batch(8), REFERENCE)
        for way in WAYS:
            assert_same(expected, elements_of(chain.batch(8), way))
