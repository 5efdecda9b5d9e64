"""Steps that go through elements with something in mind, and maps with what they may be told."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import Named, fail_on, halves, keep_or_fail, text, total

import headrace as hr

SMALL = st.integers(2, 5)


def _summing(state: Any, element: Any) -> Any:
    count, (sums, words) = state
    number = total(element) % 1000
    if number % 7 == 6:
        raise ValueError("cannot be summed")
    return (count + 1, (sums + number, words + str(number % 10))), (count, int(sums.sum()), words)


def _other_dtype(state: Any, element: Any) -> Any:
    return (1.5 if total(element) % 4 == 3 else state + 1), state


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


def stateful() -> st.SearchStrategy[Named]:
    parallel = st.sampled_from([None, 2, hr.AUTOTUNE])
    return st.one_of(
        SMALL.map(lambda m: (text("take_while", m), lambda ds: ds.take_while(lambda *e: total(e) % (9 * m) != 1))),
        SMALL.map(lambda m: (text("take_while or fail", m), lambda ds: ds.take_while(keep_or_fail(5 * m)))),
        st.just(("scan", lambda ds: ds.scan((0, (np.zeros(2, np.int64), "")), _summing))),
        st.just(("scan to another dtype", lambda ds: ds.scan(0, _other_dtype))),
        st.just(("unique", lambda ds: ds.map(_numbers).unique())),
        st.just(("unique of anything", lambda ds: ds.unique())),
        st.just(("unique or fail", lambda ds: ds.map(lambda *e: total(e) % 5 or 0.5).unique())),
        st.booleans().map(lambda log: (text("ignore_errors", log), lambda ds: ds.ignore_errors(log))),
        st.integers(-2, 9).map(lambda n: (text("assert_cardinality", n), lambda ds: ds.assert_cardinality(n))),
        parallel.map(lambda p: (text("random_map", p), lambda ds: ds.random_map(_drawn, 7, num_parallel_calls=p))),
        parallel.map(lambda p: (text("unseeded random_map", p), lambda ds: ds.random_map(_drawn, None, p))),
        parallel.map(
            lambda p: (text("vectorized map", p), lambda ds: ds.map(_numbers).map(_doubled, num_parallel_calls=p))
        ),
        parallel.map(lambda p: (text("vectorized map of anything", p), lambda ds: ds.map(_doubled, p))),
        st.just(("vectorized filter", lambda ds: ds.map(_numbers).filter(_even))),
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
