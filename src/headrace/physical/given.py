"""Pieces that are there, as stages read them, and those of an operation whose function takes long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.made import Pieces
from headrace.physical.stage import Item, Stage
from headrace.plan.elementwise import Filter, Map
from headrace.plan.files import Files
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node
from headrace.plan.quiet import MOST_ELEMENTS
from headrace.plan.sources import FromGenerator

__all__ = ["Cut", "GivenStage", "MakeStage", "OpenedSome", "TakesLong", "as_stage"]

_START: Final = IndexCursor(0)
MakeStage = Callable[[StageContext], Stage]


class TakesLong(Exception):  # noqa: N818 - no error: what was made so far, and what is left to do
    """Raised where the function of an operation takes so long that what was made should not wait for the rest.

    Args:
        node: the operation.
        made: what became of the first elements.
        left: what the others are made of, or what makes a stage of them in a context.
        of: what gave these; None: the operation's input, or a source itself.
    """

    def __init__(
        self, node: Map | Filter | FromGenerator | Files, made: Pieces, left: Pieces | MakeStage, of: Node | None = None
    ) -> None:
        super().__init__()
        self.node = node
        self.made = made
        self.left = left
        self.of = (node.inputs or (node,))[0] if of is None else of


@frozen(eq=False)
class OpenedSome:
    """What the function of a flat_map or interleave made of the first elements, with which it is not called again.

    Attributes:
        node: the operation.
        openers: all elements that it reads; None where there are none.
        made: of the first ones a plan, and what functions were called on in it; or why there is none.
    """

    node: FlatMap
    openers: Block | None
    made: Sequence[tuple[Node, Sequence[Cut]] | Exception]


# What became of an operation of a small plan before its stages go on.
Cut = TakesLong | OpenedSome


class GivenStage(Stage):
    """Pieces that are there; without any, at its end."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__(Meter("given"), (), pieces[0].cursor if pieces else _START)
        self._left = pieces[::-1]

    def _is_spent(self) -> bool:
        return not self._left

    def _pull(self, limit: int) -> Item:
        return self._left.pop() if self._left else None


def as_stage(pieces: Sequence[Pieces], make: Callable[[list[Stage], Meter], Stage]) -> Pieces:
    """Returns what a stage makes of pieces, one list an input: where there are failures among them, what it does is not so plain.

    Args:
        pieces: of each input; none is empty.
        make: makes the stage of its inputs and a meter.
    """
    stage = make([GivenStage(given) for given in pieces], Meter("given"))
    made: Pieces = []
    while True:
        item = stage.pull(MOST_ELEMENTS)
        if item is None:
            return made
        assert isinstance(item, (Block, Failure))  # which is all that there is
        made.append(item)
