"""How stages go on after the first elements of a small plan, where its functions take so long that those should not wait for the rest."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Final

from headrace.blocks.cursor import State
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.given import GivenStage, TakesLong
from headrace.physical.lower import lower
from headrace.physical.made import Pieces
from headrace.physical.stage import Item, Stage
from headrace.plan.node import Node, UnaryNode

__all__ = ["with_begun"]

_ANY_NUMBER: Final = 1 << 62


@frozen(kw_only=True, eq=False)
class _Given(Node):
    """Stands for what is there of an operation's elements."""

    op: ClassVar[str] = "given"
    pieces: Pieces


@frozen(kw_only=True, eq=False)
class _Begun(UnaryNode):
    """An operation on what is left, and what became of the elements before that."""

    op: ClassVar[str] = "begun"
    made: Pieces


def with_begun(plan: Node, cut: TakesLong) -> Node:
    """Returns a plan in which an operation goes on after what was made."""
    if plan is cut.node:
        return _Begun(input=_with_left(plan, cut), made=cut.made)
    return plan.with_inputs(tuple([with_begun(node, cut) for node in plan.inputs]))


def _with_left(plan: Node, cut: TakesLong) -> Node:
    """Returns an operation, and those that it reads, over what is left."""
    if plan is cut.of:
        return _Given(pieces=cut.left)
    return dataclasses.replace(plan, input=_with_left(plan.inputs[0], cut))  # type: ignore[call-arg]  # a map or a filter


@lower.register
def _given(node: _Given, _state: State | None, _context: StageContext) -> Stage:
    return GivenStage(node.pieces)


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
