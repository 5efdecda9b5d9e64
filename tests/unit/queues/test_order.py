"""In which order entries leave."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.queues.order import Order, PriorityOrder, ShuffledOrder

ORDERS: dict[str, Callable[[], Order[Any]]] = {
    "fifo": deque,
    "shuffled": lambda: ShuffledOrder(seed=0),
    "priority": PriorityOrder,
}


def entry(item: Any) -> tuple[Any, int, int]:
    return item, 1, 0


def drained(order: Order[Any]) -> list[Any]:
    return [order.popleft()[0] for _ in range(len(order))]


@pytest.mark.parametrize("name", ORDERS)
@given(items=st.lists(st.tuples(st.integers(0, 3), st.integers())), taken=st.integers(0, 20))
def test_no_order_loses_or_doubles_what_leaves_and_is_given_back(
    name: str, items: list[tuple[int, int]], taken: int
) -> None:
    order: Order[Any] = ORDERS[name]()
    for item in items:
        order.append(entry(item))
    left = [order.popleft() for _ in range(min(taken, len(items)))]
    assert len(order) == len(items) - len(left)
    order.extendleft(reversed(left))
    assert sorted(drained(order)) == sorted(items)


@given(items=st.lists(st.tuples(st.integers(0, 3), st.integers())), taken=st.integers(0, 20))
def test_equal_priorities_leave_as_they_came_also_when_some_were_given_back(
    items: list[tuple[int, int]], taken: int
) -> None:
    order = PriorityOrder()
    for item in items:
        order.append(entry(item))
    left = [order.popleft() for _ in range(min(taken, len(items)))]
    order.extendleft(reversed(left))
    assert drained(order) == sorted(items, key=lambda item: item[0])


def test_the_same_seed_shuffles_the_same_way() -> None:
    def shuffled(seed: int | None) -> list[int]:
        order: ShuffledOrder[int] = ShuffledOrder(seed)
        for item in range(50):
            order.append(entry(item))
        return drained(order)

    assert shuffled(1) == shuffled(1)
    assert shuffled(1) != shuffled(2)
    assert shuffled(None) != shuffled(None)


def test_every_entry_is_as_likely_to_be_the_first() -> None:
    order: ShuffledOrder[int] = ShuffledOrder(seed=7)
    counts = [0] * 4
    for _ in range(4000):
        for item in range(4):
            order.append(entry(item))
        counts[order.popleft()[0]] += 1
        drained(order)
    assert all(900 < count < 1100 for count in counts), counts
