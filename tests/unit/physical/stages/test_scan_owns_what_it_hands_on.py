"""What scan hands on and gives out stays what it was when the function returned it, whoever keeps and changes it afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr

INITIAL: dict[str, Callable[[], Any]] = {
    "array": lambda: np.zeros(3),
    "dict": lambda: {"sum": np.zeros(3), "count": 0},
    "dict of numbers": lambda: {"mean": 0.0, "count": 0},
    "tuple": lambda: (np.zeros(3), 0),
    "nested": lambda: {"inner": (np.zeros(3), {"count": 0}), "mean": 0.0},
    "number": lambda: 0,
}


def _arrays(state: Any) -> list[np.ndarray]:
    if isinstance(state, np.ndarray):
        return [state]
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, tuple) else ()
    return [array for part in parts for array in _arrays(part)]


def _grown(state: Any, by: int) -> Any:
    """A new state, all of it."""
    if isinstance(state, dict):
        return {key: _grown(part, by) for key, part in state.items()}
    if isinstance(state, tuple):
        return tuple(_grown(part, by) for part in state)
    return state + by


class Function:
    """Returns results in the ways that it is told, and spoils what it kept of them before."""

    def __init__(self, ways: list[str]) -> None:
        self._ways = iter(ways)
        self._kept: list[Any] = []

    def __call__(self, state: Any, row: Any) -> Any:
        for kept in self._kept:
            self._spoil(kept)
        new = _grown(state, int(row) + 1)
        match next(self._ways):
            case "same":
                return new, new
            case "apart":
                return new, _grown(new, 1)
            case "kept pair":
                pair = (new, new)
                self._kept.append(pair)
                return pair
            case "kept state":
                self._kept.append(new)
                return new, _grown(new, 1)
            case "kept output":
                output = _grown(new, 1)
                self._kept.append(output)
                return new, output
            case "kept part":
                self._kept.append(_arrays(new)[:1])
                return new, _grown(new, 1)
            case "handed":
                self._kept.append(state)
                return new, state
            case "unchanged":
                return state, new
            case way:
                assert way == "view"
                views = [array[:] for array in _arrays(new)]
                return new, tuple(views) if views else new

    def _spoil(self, kept: Any) -> None:
        if isinstance(kept, np.ndarray) and kept.flags.writeable:
            kept += 1000
        elif isinstance(kept, dict):
            for part in kept.values():
                self._spoil(part)
            kept["spoiled"] = 1
        elif isinstance(kept, (tuple, list)):
            for part in kept:
                self._spoil(part)


WAYS = ["same", "apart", "kept pair", "kept state", "kept output", "kept part", "handed", "unchanged", "view"]


def expected(state: Any, ways: list[str], rows: list[Any]) -> list[Any]:
    """The outputs, copied when they are returned."""
    function = Function(ways)
    outputs = []
    for row in rows:
        state, output = copy.deepcopy(function(copy.deepcopy(state), row))
        outputs.append(output)
    return outputs


@pytest.mark.parametrize("kind", INITIAL)
@given(
    beginning=st.sampled_from(WAYS),
    ways=st.lists(st.sampled_from(WAYS), max_size=30),
    stopped=st.integers(0, 40),
)
def test_what_was_returned_stays_what_it_was(kind: str, beginning: str, ways: list[str], stopped: int) -> None:
    ways = [beginning] * 20 + ways  # so that there is a form that is known
    rows = list(range(len(ways)))
    initial = INITIAL[kind]
    wanted = expected(initial(), ways, rows)
    given_out = list(hr.Dataset.range(len(ways)).scan(initial(), Function(ways)))
    assert repr(given_out) == repr(wanted)

    stopped = min(stopped, len(rows))
    iterator = iter(hr.Dataset.range(len(ways)).scan(initial(), Function(ways)))
    first = [next(iterator) for _ in range(stopped)]
    state = iterator.state_dict()
    iterator.close()
    rest = iter(hr.Dataset.range(len(ways)).scan(initial(), Function(ways[stopped:])))
    rest.load_state_dict(state)
    assert repr(first + list(rest)) == repr(wanted)
