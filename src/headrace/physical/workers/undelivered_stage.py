"""Upstream of parallel work that delivered in any order: what a restored run is not to deliver again."""

from __future__ import annotations

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.semantics.elementwise import DeliveredRuns
from headrace.semantics.failures import input_changed

__all__ = ["UndeliveredStage"]


class UndeliveredStage(Stage):
    """Upstream of a parallel map that was restored in the middle of unordered delivery: skips what was delivered."""

    is_first_part = True

    def __init__(self, input_stage: Stage, meter: Meter, delivered: DeliveredRuns, map_index: int) -> None:
        self._runs = list(delivered)
        self._map = map_index
        self._index = 0  # of the next element of the input
        super().__init__(meter, (input_stage,), _LeftOverCursor(map_index, tuple(self._runs), input_stage.cursor))

    def _pull(self, limit: int) -> Item:
        while True:
            while self._runs and self._index >= self._runs[0][1]:
                self._runs.pop(0)
            if not self._runs:
                return self._read(self.inputs[0], limit)
            start, end = self._runs[0]
            inside = self._index >= start
            item = self._read(self.inputs[0], min(limit, (end if inside else start) - self._index))
            if item is None:
                self._runs = []
                return Failure(input_changed(self.meter.name), self.cursor, self.cursor)
            first = self._index
            self._index += len(item) if isinstance(item, Block) else 1
            if inside:
                continue
            # A run that resumes from here still skips the runs ahead.
            ahead = tuple((a - first, b - first) for a, b in self._runs)
            cursor = _LeftOverCursor(self._map, ahead, item.cursor)
            if isinstance(item, Block):
                return Block(item.payload, cursor, item.origin)
            after = tuple((a - 1, b - 1) for a, b in ahead)
            return Failure(item.error, cursor, _LeftOverCursor(self._map, after, item.after), item.by)


@frozen
class _LeftOverCursor:
    """In what a restored run had not delivered: which elements after this one are to be skipped."""

    map_index: int
    delivered: tuple[tuple[int, int], ...]
    input: Cursor
    count: int = 0

    def advance(self, count: int) -> _LeftOverCursor:
        return _LeftOverCursor(self.map_index, self.delivered, self.input, self.count + count)

    def state(self) -> State:
        runs = [[a - self.count, b - self.count] for a, b in self.delivered]
        return {"map": self.map_index, "delivered": runs, "input": self.input.advance(self.count).state()}
