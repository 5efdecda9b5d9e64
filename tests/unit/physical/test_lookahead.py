"""Items that are read before they are taken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.errors import DataError
from headrace.physical.lookahead import Lookahead
from headrace.physical.stage import Item


def block(start: int, count: int) -> Block:
    indices = range(start, start + count)
    return Block(Rows(list(indices)), IndexCursor(start), IndexOrigin(indices))


def failure(index: int) -> Failure:
    return Failure(DataError("no"), IndexCursor(index), IndexCursor(index + 1))


class Listed(Lookahead):
    """Reads what is in a list, and notes how much it was asked for."""

    def __init__(self, *items: Item) -> None:
        super().__init__()
        self.items: Sequence[Item] = items
        self.asked: list[int] = []

    def _next(self, limit: int) -> Item:
        self.asked.append(limit)
        item, *self.items = [*self.items, None]
        return item


def rows(item: Item) -> list[int]:
    assert isinstance(item, Block)
    return item.payload.rows()


def test_what_was_peeked_at_stays_the_next_and_is_read_once() -> None:
    ahead = Listed(block(0, 3))
    assert rows(ahead.peek(5)) == rows(ahead.peek(2)) == rows(ahead.head) == [0, 1, 2]
    assert ahead.asked == [5]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_taken_is_gone_and_the_rest_is_next(count: int) -> None:
    ahead = Listed(block(0, 3), block(3, 1))
    ahead.peek(3)
    assert rows(ahead.first(count)) == rows(ahead.take(count)) == list(range(count))
    assert rows(ahead.peek(9)) == [[1, 2], [2], [3]][count - 1]


def test_a_fill_joins_blocks_and_asks_for_what_is_lacking() -> None:
    ahead = Listed(block(0, 2), block(2, 3))
    assert ahead.fill(5) == 5
    assert ahead.asked == [5, 3]
    assert rows(ahead.take(4)) == [0, 1, 2, 3]
    assert ahead.fill(1) == 1
    assert ahead.asked == [5, 3]


def test_a_failure_comes_after_the_elements_before_it() -> None:
    ahead = Listed(block(0, 2), failure(2), block(3, 1))
    assert ahead.fill(4) == 2
    assert rows(ahead.peek(4)) == [0, 1]
    ahead.take(2)
    assert ahead.fill(4) == 0
    assert isinstance(ahead.head, Failure)
    assert ahead.drop_failure().after == IndexCursor(3)
    assert ahead.fill(4) == 1


@pytest.mark.parametrize("read", [Listed.peek, Listed.fill], ids=["peek", "fill"])
def test_after_the_end_nothing_is_read_any_more(read: object) -> None:
    ahead = Listed()
    assert callable(read)
    assert not read(ahead, 3)
    assert not read(ahead, 3)
    assert ahead.ended
    assert ahead.head is None
    assert ahead.asked == [3]
