"""Random steps that leave failures out, for the tests of the laws."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.elements import Named, fail_on, halves, text

import headrace as hr

SMALL = st.integers(2, 5)


def skipping() -> st.SearchStrategy[Named]:
    parallel = st.sampled_from([None, 2, hr.AUTOTUNE])
    return st.one_of(
        st.booleans().map(lambda log: (text("ignore_errors", log), lambda ds: ds.ignore_errors(log))),
        st.tuples(SMALL, parallel).map(
            lambda a: (
                text("map skipping", *a),
                lambda ds: ds.map(fail_on(1, a[0]), a[1], on_error="skip").map(halves, a[1]),
            )
        ),
        st.tuples(SMALL, parallel).map(
            lambda a: (
                text("map skipping at most 2", *a),
                lambda ds: ds.map(fail_on(1, a[0]), a[1], on_error="skip").with_options(hr.Options(max_failures=2)),
            )
        ),
        st.tuples(SMALL, parallel).map(
            lambda a: (
                text("map replacing", *a),
                lambda ds: ds.map(fail_on(1, a[0]), a[1], on_error=lambda error: len(str(error)), output_buffer_size=2),
            )
        ),
    )
