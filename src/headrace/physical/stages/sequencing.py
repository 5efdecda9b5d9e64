"""Stages that choose which elements come: take, skip, shard.

They cut blocks and never look inside, so over an indexed source they move indices and read nothing. As in tf.data
a failure passes through, and does not count as an element.
"""

from __future__ import annotations

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import CountedCursor, Cursor, State, input_state
from headrace.blocks.origin import Indices, Origin, subset
from headrace.blocks.payload import Payload
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.plan.sequencing import Repeat, Shard, Skip, Take

__all__ = ["ShardStage", "SkipStage", "SkippedCursor", "TakeStage", "TurnCursor", "nothing_of"]

# What is read only to be dropped is read in blocks of this size: large enough to be cheap, small enough to hold.
_DROPPED_AT_ONCE = 1024


@frozen
class TurnCursor:
    """In one of several runs: which, whether it gave an element yet, and the position in it."""

    key: str
    turn: int
    empty: bool
    input: Cursor

    def advance(self, count: int) -> TurnCursor:
        return TurnCursor(self.key, self.turn, self.empty and not count, self.input.advance(count))

    def state(self) -> State:
        return {self.key: self.turn, "empty": self.empty, "input": self.input.state()}


class TakeStage(Stage):
    """The first elements."""

    def __init__(self, count: int, input_stage: Stage, meter: Meter, state: State | None) -> None:
        self._taken: int = state["taken"] if state else 0
        super().__init__(meter, (input_stage,), CountedCursor("taken", self._taken, input_stage.cursor))
        self._count = count
        self.by_index = input_stage.by_index
        if input_stage.numbered is not None:
            self.numbered = min(count, input_stage.numbered)

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        return self.inputs[0].at(numbers)

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        return CountedCursor("taken", number, self.inputs[0].cursor_at(number))

    def _is_spent(self) -> bool:
        return self._taken >= self._count or self._has_spent_source

    def _pull(self, limit: int) -> Item:
        left = self._count - self._taken
        if left <= 0:
            return None
        item = self._read(self.inputs[0], min(limit, left))
        if item is None:
            return None
        cursor = CountedCursor("taken", self._taken, item.cursor)
        if isinstance(item, Failure):
            return Failure(item.error, cursor, CountedCursor("taken", self._taken, item.after))
        self._taken += len(item)
        return Block(item.payload, cursor, item.origin)


class SkipStage(Stage):
    """All but the first elements."""

    def __init__(self, count: int, input_stage: Stage, meter: Meter, state: State | None) -> None:
        self._skipped: int = state["skipped"] if state else 0
        self._count = count
        super().__init__(meter, (input_stage,), SkippedCursor(self._skipped, input_stage.cursor))
        self.by_index = input_stage.by_index
        if input_stage.numbered is not None:
            self.numbered = max(0, input_stage.numbered - count)

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        shifted = (
            range(numbers.start + self._count, numbers.stop + self._count, numbers.step)
            if isinstance(numbers, range)
            else numbers + self._count
        )
        return self.inputs[0].at(shifted)

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        skipped = self._count if number else 0
        return SkippedCursor(skipped, self.inputs[0].cursor_at(number + skipped))

    def _pull(self, limit: int) -> Item:
        while self._skipped < self._count:
            wanted = self._count - self._skipped
            item = self._read(self.inputs[0], wanted if self.by_index else min(wanted, _DROPPED_AT_ONCE))
            if not isinstance(item, Block):
                return self._placed(item)
            self._skipped += len(item)
        return self._placed(self._read(self.inputs[0], limit))

    def _placed(self, item: Item) -> Item:
        if item is None:
            return None
        cursor = SkippedCursor(self._skipped, item.cursor)
        if isinstance(item, Failure):
            return Failure(item.error, cursor, SkippedCursor(self._skipped, item.after))
        return Block(item.payload, cursor, item.origin)


