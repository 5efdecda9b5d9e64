"""Random steps that hold elements, or settings, for the tests of the laws."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.laws.elements import Named, flat_map_to_one_cache, text

import headrace as hr


def buffering() -> st.SearchStrategy[Named]:
    """Everything that holds elements, or settings."""
    return st.one_of(
        st.just(("cache", lambda ds: ds.cache())),
        st.just(("cache.repeat(2)", lambda ds: ds.cache().repeat(2))),
        st.just(("flat_map to one cache", flat_map_to_one_cache)),
        st.sampled_from([0, 1, 2, 7, hr.AUTOTUNE]).map(lambda n: (text("prefetch", n), lambda ds: ds.prefetch(n))),
        st.just(("with_options", lambda ds: ds.with_options(hr.Options(deterministic=True)))),
        st.just(("apply", lambda ds: ds.apply(lambda whole: whole.enumerate()))),
    )
