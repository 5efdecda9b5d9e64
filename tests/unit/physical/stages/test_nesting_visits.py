"""The order in which elements of datasets that lie whole are taken, beside slots that are visited one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.physical.stages.nesting_visits import Turns, turns_of


class Before(NamedTuple):
    """How turns begin, and the lengths of the datasets that follow."""

    slots: list[int | None]
    cycle: int
    given: int
    block_length: int
    lengths: list[int]


class Visited(NamedTuple):
    """Where slots stand after an element."""

    element: int
    cycle: int
    given: int
    reached: int
    slots: list[tuple[int, int] | None]


@st.composite
def beginnings(draw: st.DrawFn) -> Before:
    slots = draw(st.lists(st.none() | st.integers(0, 5), min_size=1, max_size=4))
    cycle = draw(st.integers(0, len(slots) - 1))
    block_length = draw(st.integers(1, 4) | st.just(1 << 62))
    given = 0 if slots[cycle] is None else draw(st.integers(0, min(block_length, 5) - 1))
    return Before(slots, cycle, given, block_length, draw(st.lists(st.integers(0, 5), max_size=8)))


def visited(before: Before, *, has_ended: bool) -> Iterator[Visited]:
    """Visits slots one after the other, until another dataset would be opened; an element is its number among all of all datasets."""
    count = len(before.slots)
    order = [slot % count for slot in range(before.cycle, before.cycle + count)]
    numbers = [slot for slot in order if before.slots[slot] is not None]
    lengths = [*[before.slots[slot] or 0 for slot in numbers], *before.lengths]
    firsts = [sum(lengths[:number]) for number in range(len(lengths))]
    slots: list[tuple[int, int] | None] = [None] * count
    for number, slot in enumerate(numbers):
        slots[slot] = number, 0
    cycle, given, reached = before.cycle, before.given, len(numbers)
    while True:
        now = slots[cycle]
        if now is None and reached < len(lengths):
            now = slots[cycle] = reached, 0
            reached += 1
        if now is None and not (has_ended and any(slots)):
            return
        if now is not None and now[1] < lengths[now[0]]:
            slots[cycle] = now[0], now[1] + 1
            given += 1
            if given == before.block_length:
                cycle, given = (cycle + 1) % count, 0
            yield Visited(firsts[now[0]] + now[1], cycle, given, reached, list(slots))
            continue
        slots[cycle] = None
        cycle, given = (cycle + 1) % count, 0


def begun(before: Before) -> Turns:
    turns = turns_of(before.slots, before.cycle, before.given, before.block_length)
    for length in before.lengths:
        turns.add(length)
    return turns


@given(beginnings(), st.booleans())
def test_elements_come_and_slots_stand_as_where_slots_are_visited_one_after_the_other(
    before: Before, has_ended: bool
) -> None:
    turns = begun(before)
    turns.has_ended = has_ended
    expected = list(visited(before, has_ended=has_ended))
    assert turns.ready == len(expected)
    if expected:
        assert turns.order(len(expected)).tolist() == [each.element for each in expected]
    at_first = turns.after(0)
    assert (at_first.cycle, at_first.given) == (before.cycle, before.given)
    assert [slot and slot[1] for slot in at_first.slots] == [left if left is None else 0 for left in before.slots]
    assert at_first.reached == sum(left is not None for left in before.slots)
    for count, each in enumerate(expected, 1):
        stands = turns.after(count)
        assert (stands.cycle, stands.given, stands.reached, stands.slots) == each[1:]


@given(beginnings(), st.integers(0, 8))
def test_datasets_that_are_dropped_were_never_there(before: Before, dropped: int) -> None:
    kept = before.lengths[: max(0, len(before.lengths) - dropped)]
    turns = begun(before)
    turns.drop(len(before.lengths) - len(kept))
    expected = list(visited(before._replace(lengths=kept), has_ended=False))
    assert turns.ready == len(expected)
    if expected:
        assert turns.order(len(expected)).tolist() == [each.element for each in expected]


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 30))
def test_hardly_a_dataset_is_opened_before_its_turn_is_within_what_is_asked_for(
    cycle: int, block: int, wanted: int
) -> None:
    opened: list[int] = []

    def function(x: int) -> hr.Dataset:
        opened.append(x)
        return hr.Dataset.range(x % 4)

    dataset = hr.Dataset.range(1000).interleave(function, cycle_length=cycle, block_length=block)
    assert len(list(dataset.batch(wanted).take(1))) == 1
    slots = Before([None] * cycle, 0, 0, block, [x % 4 for x in range(200)])
    reached = [each.reached for each in visited(slots, has_ended=False)]
    # A few of which the elements are at hand are opened with the last ones, half as many at the most.
    assert len(opened) <= reached[wanted - 1] + reached[wanted - 1] // 2
