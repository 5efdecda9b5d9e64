from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from headrace.errors import InvalidArgumentError
from headrace.io.reader import Chunk, Place


def test_a_place_survives_json() -> None:
    for place in (Place(), Place(2**40, 10, 9), Place(5, 2, 1, ended=True)):
        assert Place.from_json(json.loads(json.dumps(place.to_json()))) == place


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
    with pytest.raises(InvalidArgumentError, match="a place in a file has"):
        Place.from_json(state)


def test_a_chunk_is_as_long_as_its_lines_and_its_columns_are_those_of_its_matrix() -> None:
    matrix = np.arange(6).reshape(3, 2)
    chunk = Chunk((), matrix, Place(), range(1, 4))
    assert len(chunk) == 3
    assert [column.tolist() for column in chunk.columns] == [[0, 2, 4], [1, 3, 5]]
    arrays = chunk.columns
    assert Chunk(arrays, None, Place(), range(1, 4)).columns is arrays
