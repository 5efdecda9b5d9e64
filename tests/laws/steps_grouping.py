"""Steps that put elements together: padded, ragged, in turns, and in workers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import Named, text, total

import headrace as hr

SMALL = st.integers(1, 4)


def _rows(*element: Any) -> Any:
    number = total(element) % 100
    return np.arange(number % 4), {"t": np.array([str(number)] * (number % 3), object), "x": number}


def _odd_rows(*element: Any) -> Any:
    number = total(element) % 9
    return np.zeros((2,) * (number % 3)) if number % 2 else np.arange(number % 5)


def _unlike(*element: Any) -> Any:
    number = total(element) % 9
    return np.float32(number) if number % 4 == 0 else [number] * (1 + number % 2)


def _length(*element: Any) -> int:
    return total(element) % 100 % 4


def grouping() -> st.SearchStrategy[Named]:
    parallel = st.sampled_from([1, 2, hr.AUTOTUNE])
    return st.one_of(
        st.tuples(SMALL, st.booleans()).map(
            lambda a: (text("batch", *a), lambda ds: ds.batch(a[0], drop_remainder=a[1]))
        ),
        SMALL.map(lambda n: (text("batch.unbatch", n), lambda ds: ds.batch(n).unbatch())),
        st.just(("unbatch", lambda ds: ds.unbatch())),
        st.tuples(SMALL, st.booleans()).map(
            lambda a: (text("padded_batch", *a), lambda ds: ds.map(_rows).padded_batch(a[0], drop_remainder=a[1]))
        ),
        SMALL.map(
            lambda n: (
                text("padded_batch to 2", n),
                lambda ds: ds.map(_rows).padded_batch(n, ([2], {"t": [None], "x": []}), (7, {"t": "?", "x": 1})),
            )
        ),
        SMALL.map(lambda n: (text("padded_batch of odd rows", n), lambda ds: ds.map(_odd_rows).padded_batch(n))),
        SMALL.map(lambda n: (text("padded_batch of texts", n), lambda ds: ds.map(_texts).padded_batch(n, None, "?"))),
        SMALL.map(lambda n: (text("ragged_batch of texts", n), lambda ds: ds.map(_texts).ragged_batch(n))),
        SMALL.map(lambda n: (text("padded_batch of anything", n), lambda ds: ds.padded_batch(n))),
        st.tuples(SMALL, st.booleans()).map(
            lambda a: (text("ragged_batch", *a), lambda ds: ds.map(_rows).ragged_batch(a[0], drop_remainder=a[1]))
        ),
        SMALL.map(lambda n: (text("ragged_batch of odd rows", n), lambda ds: ds.map(_odd_rows).ragged_batch(n))),
        st.tuples(SMALL, SMALL, st.booleans()).map(
            lambda a: (text("rebatch", *a), lambda ds: ds.batch(a[0]).rebatch(a[1], drop_remainder=a[2]))
        ),
        st.tuples(SMALL, st.lists(st.integers(0, 3), min_size=1, max_size=3), st.booleans()).map(
            lambda a: (text("rebatch in turns", *a), lambda ds: ds.batch(a[0]).rebatch(a[1], drop_remainder=a[2]))
        ),
        st.just(("rebatch of anything", lambda ds: ds.rebatch([2, 1]))),
        st.tuples(SMALL, st.booleans(), parallel).map(
            lambda a: (text("parallel batch", *a), lambda ds: ds.batch(a[0], a[1], num_parallel_calls=a[2]))
        ),
        st.tuples(SMALL, parallel).map(
            lambda a: (text("parallel batch of unlike", *a), lambda ds: ds.map(_unlike).batch(a[0], False, a[1]))
        ),
        st.tuples(SMALL, SMALL, st.booleans(), st.booleans()).map(
            lambda a: (
                text("bucket", *a),
                lambda ds: ds.map(lambda *e: np.arange(_length(*e))).bucket_by_sequence_length(
                    len, [1, 3], [a[0], a[1], 2], pad_to_bucket_boundary=a[2], no_padding=a[3]
                ),
            )
        ),
    )


def _texts(*element: Any) -> np.ndarray:
    """Texts of a fixed length, NumPy's own: of another length in each element, and sometimes none."""
    n = total(element) % 5
    return np.array(["é" * length for length in range(n)], dtype=np.str_)