@frozen
class SkippedCursor:
    """After a skip: how many were dropped, and the position in what it reads."""

    skipped: int
    input: Cursor

    def advance(self, count: int) -> SkippedCursor:
        return SkippedCursor(self.skipped, self.input.advance(count))

    def state(self) -> State:
        return {"skipped": self.skipped, "input": self.input.state()}


class ShardStage(Stage):
    """Every n-th element; reads none after the last that is asked for."""

    def __init__(self, node: Shard, input_stage: Stage, meter: Meter, state: State | None, *, pace: Pace) -> None:
        self._pace = pace
        self._seen: int = state["seen"] if state else 0
        super().__init__(meter, (input_stage,), _ShardCursor(self._seen, input_stage.cursor, range(0)))
        self._node = node
        self.by_index = input_stage.by_index
        self._own: range | None = None  # the numbers of its elements, where they have numbers
        if input_stage.numbered is not None:
            self._own = range(node.index, input_stage.numbered, node.num_shards)
            self.numbered = len(self._own)

    def _at(self, numbers: Indices) -> tuple[Payload, Origin]:
        assert self._own is not None  # as it is numbered
        return self.inputs[0].at(subset(self._own, numbers))

    def cursor_at(self, number: int) -> Cursor:
        """Returns the position before the element with this number."""
        assert self._own is not None  # as above
        total = self.inputs[0].numbered or 0
        place = min(number * self._node.num_shards, total)
        left = total - place  # who asks goes on from here by any number of elements
        offsets = range(self._node.index, left, self._node.num_shards)
        return _ShardCursor(place, self.inputs[0].cursor_at(place), offsets, left)

    def _pull(self, limit: int) -> Item:
        while True:
            before_s = self._inside_s
            item = self._read(self.inputs[0], self._wanted(limit))
            if item is None:
                return None
            if isinstance(item, Failure):
                before, after = (_ShardCursor(self._seen, one, range(0)) for one in (item.cursor, item.after))
                return Failure(item.error, before, after)
            if not self.by_index:
                self._pace.observe(len(item), self._inside_s - before_s, item.payload.nbytes)
            first = (self._node.index - self._seen) % self._node.num_shards
            mine = range(first, len(item), self._node.num_shards)
            cursor = _ShardCursor(self._seen, item.cursor, mine, len(item))
            self._seen += len(item)
            if mine:
                return Block(item.payload.subset(mine), cursor, item.origin.subset(mine))

    def _wanted(self, limit: int) -> int:
        """Returns how many elements are read at once: up to the last of those asked for, as far as that is little work."""
        shards = self._node.num_shards
        wanted = (self._node.index - self._seen) % shards + 1 + (limit - 1) * shards
        return wanted if self.by_index else min(wanted, max(limit, self._pace.size))


@frozen
class _ShardCursor:
    """In a shard: how many elements were seen, and the offsets in the input's block at which its own ones stand."""

    seen: int
    input: Cursor
    offsets: range
    length: int = 0
    count: int = 0

    def advance(self, count: int) -> _ShardCursor:
        return _ShardCursor(self.seen, self.input, self.offsets, self.length, self.count + count)

    def state(self) -> State:
        offset = self.offsets[self.count] if self.count < len(self.offsets) else self.length
        return {"seen": self.seen + offset, "input": self.input.advance(offset).state()}


@lower.register
def _take(node: Take, state: State | None, context: StageContext) -> Stage:
    if node.count < 0:
        return lower(node.input, state, context)
    return TakeStage(node.count, lower(node.input, input_state(state), context), context.meter(node), state)


def nothing_of(node: Take | Skip | Repeat, context: StageContext) -> Stage:
    """Makes a stage that gives no element, and reads none."""
    return TakeStage(0, lower(node.input, None, context), context.meter(node), None)


@lower.register
def _skip(node: Skip, state: State | None, context: StageContext) -> Stage:
    if node.count < 0:
        return nothing_of(node, context)
    return SkipStage(node.count, lower(node.input, input_state(state), context), context.meter(node), state)


@lower.register
def _shard(node: Shard, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, input_state(state), context.upstream_of_shard(node))
    return ShardStage(node, upstream, context.meter(node), state, pace=context.policy.pace())
