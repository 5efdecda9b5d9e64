"""Many elements as NumPy has their numbers are what each by itself is."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.elements.as_numpy import as_numpy, as_numpy_rows

Pair = namedtuple("Pair", "one other")  # noqa: PYI024 - as a program has one

LEAVES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(-5, 5),
    st.floats(allow_nan=False),
    st.booleans(),
    st.sampled_from([None, "text", b"bytes", np.float32(1.5), np.int8(3), 1j]),
    st.builds(np.arange, st.integers(0, 3)),
)
ELEMENTS = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.tuples(parts, parts),
        st.tuples(parts),
        st.builds(Pair, parts, parts),
        st.dictionaries(st.sampled_from("abc"), parts, max_size=3),
    ),
    max_leaves=5,
)


def described(value: Any) -> Any:
    if isinstance(value, tuple):
        return type(value), [described(part) for part in value]
    if isinstance(value, dict):
        return [(key, described(part)) for key, part in value.items()]
    return type(value), repr(value)


@given(rows=st.lists(ELEMENTS, max_size=6), count=st.integers(1, 3))
def test_rows_are_what_each_by_itself_is(rows: list[Any], count: int) -> None:
    rows = rows * count
    assert described(tuple(as_numpy_rows(rows))) == described(tuple(map(as_numpy, rows)))


@given(row=ELEMENTS)
def test_no_number_of_pythons_is_left(row: Any) -> None:
    def check(value: Any) -> None:
        if isinstance(value, (tuple, dict)):
            for part in value.values() if isinstance(value, dict) else value:
                check(part)
        elif value is not None:
            assert type(value) not in (int, float, bool, complex)

    for made in as_numpy_rows([row, row]):
        check(made)


@given(rows=st.lists(st.dictionaries(st.sampled_from("abc"), LEAVES), min_size=1, max_size=5))
def test_what_was_given_stays_as_it_was(rows: list[Any]) -> None:
    before = described(tuple(rows))
    as_numpy_rows(rows)
    assert described(tuple(rows)) == before
