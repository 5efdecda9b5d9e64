"""Random steps whose function makes a dataset of each element, for the tests of the laws."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.elements import Named, few, few_or_fail, shuffled_few, text
from tests.laws.small_plans import openers as small_plans

import headrace as hr

SMALL = st.integers(1, 5)


def openers() -> st.SearchStrategy[Named]:
    """Functions that make datasets of elements."""
    return st.one_of(
        small_plans(),
        SMALL.map(lambda n: (f"few {n}", few(n))),
        SMALL.map(lambda n: (f"shuffled few {n}", shuffled_few(n))),
        st.integers(3, 5).map(lambda n: (f"few or fail {n}", few_or_fail(n))),
    )


def nesting() -> st.SearchStrategy[Named]:
    """Everything whose function makes a dataset of each element."""
    return st.one_of(
        openers().map(lambda opener: (text("flat_map", opener[0]), lambda ds: ds.flat_map(opener[1]))),
        st.tuples(openers(), SMALL, SMALL, st.sampled_from([None, 1, hr.AUTOTUNE])).map(
            lambda a: (
                text("interleave", a[0][0], *a[1:]),
                lambda ds: ds.interleave(a[0][1], cycle_length=a[1], block_length=a[2], num_parallel_calls=a[3]),
            )
        ),
    )
