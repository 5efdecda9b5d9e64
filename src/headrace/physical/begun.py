"""How stages go on in a small plan whose functions were called already, on its first elements or on all: none is called again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Final

from headrace.blocks.cursor import State
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.given import Cut, GivenStage, MakeStage, OpenedSome, TakesLong
from headrace.physical.lower import lower
from headrace.physical.made import Pieces
from headrace.physical.stage import Item, Stage
from headrace.plan.node import Node, UnaryNode
from headrace.plan.randomness import Randomness

__all__ = ["Opened", "with_begun"]

_ANY_NUMBER: Final = 1 << 62


@frozen(kw_only=True, eq=False)
class _Given(Node):
    """Stands for what is there of an operation's elements, or what makes a stage of them."""

    op: ClassVar[str] = "given"
    pieces: Pieces | MakeStage


@frozen(kw_only=True, eq=False)
class _Begun(UnaryNode):
    """An operation on what is left, and what became of the elements before that."""

    op: ClassVar[str] = "begun"
    made: Pieces


@frozen(kw_only=True, eq=False)
class Opened(UnaryNode):
    """A flat_map or interleave whose function was called with the first elements of what is there."""

    op: ClassVar[str] = "opened"
    cut: OpenedSome

    @property
    def randomness(self) -> Randomness:
        """That of the operation."""
        return self.cut.node.randomness


def with_begun(plan: Node, cuts: Sequence[Cut]) -> Node:
    """Returns a plan in which operations go on after what was made.

    Args:
        plan: as a function made it.
        cuts: in the order in which they stand in the plan, as the same operation may stand there twice.
    """
    for cut in cuts:
        plan = _with_one(plan, cut) or plan
    return plan


def _with_one(plan: Node, cut: Cut) -> Node | None:
    """Returns the plan with the first operation that this is of going on after it; None where it is not in there."""
    if plan is cut.node:
        return _going_on(plan, cut)
    for index, node in enumerate(plan.inputs):
        changed = _with_one(node, cut)
        if changed is not None:
            return plan.with_inputs((*plan.inputs[:index], changed, *plan.inputs[index + 1 :]))
    return None


def _going_on(plan: Node, cut: Cut) -> Node:
    if isinstance(cut, OpenedSome):
        return Opened(input=_Given(pieces=[] if cut.openers is None else [cut.openers]), cut=cut)
    if plan is cut.of:  # a source, whose stage has what was made
        return _Given(pieces=cut.left)
    return _Begun(input=_with_left(plan, cut), made=cut.made)


def _with_left(plan: Node, cut: TakesLong) -> Node:
    """Returns an operation, and those that it reads, over what is left."""
    if plan is cut.of:
        return _Given(pieces=cut.left)
    return dataclasses.replace(plan, input=_with_left(plan.inputs[0], cut))  # type: ignore[call-arg]  # a map or a filter


@lower.register
def _given(node: _Given, _state: State | None, context: StageContext) -> Stage:
    return GivenStage(node.pieces) if isinstance(node.pieces, list) else node.pieces(context)


@lower.register
def _begun(node: _Begun, _state: State | None, context: StageContext) -> Stage:
    return _BegunStage(node.made, lower(node.input, None, context))


class _BegunStage(Stage):
    """Pieces that are there, and what a stage gives after them."""

    def __init__(self, made: Pieces, rest: Stage) -> None:
        super().__init__(Meter("given"), (rest,), made[0].cursor if made else rest.cursor)
        self._made = made[::-1]
        self._most = 1

    def _pull(self, limit: int) -> Item:
        if self._made:
            return self._made.pop()
        limit, self._most = min(limit, self._most), _ANY_NUMBER  # the first one alone, as it may take long
        return self._read(self.inputs[0], limit)
