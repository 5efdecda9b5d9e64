"""The elements of small plans, made at once where a stage would be made for each operation, to give them block by block.

Functions make plans of elements, windows and groups by the thousand, mostly of a few elements each. To make the stages of such a
plan takes longer than to make its elements. So a plan of operations that have a case here, over a source that says that it has
few elements, is done operation by operation, all elements at a time. What comes out is what its stages would give: the same
elements and failures, positions and origins, and the same counts.

What always holds:
- A case knows whether it can do its operation before any function of the user's is called.
- Functions are called on no more elements than there is room for, as in a stage that was asked for so many.
- What holds no functions is made whole, up to ``MOST_ELEMENTS``: that is quick, and to cut it costs next to nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, TypeVar

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import IndexCursor
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.plan.buffering import Prefetch
from headrace.plan.node import Node
from headrace.semantics.meters import Meters

__all__ = [
    "MOST_BYTES",
    "MOST_ELEMENTS",
    "GivenStage",
    "Made",
    "Making",
    "Pieces",
    "SmallPlans",
    "as_stage",
    "is_small",
    "makes_at_once",
]

Pieces = list[BlockOrFailure]
# Makes all elements of a node: (node, what is being made, for how many elements there is room) -> pieces, or None where it cannot.
Case = Callable[[Any, "Making", int], Pieces | None]
C = TypeVar("C", bound=Case)

# Made whole, however few are wanted: some ten microseconds of work.
MOST_ELEMENTS: Final = 4096
# Copied whole, as into a batch or into a block with others: as long as a few calls take.
MOST_BYTES: Final = 1 << 16

_cases: Final[dict[type[Node], Case]] = {}
_START: Final = IndexCursor(0)


def makes_at_once(kind: type[Node]) -> Callable[[C], C]:
    """Registers how nodes of this very class are done at once."""

    def register(case: C) -> C:
        _cases[kind] = case
        return case

    return register


class Made:
    """What was made at once, given as a stage gives it."""

    ready_elements = 0

    def __init__(self, pieces: Pieces) -> None:
        self._left = pieces[::-1]  # the next one is last

    @property
    def is_given(self) -> bool:
        """Whether nothing is left but the end."""
        return not self._left

    def pull(self, _limit: int) -> Item:
        """Returns the next piece, however long, or None at the end."""
        return self._left.pop() if self._left else None

    def stop(self) -> None:
        """Does nothing: nothing waits."""

    def close(self) -> None:
        """Does nothing: nothing is held."""


def is_small(head: object) -> bool:
    """Returns whether elements may be joined to others, which copies arrays; a failure is joined to nothing, no element to all."""
    if type(head) is not Block:
        return head is None
    return type(head.payload) is not Columns or head.payload.nbytes <= MOST_BYTES


def _without_prefetch(plan: Node) -> Node:
    """Returns what a prefetch reads: nothing is read ahead inside a task, which has one thread."""
    while type(plan) is Prefetch:
        plan = plan.input
    return plan


class SmallPlans:
    """Makes the elements of the plans that the function of one operation makes.

    Args:
        meters: the run's counters.
        within: the names of the operations whose functions made the plans.
    """

    def __init__(self, meters: Meters, within: tuple[object, ...]) -> None:
        self._meters = meters
        self._within = within
        # Of operations as they were written: the label of each node, which names its meter, takes longer to find. The value
        # keeps what the key names.
        self._known: dict[tuple[object, ...], tuple[Meter, object]] = {}

    def elements(self, plan: Node, room: int) -> Pieces | None:
        """Returns all elements of a plan; None where only its stages can give them.

        Args:
            plan: as the function made it.
            room: on how many elements functions may be called.
        """
        plan = _without_prefetch(plan)
        if type(plan) not in _cases:
            return None
        making = Making(room)
        pieces = making.of(plan, MOST_ELEMENTS)
        if pieces is None:
            return None
        for node, elements, span_s, inside_s in making.done:
            self._meter(node).pulled(elements=elements, span_s=span_s, inside_s=inside_s)
        return pieces

    def _meter(self, node: Node) -> Meter:
        functions = node.functions()
        function = functions[0] if functions else None
        if function is None:
            key: tuple[object, ...] = (type(node), node.name)
        elif type(function) is FunctionType and len(functions) == 1:
            key = (type(node), node.name, function.__qualname__, id(function.__code__))
        else:
            return self._meters.of(node, self._within)
        found = self._known.get(key)
        if found is None:
            kept = None if function is None else function.__code__
            found = self._known[key] = (self._meters.of(node, self._within), kept)
        return found[0]


class Making:
    """One plan whose elements are being made.

    Args:
        room: on how many elements functions may be called.
    """

    __slots__ = ("_inside_s", "done", "has_called", "room")

    def __init__(self, room: int) -> None:
        self.room = room
        self.done: list[
            tuple[Node, int, float, float]
        ] = []  # a node, its elements, its seconds, and those of its inputs
        self.has_called = False  # functions, so that it is too late for stages
        self._inside_s = 0.0

    def of(self, node: Node, room: int) -> Pieces | None:
        """Returns all elements of a node that has at most ``room``; None where that is not known, or it has no case."""
        node = _without_prefetch(node)
        case = _cases.get(type(node))
        if case is None:
            return None
        before_s, self._inside_s = self._inside_s, 0.0
        start = time.perf_counter()
        pieces = case(node, self, room)
        span_s = time.perf_counter() - start
        if pieces is not None:
            elements = sum([len(piece) for piece in pieces if type(piece) is Block])
            self.done.append((node, elements, span_s, self._inside_s))
        self._inside_s = before_s + span_s
        return pieces

    def unread(self, node: Node, room: int) -> Pieces | None:
        """Returns the same of a node for which no function is called: of what is left out, or what another input may decide."""
        kept, self.room = self.room, 0
        try:
            return self.of(node, room)
        finally:
            self.room = kept

    def to_call_on(self, node: Node, room: int) -> Pieces | None:
        """Returns all elements of a node, to call a function on each, which is begun with."""
        pieces = self.of(node, min(room, self.room))
        self.has_called = self.has_called or bool(pieces)
        return pieces


class GivenStage(Stage):
    """Pieces that are there; without any, at its end."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__(Meter("given"), (), pieces[0].cursor if pieces else _START)
        self._left = pieces[::-1]

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
