"""Steps are called with an element as they can be."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import InvalidArgumentError
from headrace.profiling.calling import taking


def test_a_step_of_one_argument_gets_the_element() -> None:
    assert taking(lambda element: element)((1, 2)) == (1, 2)


def test_a_step_of_several_arguments_gets_the_components() -> None:
    def step(images: int, labels: int, weight: int = 3) -> Any:
        return images, labels, weight

    assert taking(step)((1, 2)) == (1, 2, 3)
    assert taking(step)([1, 2]) == (1, 2, 3)  # as a DataLoader gives them


def test_what_a_library_does_not_describe_gets_the_element() -> None:
    assert taking(max)([4, 5]) == 5


@pytest.mark.parametrize(("element", "told"), [((1, 2, 3), "tuple of 3"), ([7], "list of 1"), (7, "int")])
def test_a_step_that_fits_in_neither_way_is_told_beside_the_element(element: Any, told: str) -> None:
    def step(images: int, labels: int) -> None:
        raise AssertionError("it cannot be called")

    with pytest.raises(InvalidArgumentError, match=rf"^profile: the step is step\(images: .* \({told}\)$"):
        taking(step)(element)


async def awaited(_: Any) -> None:
    raise AssertionError("it does not run")


def yielding(element: Any) -> Any:
    yield element
    raise AssertionError("it does not run")


@pytest.mark.parametrize(
    ("step", "told"), [(awaited, "awaited, an async function"), (yielding, "yielding, a generator")]
)
def test_a_step_that_does_nothing_when_it_is_called_is_refused(step: Any, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"the step is {told}, which does nothing when it is called"):
        taking(step)(7)
