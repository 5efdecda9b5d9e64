"""The stage of a shuffle of all that is read by number: it holds nothing, and gives what is in the places that come next."""

from __future__ import annotations

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, SavedCursor, State
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Payload
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.shuffling_order import OrderInRuns, ShuffleCursor
from headrace.plan.shuffling import Shuffle
from headrace.semantics.failures import input_changed
from headrace.semantics.random_streams import Key
from headrace.semantics.shuffling import drain_order, is_computed

__all__ = ["WholeShuffleStage"]


class WholeShuffleStage(Stage):
    """All elements in random order; the input gives any of them by its number.

    Its states are those of a shuffle that has read its input and holds all of it.
    """

    is_numbers = True

    def __init__(self, node: Shuffle, key: Key, input_stage: Stage, meter: Meter, state: State | None) -> None:
        assert input_stage.numbered is not None  # as the caller has looked
        self._total = input_stage.numbered
        self._emitted: int = state["emitted"] if state else 0
        self._computed = is_computed(self._total, state)
        self._input_start = input_stage.cursor_at(0)
        super().__init__(meter, (input_stage,), self.cursor_at(0) if state is None else SavedCursor(state))
        self._whole_order = drain_order(key, self._total, state)
        self._order = OrderInRuns(self._whole_order)
        self._lost: Failure | None = None  # what is told where the elements are not those that were shuffled
        if state is not None and self._emitted and state.get("total") != self._total:
            self._lost = Failure(input_changed(node.label), self.cursor, self.cursor)
            self._emitted = self._total
        else:
            self.numbered = self._total

    def _is_spent(self) -> bool:
        return self._emitted == self._total and self._lost is None

    def _pull(self, limit: int) -> Item:
        if self._lost is not None:
            lost, self._lost = self._lost, None
            return lost
        numbers = self._order.after(self._emitted, limit)
        if not len(numbers):
            return None
        payload, origin = self.inputs[0].at(numbers)
        block = Block(payload, self.cursor_at(self._emitted), origin)
        self._emitted += len(block)
        return block

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element in this place."""
        return ShuffleCursor(number, 0, self._input_start, self._total, self._computed)

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        places = slice(numbers.start, numbers.stop, numbers.step) if isinstance(numbers, range) else numbers
        return self.inputs[0].at(self._whole_order[places])
