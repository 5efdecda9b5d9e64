"""Random steps that choose which elements come, for the tests of the laws."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.elements import Named, add_one, fail_on, text

import headrace as hr

SMALL = st.integers(1, 5)


def sequencing() -> st.SearchStrategy[Named]:
    return st.one_of(
        st.integers(0, 3).map(lambda n: (text("repeat", n), lambda ds: ds.repeat(n))),
        SMALL.map(lambda n: (text("short turns", n), lambda ds: ds.take(n).repeat(7))),
        SMALL.map(
            lambda n: (text("concatenate(short turns)", n), lambda ds: ds.concatenate(hr.Dataset.range(n).repeat(7)))
        ),
        st.tuples(SMALL, SMALL, st.sampled_from([None, 2, 5])).map(
            lambda a: (
                text("concatenate(turns of maps)", *a),
                lambda ds: ds.concatenate(
                    hr.Dataset.range(a[0]).map(fail_on(0, a[1])).map(add_one).repeat(a[2]).take(9)
                ),
            )
        ),
        SMALL.map(
            lambda n: (
                text("concatenate(turns of filters)", n),
                lambda ds: ds.concatenate(hr.Dataset.range(4).filter(lambda x: x % n == 0).map(add_one).repeat(3)),
            )
        ),
        st.just(("repeat().take(9)", lambda ds: ds.repeat().take(9))),
        st.integers(-1, 9).map(lambda n: (text("take", n), lambda ds: ds.take(n))),
        st.integers(-1, 5).map(lambda n: (text("skip", n), lambda ds: ds.skip(n))),
        st.tuples(SMALL, SMALL).map(
            lambda a: (text("shard", max(a), min(a) - 1), lambda ds: ds.shard(max(a), min(a) - 1))
        ),
        st.just(("concatenate(self)", lambda ds: ds.concatenate(ds))),
        st.just(("concatenate(range)", lambda ds: ds.concatenate(hr.Dataset.range(4)))),
    )
