"""Steps that go through elements in order, with a state."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import Named, keep_or_fail, text, total

SMALL = st.integers(2, 5)


def _summing(state: Any, element: Any) -> Any:
    count, (sums, words) = state
    number = total(element) % 1000
    if number % 7 == 6:
        raise ValueError("cannot be summed")
    return (count + 1, (sums + number, words + str(number % 10))), (count, int(sums.sum()), words)


def _other_dtype(state: Any, element: Any) -> Any:
    return (1.5 if total(element) % 4 == 3 else state + 1), state


def _numbers(*element: Any) -> int:
    return total(element) % 6


def stateful() -> st.SearchStrategy[Named]:
    return st.one_of(
        SMALL.map(lambda m: (text("take_while", m), lambda ds: ds.take_while(lambda *e: total(e) % (9 * m) != 1))),
        SMALL.map(lambda m: (text("take_while or fail", m), lambda ds: ds.take_while(keep_or_fail(5 * m)))),
        st.just(("scan", lambda ds: ds.scan((0, (np.zeros(2, np.int64), "")), _summing))),
        st.just(("scan to another dtype", lambda ds: ds.scan(0, _other_dtype))),
        st.just(("unique", lambda ds: ds.map(_numbers).unique())),
        st.just(("unique of anything", lambda ds: ds.unique())),
        st.just(("unique or fail", lambda ds: ds.map(lambda *e: total(e) % 5 or 0.5).unique())),
        st.integers(-2, 9).map(lambda n: (text("assert_cardinality", n), lambda ds: ds.assert_cardinality(n))),
    )
