"""Blocks packed one after the other: each comes out as if it went alone, whatever came before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import flatten
from headrace.processes.elements_packed import ElementsPacker, ElementsUnpacker
from headrace.processes.elements_sent import received_elements, sent_elements
from headrace.processes.leases import Leases
from headrace.processes.parcels import Parcel, packed, unpacked
from headrace.processes.slab import Slab

# Of one, two and two leaves; the last two differ in structure alone.
STRUCTURES = [0, (0, 1), {"a": 0, "b": 1}]


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Draws an array of two elements, small or large, in one piece or not."""
    width = draw(st.sampled_from([0, 3, 3000]))
    dtype = draw(st.sampled_from(["f4", ">f4", "i8", "?", "M8[s]", "U3", "O"]))
    array = np.arange(2 * width).reshape(2, width).astype(dtype)
    array = draw(st.sampled_from([array, np.asfortranarray(array), array[:, ::2]]))
    array.flags.writeable = draw(st.booleans())
    return array


@st.composite
def blocks(draw: st.DrawFn) -> Payload:
    """Draws a block of two elements."""
    treedef = flatten(draw(st.sampled_from(STRUCTURES)))[1]
    found = draw(st.lists(arrays(), min_size=treedef.num_leaves, max_size=treedef.num_leaves))
    if draw(st.booleans()):
        return Columns(treedef, found, locked=draw(st.sampled_from([(), [True] * len(found)])))
    return Rows(Columns(treedef, found).rows())


def _shown(payload: Payload) -> list[Any]:
    """Returns all that a reader can see."""
    shown: list[Any] = []
    for row in payload.rows():
        leaves, treedef = flatten(row)
        shown.append(
            (str(treedef), [(repr(leaf), getattr(leaf, "dtype", None), _is_writeable(leaf)) for leaf in leaves])
        )
    return shown


def _is_writeable(leaf: object) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.flags.writeable


@given(st.lists(blocks(), min_size=2, max_size=6), st.lists(st.integers(0, 5), max_size=4))
def test_each_block_comes_out_as_if_it_went_alone(drawn: list[Payload], again: list[int]) -> None:
    slab, leases = Slab(), Leases()
    packer, unpacker = ElementsPacker(slab), ElementsUnpacker()
    for payload in [*drawn, *(drawn[index % len(drawn)] for index in again)]:
        like_others = Parcel.of_tuples(packer.packed(payload).in_tuples())
        alone = packed(sent_elements(payload), slab)
        leases.add(slab.fresh())
        assert _shown(unpacker.unpacked(like_others, leases)) == _shown(received_elements(unpacked(alone, leases)))
        slab.give(leases.gone())


def test_of_a_block_like_the_last_only_where_it_lies_is_new() -> None:
    slab = Slab()
    packer, treedef = ElementsPacker(slab), flatten((0, 1))[1]
    first, second = (
        packer.packed(Columns(treedef, [np.full((2, 3000), x, np.float32), np.full(2, x)])) for x in range(2)
    )
    assert first.body is second.body
    assert [nbytes for _, nbytes, _ in second.parts] == [24_000, 16]
    slab.close()
