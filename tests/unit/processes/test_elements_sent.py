"""Elements on their way: what comes out is what went in, whether they went as rows or as columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Rows
from headrace.processes.elements_sent import received_elements, sent_elements, stacked
from headrace.processes.leases import Leases
from headrace.processes.parcels import packed, unpacked
from headrace.processes.slab import Slab

ALIKE: list[Any] = [
    [np.arange(3) + x for x in range(4)],
    [(np.full(2, x, np.float32), {"a": np.full((2, 2), x)}) for x in range(3)],
    [*range(4)],
    [x / 2 for x in range(4)],
    [x > 1 for x in range(4)],
    [np.float32(x) for x in range(4)],
    [np.uint8(x) for x in range(4)],
    [(np.arange(2), x) for x in range(3)],
    [{"x": x, "y": (x / 2, np.int8(x))} for x in range(3)],
]
NOT_ALIKE: list[Any] = [
    [np.arange(x) for x in range(4)],
    [0, 1.0],
    [0, False],
    [0, 2**63],
    [0, np.int64(1)],
    [np.float32(0), np.float64(1)],
    [(np.arange(2), x) for x in (0, 1.0)],
    ["a", "b"],
    [np.datetime64(x, "s") for x in range(3)],
    [np.array(x) for x in range(3)],
    [np.array(["a", "b"], object)] * 2,
    [np.arange(2, dtype=">i4")] * 2,
    [],
    [()] * 2,
]


@pytest.mark.parametrize("rows", ALIKE, ids=str)
def test_arrays_and_numbers_that_will_be_stacked_go_as_one_for_each_leaf(rows: list[Any]) -> None:
    received = received_elements(sent_elements(stacked(Rows(rows), lambda _: None)))
    assert isinstance(received, Columns)
    assert repr(received.rows()) == repr(rows)


@pytest.mark.parametrize("rows", ALIKE, ids=str)
def test_what_a_user_will_see_goes_one_by_one(rows: list[Any]) -> None:
    assert isinstance(received_elements(sent_elements(Rows(rows))), Rows)


@pytest.mark.parametrize("rows", NOT_ALIKE, ids=str)
def test_what_is_not_alike_goes_one_by_one(rows: list[Any]) -> None:
    received = received_elements(sent_elements(stacked(Rows(rows), lambda _: None)))
    assert isinstance(received, Rows)
    assert repr(received.rows()) == repr(rows)


def test_large_arrays_are_stacked_where_their_reader_finds_them() -> None:
    slab, leases = Slab(), Leases()
    rows = [np.full((64, 64), x, np.float32) for x in range(3)]
    made: list[np.ndarray] = []

    def memory(nbytes: int) -> np.ndarray | None:
        found = slab.array(nbytes)
        assert found is not None
        made.append(found)
        return found

    parcel = packed(sent_elements(stacked(Rows(rows), memory)), slab)
    leases.add(slab.fresh())
    received = received_elements(unpacked(parcel, leases))
    (there,) = received.columns().arrays
    made[0][:4] = 1  # the process still has it, and writes where the reader reads
    assert there[0, 0, 0] == np.frombuffer(bytes([1] * 4), np.float32)[0]
    assert there[2, 63, 63] == 2
    made.clear()
    assert slab.free_bytes + there.nbytes == 1 << 20  # there is no second copy


def test_arrays_are_stacked_all_the_same_where_the_system_has_no_more_memory_to_share() -> None:
    rows = [np.full((64, 64), x, np.float32) for x in range(3)]
    (there,) = stacked(Rows(rows), lambda _: None).columns().arrays
    np.testing.assert_array_equal(there, np.stack(rows))
