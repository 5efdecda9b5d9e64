"""Where elements came from, in words."""

from __future__ import annotations

import numpy as np

from headrace.blocks.origin import (
    FileOrigin,
    GroupedOrigin,
    IndexOrigin,
    JoinedOrigin,
    Within,
    WordedOrigin,
    subset,
)

NUMBERS = IndexOrigin(range(10, 20))


def test_numbers_of_numbers() -> None:
    assert subset(range(10, 30, 2), range(1, 4)) == range(12, 18, 2)
    assert len(subset(range(5), range(2, 2))) == 0
    assert np.asarray(subset(range(10, 30, 2), np.array([3, 0]))).tolist() == [16, 10]
    assert np.asarray(subset(np.array([5, 6, 7]), range(1, 3))).tolist() == [6, 7]
    assert np.asarray(subset(np.array([5, 6, 7]), np.array([2, 2]))).tolist() == [7, 7]


def test_each_kind_in_words_and_picked_from() -> None:
    picked = np.array([3, 1])
    assert NUMBERS.subset(picked).describe(0) == "element 13"
    rows = FileOrigin("data/a.csv", np.array([2, 5, 7, 9]))
    assert rows.describe(1) == "data/a.csv:5"
    assert rows.subset(picked).describe(0) == "data/a.csv:9"
    assert WordedOrigin(["a", "b", "c", "d"]).subset(picked).describe(0) == "d"
    inner = Within(NUMBERS, IndexOrigin(range(7, 8)), 0)
    assert inner.subset(picked).describe(1) == "element 11 of element 7"
    assert Within(rows, NUMBERS, 0).describe(0) == "data/a.csv:2"
    joined = JoinedOrigin.of([2, 4], [NUMBERS, rows])
    assert joined.describe(1) == "element 11"
    assert joined.subset(picked).describe(0) == "data/a.csv:5"
    assert JoinedOrigin.of([10], [NUMBERS]) is NUMBERS


def test_groups_are_named_by_their_ends() -> None:
    groups = GroupedOrigin(NUMBERS, ((0, 3), (3, 4)))
    assert groups.describe(0) == "elements 10 … 12"
    assert groups.describe(1) == "element 13"
    assert groups.subset(range(1, 2)).describe(0) == "element 13"
    rows = GroupedOrigin(FileOrigin("a.csv", range(1, 9)), ((2, 5),))
    assert rows.describe(0) == "3 elements, a.csv:3 … a.csv:5"
