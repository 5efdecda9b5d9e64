"""The stage that goes on with the last element, where streams end after different steps."""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import Cursor, SavedCursor, State
from headrace.blocks.payload import Payload, Zipped
from headrace.elements.structure import LEAF, flatten
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.dealing import Filling

__all__ = ["FillingStage"]

_PAIR: Final = flatten((0, 0))[1]


class FillingStage(Stage):
    """The same elements, and after them the last one again and again; nothing where there is none.

    A position is that before the last element, which is read again, and how many failures came after it.
    """

    def __init__(self, node: Filling, input_stage: Stage, meter: Meter, state: State | None) -> None:
        super().__init__(
            meter, (input_stage,), SavedCursor(state) if state else _FillingCursor(None, 0, input_stage.cursor)
        )
        self._tells = node.tells
        self.last: Block | None = None  # the last element
        self._borrowed: Block | None = None
        self._passed = 0  # failures since then
        self._again: tuple[bool, int] | None = (state["last"] is not None, state["passed"]) if state else None
        self._ended = False
        self.given = 0  # places of its input, in this run
        self.filled = 0  # elements that are filled in, in this run
        self.by_index = input_stage.by_index

    @property
    def ended_after(self) -> int | None:
        """After how many places its input ended; None as long as nobody knows."""
        return self.given if self._ended else None

    def borrow(self, element: Block) -> None:
        """Goes on with an element of another stream, as its input ended without any."""
        self._borrowed = element

    def _pull(self, limit: int) -> Item:
        if self._again is not None:
            self._read_again(*self._again)
            self._again = None
        item = None if self._ended else self._read(self.inputs[0], limit)
        if item is None:
            self._ended = True
            return self._filling(limit)
        before = _FillingCursor(self.last, self._passed, item.cursor)
        if isinstance(item, Failure):
            self.given += 1
            self._passed += 1
            return Failure(item.error, before, _FillingCursor(self.last, self._passed, item.after))
        self.given += len(item)
        self.last, self._passed = item.slice(len(item) - 1, len(item)), 0
        return Block(self._told(item.payload, is_real=True), before, item.origin)

    def _read_again(self, has_last: bool, passed: int) -> None:
        """Reads the last element once more, and the failures after it."""
        for _ in range(has_last + passed):
            item = self._read(self.inputs[0], 1)
            if isinstance(item, Block):
                self.last = item
        self._passed = passed

    def _filling(self, limit: int) -> Item:
        last = self._borrowed if self.last is None else self.last
        if last is None:
            return None
        self.filled += limit
        again = np.zeros(limit, np.int64)
        cursor = _FillingCursor(self.last, self._passed, None)
        return Block(self._told(last.payload.subset(again), is_real=False), cursor, last.origin.subset(again))

    def _told(self, payload: Payload, *, is_real: bool) -> Payload:
        if not self._tells:
            return payload
        return Zipped(_PAIR, [payload, Columns(LEAF, [np.full(len(payload), is_real)])])


@frozen
class _FillingCursor:
    """After an element and some failures, and a number of elements further; these are the last one again where ``input`` is None."""

    last: Block | None
    passed: int
    input: Cursor | None
    count: int = 0

    def advance(self, count: int) -> _FillingCursor:
        return _FillingCursor(self.last, self.passed, self.input, self.count + count)

    def state(self) -> State:
        if self.count and self.input is not None:
            return {"last": self.input.advance(self.count - 1).state(), "passed": 0}
        return {"last": None if self.last is None else self.last.cursor.state(), "passed": self.passed}


@lower.register
def _filling(node: Filling, state: State | None, context: StageContext) -> Stage:
    return FillingStage(node, lower(node.input, state["last"] if state else None, context), context.meter(node), state)
