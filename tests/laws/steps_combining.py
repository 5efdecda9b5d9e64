"""Random steps that put the elements of several datasets together, for the tests of the laws."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.elements import Named, shuffled_zip, text, zipped_with_failures

import headrace as hr

SMALL = st.integers(1, 5)


def combining() -> st.SearchStrategy[Named]:
    return st.one_of(
        st.just(("zip(self, range)", lambda ds: hr.Dataset.zip(ds, hr.Dataset.range(7)))),
        st.just(("zip(dict)", lambda ds: hr.Dataset.zip({"x": ds, "y": ds.skip(1)}))),
        st.just(("zip(nested)", lambda ds: hr.Dataset.zip(((ds, hr.Dataset.range(9)), None, ds.take(6))))),
        st.tuples(SMALL, st.integers(1, 40), st.integers(1, 12), st.booleans()).map(
            lambda a: (text("zip of functions, shuffled", *a), lambda ds: shuffled_zip(ds, *a))
        ),
        st.tuples(SMALL, st.integers(0, 5), st.sampled_from(["first", "second", "nested"])).map(
            lambda a: (text("zip with a failing branch", *a), lambda ds: zipped_with_failures(ds, *a))
        ),
    )
