"""The stages of sources: what is read by index, and what a user's generator yields."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor, State
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Indexed, IndexSource, Rows
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.node import Node
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.semantics.failures import as_element_error
from headrace.semantics.generator_runs import GeneratorRun
from headrace.semantics.sources import fewer_elements, index_source

__all__ = ["GeneratorStage", "IndexedStage"]


class GeneratorStage(Stage):
    """What a user's generator yields."""

    def __init__(self, node: FromGenerator, meter: Meter, state: State | None) -> None:
        saved = state or {"index": 0}
        super().__init__(meter, (), _GeneratorCursor(saved["index"], saved.get("own"), saved.get("skip", 0)))
        self._run = GeneratorRun(node, state)
        self._node = node
        self._ended = False
        self._raised: Exception | None = None

    def _pull(self, limit: int) -> Item:
        if self._raised is None and not self._ended:
            cursor = _GeneratorCursor(self._run.index, self._run.own_state())
            rows, self._raised = self._run.next_rows(limit)
            self._ended = self._raised is None and len(rows) < limit
            if rows:
                numbers = range(cursor.index, cursor.index + len(rows))
                return Block(Rows(rows), cursor, IndexOrigin(numbers))
        return None if self._raised is None else self._failure(self._raised)

    def _failure(self, error: Exception) -> Failure:
        self._raised = None
        number = self._run.index - 1
        placed = as_element_error(error, stage=self._node.label, origin=f"element {number}")
        own = self._run.own_state()
        return Failure(placed, self.cursor, _GeneratorCursor(number + 1, own))

    def close(self) -> None:
        self._run.close()


@dataclasses.dataclass(frozen=True, slots=True)
class _GeneratorCursor:
    """In a generator: a number, and its own state at the start of the block where it offers one."""

    index: int
    own: Any  # an OwnState, or what was loaded
    skip: int = 0

    def advance(self, count: int) -> _GeneratorCursor:
        return _GeneratorCursor(self.index + count, self.own, self.skip + count)

    def state(self) -> State:
        if self.own is None:
            return {"index": self.index}
        return {"index": self.index, "own": self.own, "skip": self.skip}


class IndexedStage(Stage):
    """The elements of an indexed source in order; reads none of them itself."""

    by_index = True

    def __init__(self, source: IndexSource, length: int | None, meter: Meter, state: State | None) -> None:
        self._index: int = state["index"] if state else 0
        super().__init__(meter, (), IndexCursor(self._index))
        self._source = source
        self._length = length

    def _pull(self, limit: int) -> Item:
        if self._length is not None and self._index > self._length:
            before, error = self.cursor, fewer_elements(self._length, self._index)
            self._index = self._length
            return Failure(error.located(stage=self.meter.name, origin=None), before, IndexCursor(self._index))
        stop = self._index + limit if self._length is None else min(self._index + limit, self._length)
        numbers = range(self._index, stop)
        if not numbers:
            return None
        self._index = stop
        return Block(Indexed(self._source, numbers), IndexCursor(numbers.start), IndexOrigin(numbers))


@lower.register(FromTensors)
@lower.register(FromTensorSlices)
@lower.register(Range)
@lower.register(RandomSource)
def _indexed(node: Node, state: State | None, context: StageContext) -> Stage:
    source, length = index_source(node, context)
    return IndexedStage(source, length, context.meter(node), state)


@lower.register
def _generator(node: FromGenerator, state: State | None, context: StageContext) -> Stage:
    return GeneratorStage(node, context.meter(node), state)
