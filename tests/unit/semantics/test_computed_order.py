"""Orders that nobody holds: each number once, as likely in one place as in another, after few rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.semantics.computed_order import ComputedOrder
from headrace.semantics.random_streams import Key

KEYS = st.builds(Key, st.integers(0, 2**64), st.just((0,)))


@given(KEYS, st.integers(0, 3_000))
def test_every_number_comes_once_and_no_walk_is_longer_than_a_side(key: Key, size: int) -> None:
    order = ComputedOrder(key, size)
    assert sorted(order[:].tolist()) == list(range(size)) == list(range(len(order)))
    assert order.walked <= math.isqrt(max(size - 1, 0)) + 1


@given(KEYS, st.integers(1, 2**60), st.data())
def test_a_place_has_the_same_number_whoever_asks(key: Key, size: int, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, size - 1))
    some = range(place, min(place + 5, size))
    order = ComputedOrder(key, size)
    found = order[place : place + 5].tolist()
    assert found == [order[one] for one in some] == ComputedOrder(key, size)[np.array(some)].tolist()
    assert len(set(found)) == len(some)
    assert all(0 <= number < size for number in found)


def test_orders_of_other_keys_are_others() -> None:
    orders = [ComputedOrder(key, 1 << 40)[:4].tolist() for key in (Key(1), Key(2), Key(1).child(0), Key(1, (1,)))]
    assert len(set(map(tuple, orders))) == len(orders)


@pytest.mark.parametrize(("size", "most"), [(8, (85.4, 93.2)), (11, (149.5, 158.7))])
def test_every_number_is_as_likely_in_every_place(size: int, most: tuple[float, float]) -> None:
    """Chi-square: what most says is passed once in a thousand seeds; this one is fixed."""
    places, pairs = np.zeros((size, size)), np.zeros((size, size))
    for epoch in range(4_000):
        order = ComputedOrder(Key(7, (epoch,)), size)[:]
        places[np.arange(size), order] += 1
        pairs[order[0], order[1]] += 1
    for table, limit in [(places, most[0]), (pairs[~np.eye(size, dtype=bool)], most[1])]:
        assert ((table - table.mean()) ** 2 / table.mean()).sum() < limit


def test_of_a_large_order_every_part_comes_from_everywhere() -> None:
    size, parts = 10**10, 32
    for key in map(Key, range(5)):
        order = ComputedOrder(key, size)
        run = order[12_345_678 : 12_345_678 + 64_000]
        counts = np.bincount(run * parts // size, minlength=parts)
        assert ((counts - 2_000) ** 2 / 2_000).sum() < 61.1  # 31 degrees of freedom, once in a thousand
        # Neighbours: whether the next number is larger is as likely as not, and says nothing of the one after it.
        rises = run[1:] > run[:-1]
        assert abs(int(rises.sum()) - 32_000) < 5 * 73  # five standard deviations of a random order's rises
        low = np.bincount(run % parts, minlength=parts)
        assert ((low - 2_000) ** 2 / 2_000).sum() < 61.1
