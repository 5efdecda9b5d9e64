"""What a stage remembers of what it has read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor, PositionsCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.errors import DataError
from headrace.physical.input_history import InputHistory

# How many elements each run has; None is a failure.
RUNS = st.lists(st.none() | st.integers(1, 4), max_size=6)


def read(history: InputHistory, runs: list[int | None]) -> list[int]:
    """Adds runs of elements 0, 1, 2, … in order; returns the indices of those that are no failures."""
    good: list[int] = []
    element = history.index
    for length in runs:
        if length is None:
            item: Block | Failure = Failure(DataError("no"), IndexCursor(element), IndexCursor(element + 1))
        else:
            indices = range(element, element + length)
            item = Block(Rows(list(indices)), IndexCursor(element), IndexOrigin(indices))
            good += indices
        assert history.add(item) == element
        element += length or 1
    return good


@given(RUNS, st.integers(0, 3))
def test_every_position_and_origin_is_that_of_its_element(runs: list[int | None], first: int) -> None:
    history = InputHistory(IndexCursor(first), first)
    good = read(history, runs)
    for index in range(first, history.index + 1):
        assert history.position(index).state() == {"index": index}
    origins = history.origins(np.array(good, dtype=np.int64))
    assert [origins.describe(at) for at in range(len(good))] == [f"element {index}" for index in good]


@given(RUNS, st.data())
def test_what_is_forgotten_changes_neither_the_rest_nor_what_was_handed_out(
    runs: list[int | None], data: st.DataObject
) -> None:
    history = InputHistory(IndexCursor(0))
    good = read(history, runs)
    before = history.origins(np.array(good, dtype=np.int64))
    oldest = data.draw(st.integers(0, history.index))
    history.forget_before(oldest)
    good += read(history, runs)
    for index in range(oldest, history.index + 1):
        assert history.position(index).state() == {"index": index}
    kept = [index for index in good if index >= oldest]
    origins = history.origins(np.array(kept, dtype=np.int64))
    assert [origins.describe(at) for at in range(len(kept))] == [f"element {index}" for index in kept]
    assert [before.describe(at) for at in range(len(before.indices))] == [
        f"element {index}" for index in before.indices
    ]


@pytest.mark.parametrize("steps", [[0], [1], [2], [1, 1]])
def test_a_cursor_of_positions_is_at_the_position_of_its_element(steps: list[int]) -> None:
    cursor = PositionsCursor([IndexCursor(position) for position in (3, 5, 8)])
    for step in steps:
        cursor = cursor.advance(step)
    assert cursor.state() == {"index": (3, 5, 8)[sum(steps)]}
