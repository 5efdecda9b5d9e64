"""Random steps that look at one element at a time, for the tests of the laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import (
    SHAPES,
    Named,
    add_one,
    fail_on,
    halves,
    keep,
    keep_or_fail,
    shaped,
    stop_on,
    text,
    total,
)
from tests.laws.running import HOURS_S

import headrace as hr

SMALL = st.integers(1, 5)
PARALLEL = st.sampled_from([None, 1, 2, hr.AUTOTUNE])


def _drawn(rng: np.random.Generator, *element: Any) -> Any:
    number = total(element) % 1000
    if number % 5 == 4:
        raise ValueError("no luck")
    return number, int(rng.integers(1000))


@hr.vectorized
def _doubled(numbers: Any) -> Any:
    if (numbers % 5 == 3).any():
        raise ValueError("a three")
    return {"x": numbers * 2, "t": numbers.astype(str)}


@hr.vectorized
def _even(numbers: Any) -> Any:
    if (numbers % 7 == 3).any():
        raise ValueError("a three")
    return numbers % 2 == 0


def _numbers(*element: Any) -> int:
    return total(element) % 6


def maps() -> st.SearchStrategy[Named]:
    """Everything that calls a function on each element, and keeps their order."""
    return st.one_of(
        PARALLEL.map(lambda p: (text("map add_one", p), lambda ds: ds.map(add_one, num_parallel_calls=p))),
        PARALLEL.map(lambda p: (text("timed map", p), lambda ds: ds.map(add_one, p, timeout_s=HOURS_S))),
        PARALLEL.map(lambda p: (text("map halves", p), lambda ds: ds.map(halves, num_parallel_calls=p))),
        st.tuples(st.sampled_from(sorted(SHAPES)), PARALLEL).map(
            lambda a: (text("map to", *a), lambda ds: ds.map(shaped(a[0]), num_parallel_calls=a[1]))
        ),
        st.tuples(SMALL, SMALL, PARALLEL).map(
            lambda a: (
                text("map fail_on", *a),
                lambda ds: ds.map(fail_on(a[0] % (a[1] + 2), a[1] + 2), num_parallel_calls=a[2]),
            )
        ),
        PARALLEL.map(lambda p: (text("map stop_on", p), lambda ds: ds.map(stop_on(4), num_parallel_calls=p))),
        st.integers(2, 4).map(lambda m: (text("filter", m), lambda ds: ds.filter(keep(m)))),
        st.integers(3, 6).map(lambda m: (text("filter or fail", m), lambda ds: ds.filter(keep_or_fail(m)))),
    )


def elementwise() -> st.SearchStrategy[Named]:
    parallel = st.sampled_from([None, 2, hr.AUTOTUNE])
    return st.one_of(
        maps(),
        st.integers(0, 3).map(lambda s: (text("enumerate", s), lambda ds: ds.enumerate(s))),
        parallel.map(lambda p: (text("random_map", p), lambda ds: ds.random_map(_drawn, 7, num_parallel_calls=p))),
        parallel.map(
            lambda p: (text("timed random_map", p), lambda ds: ds.random_map(_drawn, 7, p, timeout_s=HOURS_S))
        ),
        parallel.map(lambda p: (text("unseeded random_map", p), lambda ds: ds.random_map(_drawn, None, p))),
        parallel.map(
            lambda p: (text("vectorized map", p), lambda ds: ds.map(_numbers).map(_doubled, num_parallel_calls=p))
        ),
        parallel.map(lambda p: (text("vectorized map of anything", p), lambda ds: ds.map(_doubled, p))),
        st.just(("vectorized filter", lambda ds: ds.map(_numbers).filter(_even))),
    )
