"""Slots hold elements in the form in which they come, and change it when they must."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.columns import Columns
from headrace.blocks.joining import join
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.blocks.slot_buffer import SlotBuffer
from headrace.elements.structure import LEAF, flatten
from headrace.semantics.sources import ArraysSource
from headrace.testing.restoring import same

SOURCE = ArraysSource(LEAF, (np.arange(100),))


def payloads(length: int) -> st.SearchStrategy[Payload]:
    alone = payloads_alone(length)
    return alone | st.tuples(alone, alone | st.tuples(alone).map(side_by_side)).map(side_by_side)


def side_by_side(parts: Sequence[Payload]) -> Zipped:
    return Zipped(flatten(tuple(range(len(parts))))[1], parts)


def payloads_alone(length: int) -> st.SearchStrategy[Payload]:
    numbers = st.lists(st.integers(0, 99), min_size=length, max_size=length)
    return st.one_of(
        numbers.map(lambda n: Indexed(SOURCE, np.array(n, dtype=np.int64))),
        numbers.map(lambda n: Columns(LEAF, [np.array(n, dtype=np.int64)])),
        numbers.map(lambda n: Columns(LEAF, [np.array(n, dtype=np.float32)])),
        numbers.map(lambda n: Rows([str(one) for one in n])),
        st.integers(0, 50).map(lambda start: Indexed(SOURCE, range(start, start + length))),
    )


PUTS = st.lists(
    st.lists(st.integers(0, 40), min_size=1, max_size=8).flatmap(lambda p: st.tuples(st.just(p), payloads(len(p)))),
    min_size=1,
    max_size=6,
)


@given(PUTS)
def test_what_was_put_last_lies_in_a_slot(puts: list[tuple[list[int], Payload]]) -> None:
    slots, expected = SlotBuffer(), dict[int, Any]()
    for places, payload in puts:
        slots.put(np.array(places), payload)
        expected.update(zip(places, payload.rows(), strict=True))
        held = sorted(expected)
        came = slots.get(np.array(held)).rows()
        assert all(same(mine, expected[place]) for place, mine in zip(held, came, strict=True))


@given(payloads(12), st.lists(st.integers(0, 11), min_size=1, max_size=20), st.booleans(), st.data())
def test_what_is_exchanged_comes_out_one_after_the_other(
    held: Payload, places: list[int], put_first: bool, data: st.DataObject
) -> None:
    slots, incoming = SlotBuffer(), data.draw(payloads(len(places)))
    slots.put_first(held) if put_first else slots.put(np.arange(12), held)
    before = [max((i for i in range(n) if places[i] == place), default=-1) for n, place in enumerate(places)]
    again = [n for n, earlier in enumerate(before) if earlier >= 0]
    came = slots.get_before(np.array(places), incoming, np.array(again, int), np.array([before[n] for n in again], int))
    contents = held.rows().copy()
    for place, taken, put in zip(places, came.rows(), incoming.rows(), strict=True):
        assert same(taken, contents[place])
        contents[place] = put


def test_slots_that_nothing_lies_in_do_no_harm_when_the_form_changes() -> None:
    few = ArraysSource(LEAF, (np.arange(3),))
    slots = SlotBuffer()
    slots.put(np.array([9]), Indexed(few, np.array([2])))
    slots.put(np.array([40]), Indexed(few, np.array([1])))
    slots.put(np.array([3]), Rows(["another form"]))
    assert slots.get(np.array([9, 40, 3])).rows() == [2, 1, "another form"]


def test_numbers_side_by_side_stay_numbers_and_their_bytes_are_those_of_the_indices() -> None:
    slots = SlotBuffer()
    pair = side_by_side([Indexed(SOURCE, range(5)), Columns(LEAF, [np.arange(5)])])
    slots.put(np.arange(5), pair)
    slots.put(np.array([1]), pair.subset(np.array([4])))
    taken = slots.get(np.array([1, 3]))
    assert isinstance(taken, Zipped)
    assert isinstance(taken.parts[0], Indexed)
    assert taken.rows() == [(4, 4), (3, 3)]
    assert slots.nbytes == 5 * (8 + 8)
    assert [np.asarray(row).tolist() for row in slots.rows()] == [[0, 4, 2, 3, 4], 0, 4, 2, 3, 4]


def test_dicts_side_by_side_keep_the_order_of_their_keys() -> None:
    part = Columns(LEAF, [np.arange(2)])
    pairs = [Zipped(flatten(one)[1], [part, part]) for one in ({"a": 0, "b": 0}, {"b": 0, "a": 0})]
    slots = SlotBuffer()
    slots.put(np.arange(2), pairs[0])
    slots.put(np.arange(2, 4), pairs[1])
    for rows in (slots.get(np.arange(4)).rows(), join(pairs).rows()):
        assert list(map(list, rows)) == [["a", "b"]] * 2 + [["b", "a"]] * 2


def test_numbers_stay_numbers() -> None:
    slots = SlotBuffer()
    slots.put_first(Indexed(SOURCE, range(5)))
    assert isinstance(slots.get(np.array([3])), Indexed)
    slots.put(np.array([1]), Indexed(SOURCE, np.array([77])))
    assert isinstance(slots.get(np.array([1, 3])), Indexed)
    assert slots.get(np.array([1, 3])).rows() == [77, 3]


def test_elements_without_bytes_are_held_however_many_are_expected() -> None:
    buffer = SlotBuffer(1 << 62)
    for slot in range(2):
        buffer.put(np.array([slot]), Columns(LEAF, [np.zeros((1, 0), np.int64)]))
    assert [row.shape for row in buffer.get(np.arange(2)).rows()] == [(0,), (0,)]


def test_small_elements_beside_large_ones_take_no_more_memory_than_there_are_slots() -> None:
    expected = 1 << 17
    buffer = SlotBuffer(expected)
    for slot in range(0, 64, 2):  # the large ones grow many times, while the small ones have had all their room at once
        rows = np.full((2, 1_000), slot, np.float32)
        buffer.put(np.array([slot, slot + 1]), Columns(flatten((0, 0))[1], [rows, np.array([slot, slot + 1])]))
    assert max(len(array) for array in buffer._arrays) <= expected
    assert [label for _, label in buffer.get(np.arange(64)).rows()] == list(range(64))
    buffer.put(np.array([64]), Rows(["of another form"]))
    assert buffer.get(np.array([63, 64])).rows()[1] == "of another form"
