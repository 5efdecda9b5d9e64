"""What a loop asks of an element before it takes it apart holds of those of its form, and of no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.physical.loops.compiled import compiled
from headrace.physical.loops.taken_apart import Apart, Arrays

shapes = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)
any_shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(shapes, any_shapes, st.sampled_from([np.float32, np.int32]))
def test_an_array_is_taken_for_one_of_its_own_dtype_and_shape(
    shape: tuple[int, ...], other: tuple[int, ...], dtype: Any
) -> None:
    constants: list[Any] = []

    def constant(value: Any) -> str:
        constants.append(value)
        return f"k{len(constants) - 1}"

    conditions = Arrays(np.dtype(np.float32), shape).conditions("x", constant)
    names = {f"k{number}": value for number, value in enumerate(constants)}

    def holds(array: Any) -> bool:
        return bool(eval(" and ".join(conditions), {"ndarray": np.ndarray, **names}, {"x": array}))

    assert holds(np.zeros(other, dtype)) == (dtype is np.float32 and other == shape)
    assert holds(np.zeros(shape, np.float32))
    assert not holds(np.zeros(shape, np.float32).tolist())


def taken(like: Any, element: Any, *, may_be_list: bool = True) -> list[list[Any]] | None:
    """The columns that an element goes into, in a loop for those like another; None where it is of another form."""
    apart = Apart.of(like)
    assert apart is not None
    constants: list[Any] = []

    def constant(value: Any) -> str:
        constants.append(value)
        return f"k{len(constants) - 1}"

    lines = apart.text("x", constant, ["return False"], may_be_list=may_be_list)
    columns: list[list[Any]] = [[] for _ in apart.leaves]
    text = [
        "def loop(x, constants, columns):",
        f" {''.join(f'k{number}, ' for number in range(len(constants)))}= constants",
        f" {''.join(f'c{number}, ' for number in range(len(columns)))}= columns",
        *(f" {line}" for line in lines),
        " return True",
        "",
    ]
    is_taken = compiled("\n".join(text))(element, constants, columns)
    assert is_taken or columns == [[]] * len(columns)
    return columns if is_taken else None


LIKE = (1, {"b": "x", "a": (2.0, ())})


def test_an_element_goes_into_the_columns_of_its_leaves() -> None:
    assert taken(LIKE, (5, {"b": "y", "a": (0.5, ())})) == [[5], [0.5], ["y"]]
    assert taken(LIKE, [5, {"b": "y", "a": (0.5, ())}]) == [[5], [0.5], ["y"]]
    assert taken(LIKE, [5, {"b": "y", "a": (0.5, ())}], may_be_list=False) is None


@pytest.mark.parametrize(
    "other",
    [
        1,
        None,
        "ab",
        (),
        (1,),
        (1, 2),
        (True, LIKE[1]),
        (*LIKE, 1),
        iter(LIKE),
        (1, {"a": (2.0, ()), "b": "x"}),
        (1, {"b": "x"}),
        (1, {"b": "x", "a": (2.0, ()), "c": 1}),
        (1, {"b": b"x", "a": (2.0, ())}),
        (1, {"b": "x", "a": [2.0, ()]}),
        (1, {"b": "x", "a": (2.0, (1,))}),
        (1, {"b": "x", "a": (2.0, [])}),
    ],
)
def test_an_element_of_another_form_goes_into_none(other: Any) -> None:
    assert taken(LIKE, other) is None
