"""Random steps that put elements in random order, for the tests of the laws."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.elements import Named, text

SMALL = st.integers(1, 5)


def shuffling() -> st.SearchStrategy[Named]:
    sizes = st.sampled_from([1, 2, 3, 5, 50, -2])
    return st.one_of(
        st.tuples(sizes, st.integers(0, 5), st.booleans()).map(
            lambda a: (
                text("shuffle", *a),
                lambda ds: ds.shuffle(a[0], seed=a[1], reshuffle_each_iteration=a[2]),
            )
        ),
        SMALL.map(lambda b: (text("unseeded shuffle", b), lambda ds: ds.shuffle(b))),
    )
