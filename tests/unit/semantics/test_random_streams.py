"""Random numbers as pure functions of a key and a position."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.semantics.random_streams import Key, derived_seed, permutation, random_indices, random_int64

KEYS = st.builds(Key, st.integers(-(2**70), 2**70), st.lists(st.integers(0, 9), max_size=3).map(tuple))
PLACES = st.integers(0, 10_000)


@given(KEYS, PLACES, st.integers(1, 50), st.integers(1, 20))
def test_the_nth_draw_is_the_same_from_wherever_one_starts(key: Key, start: int, count: int, size: int) -> None:
    whole = random_indices(key, 0, start + count, size)
    assert np.array_equal(random_indices(key, start, count, size), whole[start:])
    assert whole.min() >= 0
    assert whole.max() < size
    assert np.array_equal(random_int64(key, start, count), random_int64(key, 0, start + count)[start:])


@given(KEYS, st.integers(0, 200))
def test_a_permutation_has_every_number_once_and_is_the_keys_own(key: Key, size: int) -> None:
    order = permutation(key, size)
    assert sorted(order.tolist()) == list(range(size))
    assert np.array_equal(order, permutation(key, size))


def test_streams_of_other_keys_are_others() -> None:
    keys = [Key(1), Key(-1), Key(2), Key(1, (0,)), Key(1, (1,)), Key(1, (0, 0)), Key(1, (0, 1)), Key(1).child(5)]
    assert len({tuple(random_int64(key, 0, 4).tolist()) for key in keys}) == len(keys)


def test_a_derived_seed_depends_on_every_number_and_their_order() -> None:
    seeds = {derived_seed(*numbers) for numbers in [(1,), (2,), (1, 2), (2, 1), (1, 2, 3), (-1,), (1, 0)]}
    assert len(seeds) == 7
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_draws_are_uniform() -> None:
    counts = np.bincount(random_indices(Key(3), 0, 60_000, 6), minlength=6)
    # Chi-square with five degrees of freedom: 20.5 is passed once in a thousand seeds; this one is fixed.
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 20.5
    bits = random_int64(Key(3), 0, 4_000).view(np.uint64)
    ones = [int((bits >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)]
    assert all(abs(count - 2_000) < 5 * 31.6 for count in ones)  # five standard deviations
