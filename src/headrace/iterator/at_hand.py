"""The elements of a small plan for who takes them within one call of a function, where nobody could tell how they were made."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.payload import Payload
from headrace.coordination.closing import Closing
from headrace.elements.structure import Element
from headrace.engine import all_elements, is_inside_run
from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.ready_iterator import ReadyIterator
from headrace.observe.iterators import ITERATORS
from headrace.observe.recorder import Recorder
from headrace.physical.made import Pieces
from headrace.plan.node import Node
from headrace.plan.quiet import calls_at_most, is_of_window, is_quiet
from headrace.semantics.dataloader_workers import warn_of_whole_copies

if TYPE_CHECKING:
    from headrace.engine.inside import InnerPlan

__all__ = ["AtHand", "elements_at_hand", "iterator_of", "payload_at_hand"]


class AtHand(Closing):
    """Elements, and errors in place of those that failed, to be gone through once."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[Element]:
        pieces = self._pieces
        if len(pieces) == 1:
            return iter(_rows(pieces[0]))
        return itertools.chain.from_iterable(map(_rows, pieces))

    def close(self) -> None:
        """Does nothing: nothing is open."""


def _rows(piece: BlockOrFailure) -> list[Element]:
    """Returns the elements.

    Raises:
        HeadraceError: one failed.
    """
    if not isinstance(piece, Block):
        raise piece.error.located(stage=None, origin=None)
    return piece.payload.rows()


def iterator_of(plan: Node) -> DatasetIterator:
    """Returns an iterator of a plan, for ``iter(dataset)``.

    It has its elements if they are few and can be had without a run, and they are parts of one, or a function of one reads them.
    """
    payload = payload_at_hand(plan)
    return DatasetIterator(plan) if payload is None else ReadyIterator(plan, payload)


def payload_at_hand(plan: Node) -> Payload | None:
    """Returns all elements of a plan where an iterator may have them; else None."""
    if not is_quiet(plan) or not (is_of_window(plan) or is_inside_run()) or _are_runs_watched():
        return None
    made = all_elements(plan, counts=False)
    block = made[0][0] if made is not None and len(made[0]) == 1 else None
    return block.payload if isinstance(block, Block) else None


def elements_at_hand(dataset: object, plan: Node) -> AtHand | DatasetIterator | None:
    """Returns the elements of a dataset without a run, or with one of those that functions take long for; None where it needs one.

    A run it needs where it is not small, or calls functions outside of all runs, and while somebody counts runs or traces them.
    """
    if _are_runs_watched():
        return None
    found: Pieces | Node | None
    if is_quiet(plan):
        made = all_elements(plan, counts=False)
        found = None if made is None else made[0]
    elif calls_at_most(plan) and is_inside_run():
        found = _inner_plan()(plan).elements()
    else:
        return None
    if found is None:
        return None
    warn_of_whole_copies(dataset, plan)
    return AtHand(found) if isinstance(found, list) else DatasetIterator(found)


@functools.cache  # to name it in each call takes as long as to make a few elements
def _inner_plan() -> type[InnerPlan]:
    """Returns what larger plans do not need."""
    from headrace.engine.inside import InnerPlan

    return InnerPlan


def _are_runs_watched() -> bool:
    """Returns whether somebody counts runs, or traces them."""
    return ITERATORS.told is not None or Recorder.active is not None
