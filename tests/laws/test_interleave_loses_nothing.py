"""Law 1 for interleave over many small datasets, of which it is not known beforehand how many elements each gives.

They are made together, by a guess of how many are enough for a block. Whatever the guess, each gives all of its elements, also to who goes
on from a state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.running import through_json

import headrace as hr


def _counted(count: int) -> Iterator[int]:
    yield from range(count)


# How many elements each gives changes from one to the next, or suddenly, or not at all.
INNER: dict[str, Callable[[Any], hr.Dataset]] = {
    "as many": lambda x: hr.Dataset.range(10),
    "others": lambda x: hr.Dataset.range(x % 7),
    "filtered": lambda x: hr.Dataset.range(20).filter(lambda y: (y * x) % 13 < x % 11),
    "mostly filtered out": lambda x: hr.Dataset.range(30).filter(lambda y: x % 50 < 2),
    "more from then on": lambda x: hr.Dataset.range(30).filter(lambda y: x > 150 or y == 0),
    "generated": lambda x: hr.Dataset.from_generator(lambda: _counted(x % 23)),
    "generated and mapped": lambda x: hr.Dataset.from_generator(lambda: _counted(x % 23)).map(lambda y: y + 1),
    "first of generated": lambda x: hr.Dataset.from_generator(lambda: _counted(x % 23)).take(x % 9),
    "nested": lambda x: hr.Dataset.range(x % 4).flat_map(lambda y: hr.Dataset.range(y + x % 5)),
    "batches": lambda x: hr.Dataset.range(x % 17).batch(3),
    "concatenated": lambda x: hr.Dataset.range(x % 5).concatenate(hr.Dataset.range(x % 3)),
}


@pytest.mark.parametrize("inner", INNER)
@settings(max_examples=(settings().max_examples + 2) // 3)
@given(
    openers=st.sampled_from([5, 37, 200, 300]),
    cycle_length=st.sampled_from([1, 2, 3, 4, 7, 16]),
    block_length=st.sampled_from([1, 2, 5, 100]),
    batch_size=st.sampled_from([None, None, 32]),
    in_workers=st.booleans(),
    part=st.floats(0, 1),
)
def test_each_dataset_gives_all_of_its_elements_in_their_turns(
    inner: str,
    openers: int,
    cycle_length: int,
    block_length: int,
    batch_size: int | None,
    in_workers: bool,
    part: float,
) -> None:
    dataset = hr.Dataset.range(openers).interleave(
        INNER[inner],
        cycle_length=cycle_length,
        block_length=block_length,
        num_parallel_calls=2 if in_workers and cycle_length > 1 else None,
    )
    if batch_size is not None and inner != "batches":
        dataset = dataset.batch(batch_size)
    expected = list(dataset.with_options(hr.Options(executor="inline")))
    assert str(list(dataset)) == str(expected)

    with iter(dataset) as first:
        given = [next(first) for _ in range(int(part * len(expected)))]
        state = through_json(first.state_dict())
    rest = iter(dataset)
    rest.load_state_dict(state)
    assert str([*given, *rest]) == str(expected)


def test_a_function_inside_datasets_that_are_made_together_is_held_to_its_time() -> None:
    may_go = threading.Event()

    def held(x: int, y: int) -> int:
        if (x, y) == (2, 1):
            may_go.wait(30)
        return x * 10 + y

    dataset = hr.Dataset.range(4).flat_map(lambda x: hr.Dataset.range(3).map(lambda y: held(x, y)))
    try:
        given = list(dataset.with_options(hr.Options(timeout_s=2)).ignore_errors())
    finally:
        may_go.set()
    assert given == [0, 1, 2, 10, 11, 12, 20, 22, 30, 31, 32]
