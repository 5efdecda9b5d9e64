"""Elements of several payloads in one order: whatever is asked, they are those of a list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.columns import Columns
from headrace.blocks.gathered import GatheredPayload
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Indexed, Payload, Rows
from headrace.elements.structure import flatten
from headrace.errors import InvalidArgumentError
from headrace.semantics.sources import RangeSource

LEAF = flatten(0)[1]


def numbers(start: int) -> Payload:
    return Indexed(RangeSource(start, None, 1, np.dtype(np.int64)), range(6))


def column(start: int) -> Payload:
    return Columns(LEAF, [np.arange(start, start + 6)])


def rows(start: int) -> Payload:
    return Rows(list(range(start, start + 6)))


PARTS = [numbers(0), numbers(10), column(20), rows(30)]
VALUES = [part.rows() for part in PARTS]
PICKS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=12)


def picked(picks: list[tuple[int, int]], parts: list[Payload] = PARTS) -> GatheredPayload:
    owners, places = (np.array(numbers, dtype=np.int64) for numbers in zip(*picks, strict=True))
    return GatheredPayload(parts, owners, places)


@given(PICKS, st.data())
def test_elements_come_as_they_were_picked(picks: list[tuple[int, int]], data: st.DataObject) -> None:
    expected = [VALUES[owner][place] for owner, place in picks]
    whole = picked(picks)
    assert whole.rows() == whole.columns().rows() == expected
    start = data.draw(st.integers(0, len(picks)))
    stop = data.draw(st.integers(start, len(picks)))
    order: Indices = np.array(data.draw(st.permutations(range(len(picks)))))
    for indices in (range(start, stop), range(start, stop, 2), order):
        assert whole.subset(indices).rows() == [expected[index] for index in indices]


def test_a_slice_reads_no_more_than_itself() -> None:
    read: list[int] = []

    class Source(RangeSource):
        def rows(self, indices: Indices) -> list[int]:
            read.extend(indices)
            return super().rows(indices)

    source = Source(0, None, 1, np.dtype(np.int64))
    whole = picked([(0, n) for n in range(6)], [Indexed(source, range(6))])
    assert whole.subset(range(2, 4)).rows() == [2, 3]
    assert read == [2, 3]


def test_parts_of_unlike_shapes_are_no_columns() -> None:
    parts: list[Payload] = [Columns(LEAF, [np.zeros((1, size))]) for size in (2, 3)]
    assert [row.shape for row in picked([(1, 0), (0, 0)], parts).rows()] == [(3,), (2,)]
    with pytest.raises(InvalidArgumentError):
        picked([(1, 0), (0, 0)], parts).columns()


def test_it_knows_whether_elements_are_tuples() -> None:
    pairs = Rows([(1, 2)])
    assert picked([(0, 0)], [numbers(0)]).has_tuples is False
    assert picked([(0, 0)], [pairs]).has_tuples is True
    assert picked([(0, 0), (1, 0)], [numbers(0), pairs]).has_tuples is None


def test_dicts_of_one_part_with_their_keys_in_two_orders_are_known_to_be_such() -> None:
    rows = Rows([{"b": n, "a": n} if n % 2 else {"a": n, "b": n} for n in range(4)])
    gathered = GatheredPayload([rows], np.zeros(4, np.int64), np.array([1, 0, 3, 2]))
    assert not gathered.columns().keys_in_order
    assert not rows.columns().subset(range(1, 3)).keys_in_order
    assert [*gathered.columns().rows()[0]] == ["b", "a"]
