"""The elements of a small plan for who takes all of them within one call, so that nobody else could ever see an iterator of it."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.blocks.block import Block
from headrace.coordination.closing import Closing
from headrace.elements.structure import Element
from headrace.engine import InnerPlan, all_elements, is_inside_run
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.observe.iterators import ITERATORS
from headrace.observe.recorder import Recorder
from headrace.physical.made import Pieces
from headrace.plan.node import Node
from headrace.plan.quiet import calls_at_most, is_quiet
from headrace.semantics.dataloader_workers import warn_of_whole_copies

__all__ = ["AtHand", "elements_at_hand"]


class AtHand(Closing):
    """Elements, and errors in place of those that failed, to be gone through once."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[Element]:
        for piece in self._pieces:
            if not isinstance(piece, Block):
                raise piece.error.located(stage=None, origin=None)
            yield from piece.payload.rows()

    def close(self) -> None:
        """Does nothing: nothing is open."""


def elements_at_hand(dataset: object, plan: Node) -> AtHand | DatasetIterator | None:
    """Returns the elements of a dataset without a run, or with one of those that functions take long for; None where it needs one.

    A run it needs where it is not small, or calls functions outside of all runs, and while somebody counts runs or traces them.
    """
    if ITERATORS.told is not None or Recorder.active is not None:
        return None
    found: Pieces | Node | None
    if is_quiet(plan):
        made = all_elements(plan, counts=False)
        found = None if made is None else made[0]
    else:
        found = InnerPlan(plan).elements() if calls_at_most(plan) and is_inside_run() else None
    if found is None:
        return None
    warn_of_whole_copies(dataset, plan)
    return AtHand(found) if isinstance(found, list) else DatasetIterator(found)
