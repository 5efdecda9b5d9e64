"""The stages of what every rank reads whole, when it is dealt: the part of a stream, and that of a rank."""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, JoinedCursor, State, input_state
from headrace.blocks.origin import Indices, Origin, as_array
from headrace.blocks.payload import Payload
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.dealing_filling import FillingStage
from headrace.physical.stages.dealing_shared import shared_input
from headrace.physical.stages.files import files_stage
from headrace.plan.dealing import DealtNumbers, Share, SharedFiles
from headrace.plan.dealing_places import PlacesOfStream

__all__ = ["DealtNumbersStage", "ShareStage"]

# What is read for one stream's part of it: numbers, and what has to be made to be dropped.
_NUMBERS_AT_ONCE: Final = 1 << 16
_DROPPED_AT_ONCE: Final = 1 << 10
_PLACES_AT_ONCE: Final = 1 << 10


class ShareStage(Stage):
    """The places of a stream; a failure has one."""

    def __init__(self, places: PlacesOfStream, input_stage: Stage, meter: Meter, state: State | None) -> None:
        self._seen: int = state["seen"] if state else 0
        self._taken = places.count(self._seen)
        super().__init__(meter, (input_stage,), _ShareCursor(places, self._seen, self._taken, input_stage.cursor, 0))
        self._places = places
        self.by_index = input_stage.by_index

    def _pull(self, limit: int) -> Item:
        while True:
            item = self._read(self.inputs[0], self._wanted(limit))
            if item is None:
                return None
            seen, taken = self._seen, self._taken
            length = len(item) if isinstance(item, Block) else 1
            self._seen += length
            self._taken = self._places.count(self._seen)
            if self._taken == taken:
                continue
            cursor = _ShareCursor(self._places, seen, taken, item.cursor, length)
            if isinstance(item, Failure):
                return Failure(item.error, cursor, _ShareCursor(self._places, self._seen, self._taken, item.after, 0))
            mine = self._places.among(taken, self._taken - taken) - seen
            return Block(item.payload.subset(mine), cursor, item.origin.subset(mine))

    def _wanted(self, limit: int) -> int:
        """Returns how many places to read for so many of its own."""
        places = limit * self._places.streams
        if self.by_index:
            return places
        return min(places, _NUMBERS_AT_ONCE if self.inputs[0].is_numbers else max(limit, _DROPPED_AT_ONCE))


class NumberedShareStage(Stage):
    """The same of what is read by number: no other place is looked at."""

    is_numbers = True

    def __init__(self, places: PlacesOfStream, input_stage: Stage, meter: Meter, state: State | None) -> None:
        assert input_stage.numbered is not None  # as the caller has looked
        seen: int = state["seen"] if state else 0
        self._taken = places.count(seen)
        super().__init__(meter, (input_stage,), _ShareCursor(places, seen, self._taken, input_stage.cursor, 0))
        self._places = places
        # Places that are known, those of its elements from one of them on.
        self._first, self._run = 0, np.empty(0, np.int64)
        self.by_index = input_stage.by_index
        self.numbered = places.count(input_stage.numbered)

    def _is_spent(self) -> bool:
        return self._taken == self.numbered

    def _pull(self, limit: int) -> Item:
        assert self.numbered is not None  # as above
        count = min(limit, _NUMBERS_AT_ONCE, self.numbered - self._taken)
        if not count:
            return None
        payload, origin = self.inputs[0].at(self._next(count))
        cursor = self.cursor_at(self._taken)
        self._taken += count
        return Block(payload, cursor, origin)

    def _next(self, count: int) -> np.ndarray:
        """Returns the next places: many streams ask for few at a time, and to compute some hundred takes no longer."""
        start = self._taken - self._first
        if start + count > len(self._run):
            self._first, start = self._taken, 0
            self._run = self._places.among(self._taken, max(count, _PLACES_AT_ONCE))
        return self._run[start : start + count]

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        return self.inputs[0].at(self._places.of(as_array(numbers)))

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        total = self.inputs[0].numbered
        assert total is not None  # as above
        place = min(self._places.at(number), total)
        return _ShareCursor(self._places, place, number, self.inputs[0].cursor_at(place), total - place)


@frozen
class _ShareCursor:
    """How many places were seen, how many of them were the stream's own, and how many the input's block has."""

    places: PlacesOfStream
    seen: int
    taken: int
    input: Cursor
    length: int
    count: int = 0

    def advance(self, count: int) -> _ShareCursor:
        return _ShareCursor(self.places, self.seen, self.taken, self.input, self.length, self.count + count)

    def state(self) -> State:
        """Returns the position before the next place of its own, in the block or behind it."""
        offset = min(self.places.at(self.taken + self.count) - self.seen, self.length)
        return {"seen": self.seen + offset, "input": self.input.advance(offset).state()}


