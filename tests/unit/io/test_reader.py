from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from headrace.errors import InvalidArgumentError
from headrace.io.reader import Chunk, RecordPosition


def test_a_place_survives_json() -> None:
    for position in (RecordPosition(), RecordPosition(2**40, 10, 9), RecordPosition(5, 2, 1, ended=True)):
        assert RecordPosition.from_json(json.loads(json.dumps(position.to_json()))) == position


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"offset": 0, "line": 1, "record": 0},
        {"offset": -1, "line": 1, "record": 0, "ended": False},
        {"offset": "0", "line": 1, "record": 0, "ended": False},
        {"offset": 0, "line": 1, "record": 0, "ended": False, "more": 1},
    ],
)
def test_what_is_no_place_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="a position in a file has"):
        RecordPosition.from_json(state)


def test_a_chunk_is_as_long_as_its_lines_and_its_columns_are_those_of_its_matrix() -> None:
    matrix = np.arange(6).reshape(3, 2)
    chunk = Chunk((), matrix, RecordPosition(), range(1, 4))
    assert len(chunk) == 3
    assert [column.tolist() for column in chunk.columns] == [[0, 2, 4], [1, 3, 5]]
    arrays = chunk.columns
    assert Chunk(arrays, None, RecordPosition(), range(1, 4)).columns is arrays
