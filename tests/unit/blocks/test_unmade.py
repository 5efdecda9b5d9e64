"""Elements that are made when somebody looks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.joining import join, woven
from headrace.blocks.payload import Rows
from headrace.blocks.unmade import Unmade
from headrace.elements.structure import LEAF


class Squares:
    """Makes squares of numbers, and counts how often it is asked."""

    def __init__(self, key: object = "squares") -> None:
        self.key = key
        self.has_tuples = False
        self.part_nbytes = 8
        self.made: list[list[int]] = []

    def columns(self, parts: Sequence[int]) -> Columns:
        self.made.append(list(parts))
        return Columns(LEAF, [np.array(parts) ** 2])


def test_nothing_is_made_before_somebody_looks_and_then_once() -> None:
    maker = Squares()
    payload = Unmade(maker, [1, 2, 3, 4])
    part = payload.subset(range(1, 4)).subset(np.array([2, 0]))
    assert (len(part), part.nbytes, maker.made) == (2, 16, [])
    assert part.rows() == part.rows() == [16, 4]
    assert part.columns().arrays[0].tolist() == [16, 4]
    assert maker.made == [[4, 2]]


def test_what_was_made_is_picked_of_and_its_parts_are_let_go() -> None:
    maker = Squares()
    payload = Unmade(maker, [1, 2, 3])
    payload.columns()
    assert payload.subset(range(1, 3)).rows() == [4, 9]
    assert (len(payload), payload.parts, maker.made) == (3, (), [[1, 2, 3]])


def test_what_would_be_made_alike_is_woven_before_it_is_made() -> None:
    one, two = Squares(), Squares()
    payload = woven([Unmade(one, [1, 3]), Unmade(two, [2, 4])], 1)
    assert isinstance(payload, Unmade)
    assert one.made == two.made == []
    assert payload.rows() == [1, 4, 9, 16]
    assert (one.made, two.made) == ([[1, 2, 3, 4]], [])


def test_what_would_not_be_made_alike_is_made_and_joined() -> None:
    other, made = Unmade(Squares("others"), [2]), Unmade(Squares(), [3])
    made.columns()
    for second in (other, made, Columns(LEAF, [np.array([5])]), Rows([7])):
        whole = join([Unmade(Squares(), [1]), second])
        assert not isinstance(whole, Unmade)
        assert whole.rows() == [1, *second.rows()]


def test_elements_that_were_made_can_be_written_to_when_they_were_joined() -> None:
    whole = join([Unmade(Squares(), [1]), Columns(LEAF, [np.array([5])])])
    assert isinstance(whole, Columns)
    assert not any(whole.locked)