class DealtNumbersStage(Stage):
    """A rank's elements of what every rank can read whole, global batch by global batch.

    What is read is always a multiple of global batches, so that all ranks see alike which is the last, and a position is one
    between two of them, the same for all.
    """

    def __init__(self, node: DealtNumbers, input_stage: Stage, meter: Meter, state: State | None) -> None:
        self._begun: int = state["places"] if state else 0
        self._places = self._begun
        super().__init__(meter, (input_stage,), _NumbersCursor(node, self._begun, self._begun, input_stage.cursor))
        self._node = node
        self._ready: list[Block | Failure] = []  # reversed
        self._ended = False
        self._filling = input_stage if isinstance(input_stage, FillingStage) else None
        self.by_index = input_stage.by_index

    def _pull(self, limit: int) -> Item:
        while not self._ready:
            if self._ended:
                return None
            self._ready = self._gathered(limit)[::-1]
        return self._ready.pop()

    def _gathered(self, limit: int) -> list[Block | Failure]:
        """Reads the next global batches, and returns what is the rank's own of them."""
        node = self._node
        wanted = max(1, limit * node.world_size // node.batch)
        if node.steps is not None:
            wanted = max(0, min(wanted, node.steps - self._places // node.batch))
        filled = 0 if self._filling is None else self._filling.filled
        items, starts = self._items(wanted * node.batch)
        places = starts[-1]
        if self._filling is not None and node.steps is None and self._filling.filled > filled:
            self._ended = True
            places -= self._filling.filled - filled
            places += -places % node.batch  # what is filled in after the last real element
        elif places < wanted * node.batch or not wanted:
            self._ended = True
        if node.drops:
            places -= places % node.batch
        after = items[-1].after if items else self.inputs[0].cursor
        pieces = JoinedCursor(starts, [*(item.cursor for item in items), after])
        own = [self._own(item, start, places, pieces) for item, start in zip(items, starts, strict=False)]
        self._places += places
        return [item for item in own if item is not None]

    def _items(self, wanted: int) -> tuple[list[Block | Failure], list[int]]:
        """Reads so many places, fewer only at the end; returns what was read, and where each piece begins."""
        items: list[Block | Failure] = []
        starts = [0]
        while starts[-1] < wanted:
            item = self._read(self.inputs[0], wanted - starts[-1])
            if item is None:
                break
            items.append(item)
            starts.append(starts[-1] + (len(item) if isinstance(item, Block) else 1))
        # Where all failed, there is no element to fill a batch with: its rest fails as the last one did, on all ranks alike.
        while self._node.fills and starts[-1] % self._node.batch:
            last = items[-1]
            assert isinstance(last, Failure)  # or the input would go on with its element
            items.append(Failure(last.error, last.after, last.after))
            starts.append(starts[-1] + 1)
        return items, starts

    def _own(self, item: Block | Failure, start: int, places: int, pieces: JoinedCursor) -> Item:
        """Returns what is the rank's own of what begins at a place; a position is that before the round of its element."""
        node = self._node
        length = min(len(item) if isinstance(item, Block) else 1, places - start)
        mine = range((node.rank - start) % node.world_size, length, node.world_size)
        if not mine:
            return None
        before = start + mine[0] - node.rank
        end = self._places + places if self._ended else None
        cursor = _NumbersCursor(node, self._begun, self._places + before, pieces.advance(before), end)
        if isinstance(item, Failure):
            return Failure(item.error, cursor, cursor.advance(1))
        return Block(item.payload.subset(mine), cursor, item.origin.subset(mine))


class NumberedDealtStage(Stage):
    """The same of what is read by number: no other rank's place is looked at."""

    is_numbers = True

    def __init__(self, node: DealtNumbers, input_stage: Stage, meter: Meter, state: State | None) -> None:
        assert input_stage.numbered is not None  # as the caller has looked
        self._begun: int = state["places"] if state else 0
        super().__init__(meter, (input_stage,), _NumbersCursor(node, self._begun, self._begun, input_stage.cursor))
        self._node = node
        end = input_stage.numbered
        if node.steps is not None:
            end = min(end, node.steps * node.batch)
        self._end = end - (end - self._begun) % node.batch if node.drops else end
        self._own = range(self._begun + node.rank, self._end, node.world_size)
        self._taken = 0  # in this run
        self.by_index = input_stage.by_index

    def _is_spent(self) -> bool:
        return self._taken >= len(self._own)

    def _pull(self, limit: int) -> Item:
        numbers = self._own[self._taken : self._taken + min(limit, _NUMBERS_AT_ONCE)]
        if not numbers:
            return None
        payload, origin = self.inputs[0].at(numbers)
        places = self._begun + self._taken * self._node.world_size
        self._taken += len(numbers)
        cursor = _NumbersCursor(self._node, self._begun, places, self.inputs[0].cursor_at(places), self._end)
        return Block(payload, cursor, origin)


@frozen
class _NumbersCursor:
    """Between two rounds, in each of which every rank has one element.

    In an uneven last batch not all have: after its last element there each rank is at the end, where the batch would end if it were whole.
    Batches are counted from where the run begins, which need be no multiple of them: the state may be of batches of another size.
    """

    node: DealtNumbers
    begun: int
    places: int
    input: Cursor
    end: int | None = None  # where the places end, if that is known
    count: int = 0

    def advance(self, count: int) -> _NumbersCursor:
        return _NumbersCursor(self.node, self.begun, self.places, self.input, self.end, self.count + count)

    def state(self) -> State:
        node = self.node
        read = places = self.places + self.count * node.world_size
        if self.end is not None:
            left = -(places - self.begun) % node.batch  # of the batch that it is in
            if left and places + node.rank >= self.end:
                places += left
            read = min(places, self.end)  # others have no element in the last round, and there is none to go on at
        return {"places": places, "input": self.input.advance(read - self.places).state()}


@lower.register
def _share(node: Share, state: State | None, context: StageContext) -> Stage:
    assert context.stream is not None  # only streams have a part
    upstream = shared_input(node, state, context)
    stage = ShareStage if upstream.numbered is None else NumberedShareStage
    return stage(node.places_of(context.stream), upstream, context.meter(node), state)


@lower.register
def _shared_files(node: SharedFiles, state: State | None, context: StageContext) -> Stage:
    assert context.stream is not None  # only streams have a part of the files
    return files_stage(node.of_stream(context.stream), context.meter(node), state, context)


@lower.register
def _dealt_numbers(node: DealtNumbers, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, input_state(state), context)
    stage = DealtNumbersStage if upstream.numbered is None else NumberedDealtStage
    return stage(node, upstream, context.meter(node), state)
