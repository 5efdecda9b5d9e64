"""What reduce makes of elements is what each state by itself says, whatever loop made it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import Measured, Sample

from headrace.elements.ownership import copied
from headrace.physical.loops.reducing import reduced
from headrace.semantics.calls import packed
from headrace.semantics.stateful import StateCheck
from headrace.testing.restoring import same


class Pair(NamedTuple):
    first: Any
    second: Any


STATES: dict[str, Callable[[int], Any]] = {
    "an int": lambda n: n,
    "an int of NumPy's": np.int64,
    "a short int of NumPy's": np.int32,
    "a float": float,
    "a text": str,
    "None": lambda n: None,
    "a date": lambda n: dt.date(2020, 1, 1 + n),
    "an array": lambda n: np.full(2, n),
    "an array of another length": lambda n: np.full(3, n),
    "an array of floats": lambda n: np.full(2, float(n)),
    "an array of objects": lambda n: np.array([n, "a"], object),
    "an array of texts": lambda n: np.array([f"{n}"]),
    "a list": lambda n: [n, n],
    "a list of floats": lambda n: [float(n)],
    "a pair": lambda n: (n, np.full(2, n)),
    "a pair of floats": lambda n: (float(n), np.full(2, n)),
    "a pair with a list": lambda n: (n, [n, n]),
    "three": lambda n: (n, n, n),
    "a list for a pair": lambda n: [n, np.full(2, n)],
    "a dict": lambda n: {"a": n, "b": np.full(2, n)},
    "a dict in another order": lambda n: {"b": np.full(2, n), "a": n},
    "a dict with a key more": lambda n: {"a": n, "b": np.full(2, n), "c": 1},
    "a named tuple": lambda n: Pair(n, np.full(2, n)),
    "a dataclass": lambda n: Sample("a", np.full(2, n)),
    "a dataclass of floats": lambda n: Sample("a", np.full(2, float(n))),
    "an attrs class": lambda n: Measured(label="m", given=n),
    "deep": lambda n: {"a": (n, {"b": [n]}), "c": Pair(n, np.full(2, n))},
}


def by_themselves(state: Any, function: Callable[[Any, Any], Any], count: int) -> Any:
    """The state after so many elements, each looked at by itself."""
    check = StateCheck(state, stage="reduce")
    for number in range(count):
        state = packed(function(state, number))
        check(state)
    return state


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Exception as error:
        return type(error), str(error)


@given(
    st.sampled_from(sorted(STATES)),
    st.integers(0, 12),
    st.dictionaries(st.integers(0, 12), st.sampled_from(sorted(STATES)), max_size=2),
)
def test_a_state_is_the_same_and_is_refused_alike(usual: str, count: int, odd: dict[int, str]) -> None:
    def function(state: Any, number: int) -> Any:
        seen.append((copied(state), number))
        return STATES[odd.get(number, usual)](number)

    ways: list[Callable[[Any], Any]] = [
        lambda initial: by_themselves(initial, function, count),
        lambda initial: reduced(range(count), initial, function, stage="reduce"),
    ]
    results = []
    for reduce in ways:
        seen: list[Any] = []
        initial = packed(STATES[usual](0))
        results.append((outcome(lambda: reduce(initial)), seen))  # noqa: B023 - called at once
    (expected, states), (found, other_states) = results
    assert same(expected, found), (expected, found)
    assert same(states, other_states)


@pytest.mark.parametrize("kind", ["a dict", "an array"])
def test_a_state_that_is_changed_in_place_is_looked_at_each_time(kind: str) -> None:
    def function(state: Any, number: int) -> Any:
        if kind == "an array":
            state += number
            return state if number < 8 else state.astype(float)
        state["a"] += number
        if number == 8:
            state["c"] = 1
        return state

    assert same(
        reduced(range(8), STATES[kind](0), function, stage="reduce"), by_themselves(STATES[kind](0), function, 8)
    )
    with pytest.raises(TypeError, match="the function changed the s"):
        reduced(range(9), STATES[kind](0), function, stage="reduce")
