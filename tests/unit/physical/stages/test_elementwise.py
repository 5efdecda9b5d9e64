"""Calls of the user's function on the rows of a block."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from headrace.physical.stages.elementwise import call_each


@pytest.mark.parametrize(
    ("rows", "has_tuples"),
    [
        pytest.param([1, 2, 3], False, id="bare"),
        pytest.param([(1,), (2,), (3,)], True, id="tuples"),
        pytest.param([1, (2,), 3], None, id="mixed"),
    ],
)
def test_a_stop_iteration_of_the_functions_own_is_an_error_of_its_row(rows: list[Any], has_tuples: bool | None) -> None:
    def until_two(x: int) -> int:
        if x == 2:
            raise StopIteration("two")
        return x

    results, _, error = call_each(until_two, rows, has_tuples)
    assert results == [1]
    assert type(error) is StopIteration
    assert str(error) == "two"
    assert traceback.extract_tb(error.__traceback__)[-1].name == "until_two"
    assert call_each(until_two, rows[2:], has_tuples) == ([3], {int}, None)
