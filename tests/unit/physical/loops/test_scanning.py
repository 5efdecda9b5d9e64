"""The loop of a scan takes what is of its form, and hands back what is not."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import pytest

from headrace.physical.loop_policy import Patience
from headrace.physical.loops.scanning import scan_loop_like

LIKE = ((0, (0.0, "")), (1, 2.0))  # a state and an output


def gone_through(results: list[Any]) -> tuple[list[Any], list[Any], Any]:
    """The states and outputs that a loop takes of what a function returns, and what it hands back."""
    loop = scan_loop_like(*LIKE)
    assert loop is not None
    returned = iter(results)
    states, outputs = [LIKE[0]], list[Any]()
    patience = Patience(time.perf_counter, math.inf, 2)
    surprise = loop.run(lambda _, row: next(returned), iter(range(len(results))), states, outputs, patience)
    return states[1:], outputs, surprise


def test_it_takes_what_is_of_its_form() -> None:
    results = [((number, (0.5, "a")), (number, 1.5)) for number in range(5)]
    assert gone_through(results) == ([state for state, _ in results], [output for _, output in results], None)


@pytest.mark.parametrize(
    "other",
    [
        [LIKE[0], LIKE[1]],
        (LIKE[0],),
        (LIKE[0], LIKE[1], LIKE[1]),
        (),
        (LIKE[0], [1, 2.0]),
        (LIKE[0], (1,)),
        (LIKE[0], (1, 2)),
        ((0, (0.0,)), LIKE[1]),
        ((0, (0.0, "", "")), LIKE[1]),
        ((0, [0.0, ""]), LIKE[1]),
        ((True, (0.0, "")), LIKE[1]),
        None,
        1,
    ],
)
def test_it_hands_back_what_is_not(other: Any) -> None:
    for before in range(4):
        states, outputs, surprise = gone_through([*itertools.repeat(LIKE, before), other, LIKE])
        assert (len(states), len(outputs)) == (before, before)
        assert surprise is not None
        assert surprise[0] == before
        assert surprise[1] is other


@pytest.mark.parametrize("output", [1, 2.0, "a", (1, 2.0), (), (None, ("a", b"b"))])
def test_it_says_of_which_types_its_outputs_are(output: Any) -> None:
    loop = scan_loop_like(0, output)
    assert loop is not None
    assert loop.kinds == frozenset({type(output)})
