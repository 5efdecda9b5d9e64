"""A function that takes another number of arguments than a tuple has parts: the error says how parts are passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace as hr
from headrace.errors import DataError

PAIRS = hr.Dataset.zip((hr.Dataset.range(3), hr.Dataset.range(3)))
HOW = "each part of a tuple is an argument of its own: lambda x, y: …, or lambda *parts: … for all of them"
OPERATIONS: dict[str, Callable[[hr.Dataset, Callable[..., Any]], hr.Dataset]] = {
    "map": lambda ds, f: ds.map(f),
    "map, as headrace finds": lambda ds, f: ds.map(f, num_parallel_calls=hr.AUTOTUNE),
    "map in workers": lambda ds, f: ds.map(f, num_parallel_calls=2),
    "map in time": lambda ds, f: ds.map(f, timeout_s=60.0),
    "map before a batch": lambda ds, f: ds.map(f).batch(2),
    "filter": lambda ds, f: ds.filter(f),
    "flat_map": lambda ds, f: ds.flat_map(f),
    "interleave": lambda ds, f: ds.interleave(f, cycle_length=2),
}


def first_error(dataset: hr.Dataset, executor: str) -> str:
    with pytest.raises(DataError) as raised:
        next(iter(dataset.with_options(hr.Options(executor=executor))))
    return raised.value.reason


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_how_parts_are_passed_is_said(operation: str, executor: str) -> None:
    apply = OPERATIONS[operation]
    assert first_error(apply(PAIRS, lambda x: x), executor).endswith(f"but 2 were given; {HOW}")
    assert first_error(apply(PAIRS, len), executor).endswith(f"(2 given); {HOW}")
    assert first_error(apply(hr.Dataset.range(3), lambda x, y: x + y), executor).endswith(f"argument: 'y'; {HOW}")


@pytest.mark.parametrize("executor", ["process", "subprocess"])
def test_processes_say_it_too(executor: str) -> None:
    dataset = PAIRS.map(lambda x: x, num_parallel_calls=2)
    assert first_error(dataset, executor).endswith(f"but 2 were given; {HOW}")


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_it_is_not_said_where_the_function_itself_calls_another(operation: str, executor: str) -> None:
    def single(x: int) -> int:
        return x

    def calls_another(*parts: int) -> Any:
        return single(*parts)

    assert first_error(OPERATIONS[operation](PAIRS, calls_another), executor).endswith("but 2 were given")


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_it_is_not_said_of_on_error_which_gets_one_argument(executor: str) -> None:
    def wrong(*_: int) -> int:
        raise ValueError("wrong")

    dataset = PAIRS.map(wrong, on_error=lambda: 0)  # type: ignore[arg-type, misc]
    assert first_error(dataset, executor).endswith("but 1 was given")
