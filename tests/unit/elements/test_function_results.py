"""What a function gave: what is copied, and what is not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import optree
import pytest
from tests.cases.structures import Pair, Sample

import headrace as hr
from headrace.elements.function_results import owned
from headrace.elements.structure import flatten, normalize


def fresh() -> np.ndarray:
    return np.arange(12.0).reshape(4, 3)


BUFFER = fresh()
KEPT: list[Any] = []


def kept(value: Any) -> Any:
    KEPT.append(value)
    return value


def addresses(value: Any) -> list[int]:
    arrays = [leaf for leaf in flatten(normalize(value))[0] if isinstance(leaf, np.ndarray)]
    return [array.__array_interface__["data"][0] for array in arrays]


def moved(function: Callable[[Any], Any], make: Callable[[], Any] = int) -> list[bool]:
    """For each array that the function gives back, called with what ``make`` makes, whether it was copied."""
    rows = [make()]
    for row in rows:
        result = function(row)
        before = addresses(result)
        result = owned(result, row, lists=1)
        return [one != other for one, other in zip(before, addresses(result), strict=True)]
    raise AssertionError


@pytest.mark.parametrize(
    "function",
    [
        lambda _: fresh(),
        lambda _: fresh()[1:],
        lambda _: (fresh(), 1, "text"),
        lambda _: {"a": fresh(), "b": {"c": fresh()[::-1]}},
        lambda _: Pair(fresh(), (fresh(),)),
        lambda _: Sample(fresh()),
        lambda _: [fresh(), fresh()],
        lambda _: np.frombuffer(b"12345678"),
        lambda _: np.array(["a", None], dtype=object),
    ],
    ids=itertools.count(),
)
def test_what_nobody_else_has_is_not_copied(function: Callable[[Any], Any]) -> None:
    assert not any(moved(function))


@pytest.mark.parametrize(
    "function",
    [
        lambda _: BUFFER,
        lambda _: BUFFER[2:],
        lambda _: (BUFFER, 1),
        lambda _: {"a": {"b": BUFFER[::-1]}},
        lambda _: Pair(BUFFER, None),
        lambda _: Sample(BUFFER),
        lambda _: [BUFFER],
        lambda _: kept(fresh()),
        lambda _: kept(fresh())[1:],
        lambda _: kept(fresh()[1:]),
        lambda _: kept({"a": fresh()}),
        lambda _: {"n": kept({"a": fresh()})},
        lambda _: kept((fresh(), 1)),
        lambda _: kept(Sample(fresh())),
        lambda _: np.frombuffer(kept(bytearray(8))),
        lambda _: np.lib.stride_tricks.sliding_window_view(BUFFER, 2, axis=0),
    ],
    ids=itertools.count(),
)
def test_what_the_function_may_still_change_is_copied(function: Callable[[Any], Any]) -> None:
    assert all(moved(function))


def test_one_array_given_back_twice_becomes_two() -> None:
    result = (fresh(),) * 2
    result = owned(result)
    assert not np.shares_memory(*result)


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (lambda x: x, fresh),
        (lambda x: x[1:], fresh),
        (lambda x: (x, 1), fresh),
        (lambda x: (x[::-1], 1), fresh),
        (lambda x: {**x, "b": 1}, lambda: {"a": fresh()}),
        (lambda x: x, lambda: {"a": fresh()}),
        (lambda x: (x["a"][1:],), lambda: {"a": fresh(), "b": 1}),
        (lambda x: (x[0], x[1]), lambda: (fresh(), fresh())),
        (lambda x: x[::-1], lambda: fresh()[1]),
    ],
    ids=itertools.count(),
)
def test_what_was_given_passes_uncopied_unless_it_was_kept(
    function: Callable[[Any], Any], make: Callable[[], Any]
) -> None:
    assert not any(moved(function, make))
    KEPT.clear()
    assert all(moved(lambda x: function(kept(x)), make))
    assert all(moved(lambda x: kept(function(x)), make))


@pytest.mark.parametrize("shape", [(1 << 18,), (512, 512), (0,), (3,)])
@pytest.mark.parametrize("place", ["alone", "tuple", "dict", "list"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_that_a_function_holds_and_writes_again_stay_what_they_were(shape: Any, place: str, order: Any) -> None:
    buffer = np.zeros(shape, np.float32, order)
    places: dict[str, Any] = {
        "alone": lambda: buffer,
        "tuple": lambda: (buffer, 1),
        "dict": lambda: {"x": buffer},
        "list": lambda: (1, {"x": (buffer,)}),
    }

    def function(x: int) -> Any:
        buffer.fill(x)
        return places[place]()

    def arrays(elements: Iterable[Any]) -> list[np.ndarray]:
        return [leaf for element in elements for leaf in optree.tree_leaves(element) if isinstance(leaf, np.ndarray)]

    for _ in range(2):  # in the second epoch copies lie where those of the first lay
        found = arrays(hr.Dataset.range(40).map(function).map(lambda *x: x[0] if len(x) == 1 else x))
        assert [(array.shape, array.flags.writeable, np.unique(array).tolist()) for array in found] == [
            (shape, True, [number] if np.prod(shape) else []) for number in range(40)
        ]
        del found
