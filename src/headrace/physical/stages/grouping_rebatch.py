"""The stage of rebatch with several sizes: batches whose sizes come in turn."""

from __future__ import annotations

import dataclasses

from headrace.blocks.block import Block, Failure, joined_block
from headrace.blocks.cursor import Cursor, PositionsCursor, State, input_state
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Rows
from headrace.elements.leaf_arrays import native
from headrace.elements.structure import Element, unflatten
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.input_history import GroupOrigin
from headrace.physical.lookahead import StageLookahead
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.grouping import CyclingBatch
from headrace.semantics.failures import as_element_error
from headrace.semantics.grouping import BATCH_REMEDY, element_like, emptied, specified, turn_after, turn_state
from headrace.semantics.held_bytes import Holding

__all__ = ["CyclingBatchStage"]


@frozen
class _TurnCursor:
    """Before a batch: whose size it has, where its first element is, and where it ends.

    Where there are batches of no element, an element says what they are like: the last one that was read.
    """

    sizes: tuple[int, ...]
    turn: int
    next_turn: int
    input: Cursor
    after: Cursor
    like: Element | None
    like_after: Element | None
    count: int = 0

    def advance(self, count: int) -> _TurnCursor:
        return dataclasses.replace(self, count=self.count + count)

    def state(self) -> State:
        if not self.count:
            return turn_state(self.sizes, self.turn, self.input.state(), self.like)
        return turn_state(self.sizes, self.next_turn, self.after.state(), self.like_after)


# A batch on its way: itself, where its elements came from and how many they are, and the position before it.
_Made = tuple[Element, tuple[Origin, int], _TurnCursor]


class CyclingBatchStage(Stage):
    """Batches that are stacked one by one, out of elements that are read for as many as were asked for."""

    def __init__(
        self, node: CyclingBatch, input_stage: Stage, meter: Meter, state: State | None, holding: Holding
    ) -> None:
        self._turn: int = state["turn"] if state else 0
        self._sizes = node.batch_sizes
        position = input_stage.cursor
        self._specified = specified(node)
        self._last = element_like(state)  # of those that were read
        super().__init__(meter, (input_stage,), self._cursor(position, position, self._last))
        self._drop_remainder = node.drop_remainder
        self._label = node.label
        self._holding = holding
        self._ahead = StageLookahead(input_stage, self._weak_read(), holding)
        self._held: Failure | None = None  # comes after the batches before it

    def _cursor(self, position: Cursor, after: Cursor, like: Element | None, *, short: bool = False) -> _TurnCursor:
        turn_behind = turn_after(self._sizes, self._turn, short=short)
        return _TurnCursor(self._sizes, self._turn, turn_behind, position, after, like, self._last)

    def _pull(self, limit: int) -> Item:
        held, self._held = self._held, None
        if held is not None:
            return held
        made: list[_Made] = []
        while len(made) < limit and (one := self._next_batch(limit - len(made))) is not None:
            if isinstance(one, Failure):
                self._held = one
                break
            made.append(one)
        if not made:
            failure, self._held = self._held, None
            return failure
        elements, groups, positions = map(list, zip(*made, strict=True))
        return Block(Rows(elements), PositionsCursor([*positions, positions[-1].advance(1)]), GroupOrigin(groups))

    def _next(self, limit: int, ahead: int) -> Item:
        """Returns the next item of the input, of at most ``limit`` elements; ``ahead`` of them are read at once."""
        head = self._ahead.peek(ahead)
        if head is None:
            return None
        if isinstance(head, Failure):
            return self._ahead.drop_failure()
        block = self._ahead.take(min(limit, len(head)))
        if self._specified is None:
            self._last = block.payload.subset(range(len(block) - 1, len(block))).rows()[0]
        return block

    def _next_batch(self, wanted: int) -> _Made | Failure | None:
        """Returns the next batch, or its failure; None at the end."""
        size, like = self._sizes[self._turn], self._last
        if not size:
            return self._empty()
        blocks: list[Block] = []
        failure: Failure | None = None
        before = after = None
        left = size
        ahead = wanted * sum(self._sizes) // len(self._sizes)
        while left and (item := self._next(left, max(left, ahead))) is not None:
            if isinstance(item, Block):
                blocks.append(item)
            else:
                failure = failure or item
            left -= len(item) if isinstance(item, Block) else 1
            before, after = before or item.cursor, item.after
        if before is None or after is None or (failure is None and left and self._drop_remainder):
            return None
        made = self._made(blocks, failure, self._cursor(before, after, like, short=left > 0))
        self._turn = turn_after(self._sizes, self._turn, short=left > 0)
        return made

    def _made(self, blocks: list[Block], failure: Failure | None, cursor: _TurnCursor) -> _Made | Failure:
        if failure is not None:
            return Failure(failure.error, cursor, cursor.advance(1))
        whole = joined_block(blocks)
        members = (whole.origin, len(whole))
        try:
            columns = whole.payload.columns()
            return unflatten(columns.treedef, [native(array.copy()) for array in columns.arrays]), members, cursor
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            placed = as_element_error(error, stage=self._label, origin=GroupOrigin([members]).describe(0))
            return Failure(placed, cursor, cursor.advance(1))

    def close(self) -> None:
        self._holding.release()
        super().close()

    def _empty(self) -> _Made | Failure | None:
        """Makes a batch of no element; a neighbour tells what it would hold."""
        like = self._last
        position = self._ahead.cursor
        if self._specified is None and self._last is None:
            head = self._ahead.peek(1)
            if head is None:
                return None
            if isinstance(head, Failure):
                item = self._ahead.drop_failure()
                before, after = self._cursor(item.cursor, item.after, like), self._cursor(item.after, item.after, like)
                return Failure(item.error, before, after)
            self._last = self._ahead.first(1).payload.rows()[0]
        known = self._last if self._specified is None else self._specified
        cursor = self._cursor(position, position, like)
        self._turn = turn_after(self._sizes, self._turn, short=False)
        return emptied(known), (_NO_ORIGIN, 1), cursor


class _NoOrigin:
    """A batch of no element came from none."""

    def subset(self, indices: object) -> _NoOrigin:
        return self

    def describe(self, index: int) -> str:
        return "no element"


_NO_ORIGIN = _NoOrigin()


@lower.register
def _rebatch(node: CyclingBatch, state: State | None, context: StageContext) -> Stage:
    upstream, holding = lower(node.input, input_state(state), context), context.gathering(node, BATCH_REMEDY)
    return CyclingBatchStage(node, upstream, context.meter(node), state, holding)
