"""Turns of what is read by index, alone or with maps after it: one long source, of which no turn is begun or ended.

As a map makes one of each element, turns of it are the map of turns of its source, which is one loop over many of them.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.origin import IndexOrigin, Indices, Origin, as_array
from headrace.blocks.payload import Indexed, IndexSource, Payload
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Item, Stage
from headrace.plan.elementwise import Filter, Map, MapChain
from headrace.plan.node import Node
from headrace.plan.sequencing import Repeat
from headrace.plan.sources import FromTensors, FromTensorSlices, Range
from headrace.semantics.sources import index_source

__all__ = ["RepeatedMapsStage", "RepeatedSourceStage", "repeated_source"]

# The indices of several turns are an array, of which there is to be no more than needed.
_INDICES_AT_ONCE: Final = 1 << 16


class RepeatedSourceStage(Stage):
    """A source that is read by index, again and again; reads none of its elements itself."""

    by_index = True

    def __init__(
        self,
        source: IndexSource,
        length: int,
        turns: int | None,
        meters: tuple[Meter, Meter],
        state: State | None,
    ) -> None:
        first = state["turn"] * length + state["input"]["index"] if state else 0
        self._index = first  # as if the turns were one long source
        self._source = source
        self._length = length
        self._stop = None if turns is None else turns * length
        self.numbered = self._stop
        meter, self._source_meter = meters
        super().__init__(meter, (), _RepeatedCursor(length, first))

    def _pull(self, limit: int) -> Item:
        first = self._index
        end_of_turn = first - first % self._length + self._length
        stop = first + limit if first + limit <= end_of_turn else max(end_of_turn, first + min(limit, _INDICES_AT_ONCE))
        self._index = stop = stop if self._stop is None else min(stop, self._stop)
        if stop <= first:
            return None
        start = first % self._length
        indices: Indices = range(start, start + stop - first)
        if stop > end_of_turn:
            indices = np.arange(first, stop) % self._length
        self._source_meter.count(elements=stop - first)
        return Block(Indexed(self._source, indices), _RepeatedCursor(self._length, first), IndexOrigin(indices))

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        indices = as_array(numbers) % self._length
        self._source_meter.count(elements=len(indices))
        return Indexed(self._source, indices), IndexOrigin(indices)

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        return _RepeatedCursor(self._length, number)


@frozen
class _RepeatedCursor:
    """In a source that is repeated, by the index that an element would have if the turns were one long source."""

    length: int
    index: int

    def advance(self, count: int) -> _RepeatedCursor:
        return _RepeatedCursor(self.length, self.index + count)

    def state(self) -> State:
        # After the last element of a turn, and not before the first of another one, which may be one too many.
        turn = max(self.index - 1, 0) // self.length
        index = self.index - turn * self.length
        return {"turn": turn, "empty": not index, "input": {"index": index}}


class RepeatedMapsStage(Stage):
    """What maps give of a source that is repeated; without a last turn it ends after one that gave no element.

    Args:
        length: how many elements a turn has; None where another one follows in any case.
    """

    def __init__(self, maps: Stage, length: int | None, meter: Meter, state: State | None) -> None:
        turn, index = (state["turn"], state["input"]["index"]) if state else (0, 0)
        self._length = length
        self._index = turn * length + index if length else 0
        # Of the turn that the latest element lies in; a turn that has begun was not the first one because others gave elements.
        self._empty: bool = state["empty"] and (index > 0 or turn == 0) if state else True
        self._ended = self._empty and index == length
        super().__init__(meter, (maps,), self._marked(maps.cursor))

    def _marked(self, cursor: Cursor) -> Cursor:
        return cursor if self._length is None else _MarkedCursor(cursor, self._empty)

    def _is_spent(self) -> bool:
        return self._ended or self.inputs[0].is_spent

    def _pull(self, limit: int) -> Item:
        item = None if self._ended else self._read(self.inputs[0], limit)
        if item is None or self._length is None:
            return item
        before = self._marked(item.cursor)
        if isinstance(item, Block):
            self._index += len(item)
            self._empty = False
            return Block(item.payload, before, item.origin)
        self._empty = self._empty or self._index % self._length == 0
        self._index += 1
        self._ended = self._empty and self._index % self._length == 0
        return Failure(item.error, before, self._marked(item.after), item.by)


@frozen
class _MarkedCursor:
    """A position in turns, and whether the turn that it lies in gave no element before it."""

    input: Cursor
    empty: bool

    def advance(self, count: int) -> _MarkedCursor:
        return _MarkedCursor(self.input.advance(count), self.empty and not count)

    def state(self) -> State:
        return {**self.input.state(), "empty": self.empty}


def repeated_source(node: Repeat, state: State | None, context: StageContext) -> Stage | None:
    """Returns the stage of a repeat that reads a source by index, or maps of one; None where it does not."""
    source = _source_below(node, context)
    if source is None or (state is not None and "index" not in state["input"]):
        return None
    elements, length = index_source(source, context)
    if not length or (state is not None and state["input"]["index"] > length):  # it has fewer than were read
        return None
    meter = context.meter(node)
    if source is node.input:
        return RepeatedSourceStage(elements, length, node.count, (meter, context.meter(source)), state)
    maps = lower(node.input, state, dataclasses.replace(context, turns=node))
    return RepeatedMapsStage(maps, length if node.count is None else None, meter, state)


def _source_below(node: Repeat, context: StageContext) -> Node | None:
    """Returns the source that a repeat reads through maps alone, or none; if it ends by itself, through filters, too."""
    below = node.input
    while True:
        match below:
            case Map() | MapChain() if _is_plain(below, context):
                below = below.input
            case Filter() if node.count is not None:
                below = below.input
            case FromTensors() | FromTensorSlices() | Range():
                return below
            case _:
                return None


def _is_plain(node: Map | MapChain, context: StageContext) -> bool:
    """Returns whether a map has no state of its own."""
    if any(one.skips for one in (node.maps if isinstance(node, MapChain) else (node,))):
        return False
    return context.gate(node) is None or is_ordered(node.deterministic, context)
