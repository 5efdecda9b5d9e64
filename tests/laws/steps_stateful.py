"""Steps that go through elements in order, with a state."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.elements import Named, keep_or_fail, text, total

from headrace.elements.structure import flatten, unflatten

SMALL = st.integers(2, 5)


def _summing(state: Any, element: Any) -> Any:
    count, (sums, words) = state
    number = total(element) % 1000
    if number % 7 == 6:
        raise ValueError("cannot be summed")
    return (count + 1, (sums + number, words + str(number % 10))), (count, int(sums.sum()), words)


def _other_dtype(state: Any, element: Any) -> Any:
    return (1.5 if total(element) % 4 == 3 else state + 1), state


# States of every form that a scan hands on in a way of its own, and outputs of every kind.
_STATES: dict[str, Any] = {
    "int": 0,
    "text": "",
    "numpy scalar": np.int32(0),
    "pair": (0, 0.5),
    "dict": {"b": 0, "a": ""},
    "array": np.zeros(2, np.int64),
    "nested": {"x": (0, np.zeros(1))},
    "date": np.datetime64(0, "D"),
}


def _moved(leaf: Any, number: int) -> Any:
    if isinstance(leaf, str):
        return leaf[-3:] + str(number % 10)
    return leaf + np.int32(number) if type(leaf) is np.int32 else leaf + number


def _scanning(output: str) -> Any:
    def step(state: Any, element: Any) -> Any:
        number = total(element) % 100
        if number % 13 == 12:
            raise ValueError("cannot be scanned")
        leaves, treedef = flatten(state)
        new = unflatten(treedef, [_moved(leaf, number) for leaf in leaves])
        if number % 13 == 11:
            new = (new,)  # which is refused
        outputs = {"state": state, "new": new, "element": element, "pair": (number, element), "number": number}
        return [new, outputs[output]] if number % 5 == 4 else (new, outputs[output])

    return step


def _numbers(*element: Any) -> int:
    return total(element) % 6


def stateful() -> st.SearchStrategy[Named]:
    return st.one_of(
        SMALL.map(lambda m: (text("take_while", m), lambda ds: ds.take_while(lambda *e: total(e) % (9 * m) != 1))),
        SMALL.map(lambda m: (text("take_while or fail", m), lambda ds: ds.take_while(keep_or_fail(5 * m)))),
        st.just(("scan", lambda ds: ds.scan((0, (np.zeros(2, np.int64), "")), _summing))),
        st.tuples(st.sampled_from(sorted(_STATES)), st.sampled_from(["state", "new", "element", "pair", "number"])).map(
            lambda a: (text("scan of", *a), lambda ds: ds.scan(_STATES[a[0]], _scanning(a[1])))
        ),
        st.just(("scan to another dtype", lambda ds: ds.scan(0, _other_dtype))),
        st.just(("unique", lambda ds: ds.map(_numbers).unique())),
        st.just(("unique of anything", lambda ds: ds.unique())),
        st.just(("unique or fail", lambda ds: ds.map(lambda *e: total(e) % 5 or 0.5).unique())),
        st.integers(-2, 9).map(lambda n: (text("assert_cardinality", n), lambda ds: ds.assert_cardinality(n))),
    )
