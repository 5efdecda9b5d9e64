"""The stage of sources that are read by index."""

from __future__ import annotations

from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, IndexCursor, State
from headrace.blocks.origin import IndexOrigin, Indices, Origin
from headrace.blocks.payload import Indexed, IndexSource, Payload
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.node import Node
from headrace.plan.sources import FromTensors, FromTensorSlices, RandomSource, Range
from headrace.semantics.sources import fewer_elements, index_source

__all__ = ["FIRST_ELEMENTS", "IndexedStage"]


# Of what is in memory a few elements are there in no time, so a dataset that has no more is one block: a function may read many such.
FIRST_ELEMENTS: Final = 16


class IndexedStage(Stage):
    """The elements of an indexed source in order; reads none of them itself."""

    by_index = True

    def __init__(self, source: IndexSource, length: int | None, meter: Meter, state: State | None) -> None:
        self._index: int = state["index"] if state else 0
        super().__init__(meter, (), IndexCursor(self._index))
        self._source = source
        self._length = length
        if length is None or self._index <= length:  # or it has become shorter, which is told when it is pulled
            self.numbered = length

    def _is_spent(self) -> bool:
        return self._index == self._length

    def _pull(self, limit: int) -> Item:
        if self._length is not None and self._index > self._length:
            before, error = self.cursor, fewer_elements(self._length, self._index)
            self._index = self._length
            return Failure(error.located(stage=self.meter.name, origin=None), before, IndexCursor(self._index))
        stop = self._index + limit if self._length is None else min(self._index + limit, self._length)
        indices = range(self._index, stop)
        if not indices:
            return None
        self._index = stop
        return Block(Indexed(self._source, indices), IndexCursor(indices.start), IndexOrigin(indices))

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        return Indexed(self._source, numbers), IndexOrigin(numbers)

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        return IndexCursor(number)


@lower.register(FromTensors)
@lower.register(FromTensorSlices)
@lower.register(Range)
@lower.register(RandomSource)
def _indexed(node: Node, state: State | None, context: StageContext) -> Stage:
    source, length = index_source(node, context)
    if context.turns is not None:
        from headrace.physical.stages.sequencing_sources import RepeatedSourceStage

        assert length  # the repeat has looked
        return RepeatedSourceStage(source, length, context.turns.count, (context.meter(node), Meter("turns")), state)
    stage = IndexedStage(source, length, context.meter(node), state)
    stage.first_elements = FIRST_ELEMENTS
    return stage
