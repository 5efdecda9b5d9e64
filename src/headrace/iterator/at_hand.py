"""The elements of a small plan for who takes all of them within one call, so that nobody else could ever see an iterator of it."""

from __future__ import annotations

from headrace.blocks.block import Block
from headrace.elements.structure import Element
from headrace.engine import all_elements
from headrace.observe.iterators import ITERATORS
from headrace.observe.recorder import Recorder
from headrace.plan.node import Node
from headrace.plan.quiet import is_quiet
from headrace.semantics.dataloader_workers import warn_of_whole_copies

__all__ = ["elements_at_hand"]


def elements_at_hand(dataset: object, plan: Node) -> list[Element] | None:
    """Returns all elements of a dataset without a run; None where it is not small, an element fails, or somebody counts or traces runs."""
    if ITERATORS.told is not None or Recorder.active is not None or not is_quiet(plan):
        return None
    made = all_elements(plan)
    if made is None:
        return None
    pieces, _ = made
    payloads = [piece.payload for piece in pieces if isinstance(piece, Block)]
    if len(payloads) < len(pieces):  # an element fails
        return None
    warn_of_whole_copies(dataset, plan)
    return [element for payload in payloads for element in payload.rows()]
