"""Payloads and blocks: whatever form elements travel in, they are the same elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.block import Block, joined_block
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.joining import join, woven
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.blocks.slot_buffer import SlotBuffer
from headrace.elements.structure import LEAF, flatten, object_array
from headrace.errors import InternalError, InvalidArgumentError
from headrace.semantics.sources import ArraysSource, OneSource, RangeSource
from headrace.testing.restoring import same

PAIR = flatten((0, 0))[1]
NESTED = flatten(({"a": 0}, (0, None)))[1]
SOURCES: list[Any] = [
    ArraysSource(LEAF, (np.arange(50),)),
    ArraysSource(PAIR, (np.arange(50), np.arange(100.0, dtype=np.float32).reshape(50, 2))),
    RangeSource(3, None, 2, np.dtype(np.int32)),
    OneSource({"a": 1}),
]


def payloads(length: int, depth: int = 1) -> st.SearchStrategy[Payload]:
    """Payloads of every form, with so many elements."""
    indices = st.one_of(
        st.integers(0, 20).map(lambda start: range(start, start + length)),
        st.lists(st.integers(0, 49), min_size=length, max_size=length).map(lambda i: np.array(i, dtype=np.int64)),
    )
    forms: list[st.SearchStrategy[Payload]] = [
        st.builds(Indexed, st.sampled_from(SOURCES), indices),
        st.lists(st.integers(0, 9), min_size=length, max_size=length).map(Rows),
        st.lists(st.one_of(st.none(), st.text(), st.just((1, "a"))), min_size=length, max_size=length).map(Rows),
        st.integers(0, 9).map(lambda n: Columns(LEAF, [np.arange(n, n + length)])),
        st.just(Columns(PAIR, [np.arange(length), np.zeros((length, 3), np.float32)])),
        st.just(Columns(PAIR, None, np.arange(2.0 * length).reshape(length, 2))),
        st.just(Columns(PAIR, None, np.arange(6.0 * length).reshape(length, 2, 3))),
    ]
    if depth:
        inner = payloads(length, depth - 1)
        forms.append(st.tuples(inner, inner).map(lambda parts: Zipped(PAIR, parts)))
        forms.append(st.tuples(inner, inner).map(lambda parts: Zipped(NESTED, parts)))
    return st.one_of(forms)


LENGTHS = st.integers(1, 7)
PAYLOADS = LENGTHS.flatmap(payloads)


def assert_same_rows(mine: list[Any], theirs: list[Any]) -> None:
    assert len(mine) == len(theirs)
    assert all(map(same, mine, theirs)), (mine, theirs)


@given(PAYLOADS, st.data())
def test_a_subset_has_the_rows_at_those_places(payload: Payload, data: st.DataObject) -> None:
    rows = payload.rows()
    assert len(rows) == len(payload)
    start = data.draw(st.integers(0, len(rows)))
    part = range(start, data.draw(st.integers(start, len(rows))), data.draw(st.integers(1, 3)))
    if part:
        assert_same_rows(payload.subset(part).rows(), [rows[place] for place in part])
    places = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1)), dtype=np.int64)
    assert_same_rows(payload.subset(places).rows(), [rows[place] for place in places])
    assert len(payload.subset(places)) == len(places)


@given(PAYLOADS)
def test_columns_are_what_the_rows_stack_to_or_fail_with_the_same_words(payload: Payload) -> None:
    mine, theirs = columns_or_error(payload), columns_or_error(Rows(payload.rows()))
    if isinstance(mine, str) or isinstance(theirs, str):
        assert mine == theirs
        return
    assert mine.treedef == theirs.treedef
    for one, other in zip(mine.arrays, theirs.arrays, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def columns_or_error(payload: Payload) -> Columns | str:
    try:
        return payload.columns()
    except InvalidArgumentError as error:
        return str(error)


@given(st.lists(PAYLOADS, min_size=1, max_size=4))
def test_a_join_has_all_rows_in_order(parts: list[Payload]) -> None:
    whole = join(parts)
    rows = [row for part in parts for row in part.rows()]
    assert len(whole) == len(rows)
    assert_same_rows(whole.rows(), rows)


@given(st.data(), st.integers(1, 3), st.integers(1, 3))
def test_payloads_by_turns_have_the_rows_by_turns(data: st.DataObject, turn: int, rounds: int) -> None:
    parts = data.draw(st.lists(payloads(turn * rounds), min_size=1, max_size=4))
    rows = [part.rows() for part in parts]
    expected = [row for at in range(rounds) for part in rows for row in part[at * turn : (at + 1) * turn]]
    assert same(woven(parts, turn).rows(), expected)


@pytest.mark.parametrize(
    "columns", [Columns(LEAF, [np.zeros((4, 0))]), Columns(PAIR, None, np.arange(8.0).reshape(4, 2))]
)
def test_columns_by_turns_stay_columns(columns: Columns) -> None:
    assert isinstance(woven([columns, columns], 2), Columns)
    assert same(woven([columns, columns], 2).rows(), [row for at in (0, 2) for row in columns.rows()[at : at + 2] * 2])


def test_a_join_keeps_the_cheapest_form() -> None:
    source = SOURCES[0]
    numbers = join([Indexed(source, range(3)), Indexed(source, np.array([7, 5]))])
    assert isinstance(numbers, Indexed)
    assert numbers.rows() == [0, 1, 2, 7, 5]
    matrix = np.zeros((2, 3))
    assert isinstance(join([Columns(PAIR, None, matrix), Columns(PAIR, None, matrix)]), Columns)
    unlike = [Columns(LEAF, [np.zeros(2, np.float32)]), Columns(LEAF, [np.zeros(2)])]
    assert isinstance(join(unlike), Rows)


@pytest.mark.parametrize("indices", [range(3), np.array([4, 1, 0])])
def test_elements_of_several_sources_are_joined_in_columns_and_are_read_only(indices: Any) -> None:
    sources = [ArraysSource(PAIR, (np.arange(n, n + 9), np.full((9, 2), n))) for n in (0, 100)]
    parts = [Indexed(source, indices) for source in sources]
    groups: list[list[Payload]] = [
        [*parts],
        [parts[0].columns(), parts[1]],
        [parts[0], Indexed(sources[1], np.array([8]))],
    ]
    for group in groups:
        whole = join(group)
        assert_same_rows(whole.rows(), [row for part in group for row in part.rows()])
    whole = join(parts)
    assert isinstance(whole, Columns)
    assert not any(row[1].flags.writeable for row in [*whole.rows(), *whole.subset(np.array([1, 5])).rows()])


@pytest.mark.parametrize("writeable", [True, False])
def test_batches_in_a_matrix_are_arrays_of_their_own_and_stay_read_only(writeable: bool) -> None:
    matrix = np.arange(24).reshape(4, 2, 3)  # four batches of three pairs
    matrix.flags.writeable = writeable
    columns = Columns(PAIR, None, matrix)
    buffer = SlotBuffer()
    buffer.put(np.arange(2), columns.subset(range(2)))
    buffer.put(np.arange(2, 4), columns.subset(np.array([2, 3])))
    seen = [columns, columns.subset(np.arange(4)), join([columns.subset(range(3)), columns.subset(range(3, 4))])]
    seen += [woven([columns.subset(range(0, 4, 2)), columns.subset(range(1, 4, 2))], 1), buffer.get(np.arange(4))]
    for payload in seen:
        rows = payload.rows()
        assert [[leaf.tolist() for leaf in row] for row in rows] == matrix.tolist()
        assert {leaf.flags.writeable for row in rows for leaf in row} == {writeable}
        assert not writeable or all(leaf.flags.owndata for row in rows for leaf in row)
        assert [array.shape for array in payload.columns().arrays] == [(4, 3)] * 2


def block(numbers: range) -> Block:
    return Block(Indexed(SOURCES[0], numbers), IndexCursor(numbers.start), IndexOrigin(numbers))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
def test_a_joined_block_knows_every_place_and_origin(lengths: list[int], data: st.DataObject) -> None:
    blocks, start = [], 0
    for length in lengths:
        blocks.append(block(range(start, start + length)))
        start += length + 2  # apart, so that a place tells which block it is in
    numbers = [number for one in blocks for number in one.payload.rows()]
    whole = joined_block(blocks)
    assert whole.payload.rows() == numbers
    places = [whole.cursor.advance(offset).state()["index"] for offset in range(len(numbers))]
    assert places == numbers
    assert whole.after.state()["index"] == numbers[-1] + 1
    assert [whole.origin.describe(offset) for offset in range(len(numbers))] == [f"element {n}" for n in numbers]
    first = data.draw(st.integers(0, len(numbers) - 1))
    last = data.draw(st.integers(first + 1, len(numbers)))
    part = whole.slice(first, last)
    assert part.payload.rows() == numbers[first:last]
    assert part.cursor.state()["index"] == numbers[first]
    assert part.origin.describe(0) == f"element {numbers[first]}"


def test_a_whole_slice_is_the_block_itself_and_nothing_cannot_be_joined() -> None:
    one = block(range(3))
    assert one.slice(0, 9) is one
    assert joined_block([one]) is one
    with pytest.raises(InternalError):
        joined_block([])


@given(PAYLOADS)
def test_weights_are_never_negative(payload: Payload) -> None:
    assert payload.nbytes >= 0


def test_texts_and_bytes_in_columns_weigh_what_they_have() -> None:
    pictures = object_array([bytes(100_000), bytes(200_000), b""])
    assert Columns(LEAF, [pictures]).nbytes >= 3 * 200_000
    assert Columns(LEAF, [pictures[:0]]).nbytes == 0
    assert Columns(LEAF, [object_array([np.zeros(1000), np.zeros(10)])]).nbytes >= 2 * 8_000
