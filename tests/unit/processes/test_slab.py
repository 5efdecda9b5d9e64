"""Batches that are made where their reader finds them: nothing is copied, and nothing is used again that somebody has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ResourceExhaustedError
from headrace.processes.arena import Arena
from headrace.processes.leases import Leases
from headrace.processes.parcels import packed, unpacked
from headrace.processes.slab import Slab

if TYPE_CHECKING:
    import pytest

BYTES = 1 << 16


def filled(slab: Slab, value: int) -> np.ndarray:
    array = slab.array(BYTES)
    assert array is not None
    array[:] = value
    return array


def test_what_lies_in_the_slab_is_sent_by_saying_where_and_anything_else_is_copied_there() -> None:
    slab, leases = Slab(), Leases()
    inside, outside = filled(slab, 1), np.full(BYTES, 2, np.uint8)
    parcel = packed([inside, outside], slab)
    leases.add(slab.fresh())
    received = unpacked(parcel, leases)
    inside[0] = outside[0] = 7
    assert [array[0] for array in received] == [7, 2]
    assert [array[1] for array in received] == [1, 2]


def test_a_part_of_an_array_is_copied_and_its_beginning_is_not() -> None:
    slab, leases = Slab(), Leases()
    whole = filled(slab, 1)
    parcel = packed([whole[: BYTES // 2], whole[BYTES // 4 :]], slab)
    leases.add(slab.fresh())
    first, second = unpacked(parcel, leases)
    whole[:] = 7
    assert (first == 7).all()
    assert (second == 1).all()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60))
def test_no_place_is_used_again_while_the_writer_or_the_reader_has_an_array_on_it(
    steps: list[tuple[bool, int]],
) -> None:
    slab, leases = Slab(), Leases()
    held: list[tuple[int, np.ndarray]] = []  # the writer's own and the reader's
    for value, (sends, dropped) in enumerate(steps, 1):
        array = filled(slab, value % 250)
        if sends:
            parcel = packed(array, slab)
            leases.add(slab.fresh())
            held.append((value % 250, unpacked(parcel, leases)))
        if value % 3:
            held.append((value % 250, array))
        del array
        if dropped < len(held):
            del held[dropped]
        slab.give(leases.gone())
        assert all((one == expected).all() for expected, one in held)
    slab.close()


def test_memory_that_everybody_has_let_go_is_used_again() -> None:
    slab, leases = Slab(), Leases()
    for value in range(2_000):  # together eight segments
        array = filled(slab, value % 250)
        parcel = packed(array, slab)
        leases.add(slab.fresh())
        received = unpacked(parcel, leases)
        del array, received
        slab.give(leases.gone())
    assert len(leases._segments) == 1
    slab.close()


def test_where_the_system_has_no_shared_memory_batches_lie_in_the_process_s_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(arena: Arena, nbytes: int) -> None:
        raise ResourceExhaustedError("no more memory")

    monkeypatch.setattr(Arena, "take", refuse)
    assert Slab().array(BYTES) is None
