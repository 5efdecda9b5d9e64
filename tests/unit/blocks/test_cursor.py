"""Cursors: immutable places, written down only when asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.cursor import (
    CountedCursor,
    Cursor,
    IndexCursor,
    JoinedCursor,
    OffsetCursor,
    StridedCursor,
)

BASE = IndexCursor(10)
CURSORS: list[Cursor] = [
    BASE,
    CountedCursor("taken", 2, BASE),
    StridedCursor(BASE, 3),
    OffsetCursor(BASE, [0, 4, 5, 9]),
    JoinedCursor([0, 2], [BASE, IndexCursor(50)]),
]


@given(st.sampled_from(CURSORS), st.integers(0, 5), st.integers(0, 5))
def test_two_steps_are_one_and_none_is_none(cursor: Cursor, first: int, second: int) -> None:
    assert cursor.advance(first).advance(second).state() == cursor.advance(first + second).state()
    assert cursor.advance(0).state() == cursor.state()


def test_what_each_writes_down() -> None:
    assert BASE.advance(2).state() == {"index": 12}
    assert CountedCursor("taken", 2, BASE).advance(3).state() == {"taken": 5, "input": {"index": 13}}
    assert StridedCursor(BASE, 3).advance(2).state() == {"index": 16}


def test_offsets_are_clamped_at_the_end_of_the_block() -> None:
    cursor = OffsetCursor(BASE, [0, 4, 9])
    assert [cursor.advance(count).state()["index"] for count in range(4)] == [10, 14, 19, 19]


def test_pieces_follow_each_other() -> None:
    cursor = JoinedCursor([0, 2, 3], [BASE, IndexCursor(50), IndexCursor(70)])
    assert [cursor.advance(count).state()["index"] for count in range(6)] == [10, 11, 50, 70, 71, 72]
