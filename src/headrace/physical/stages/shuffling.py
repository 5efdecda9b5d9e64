"""The shuffle stage.

Its order is ``semantics.shuffling``'s; here are the buffer, and the positions from which the buffer can be filled again. It
works on runs of outputs: the draws of a run are one call, the elements one gather, and over an indexed source
both move indices alone.

Its state is the number of outputs, the position of an input element not later than the oldest one held, and the
number of elements once the input has ended. Contents are read again, never stored.

A failure takes part as if it were an element: it comes out where its element would have. So a failing element
changes no other's place, and a map before a shuffle does what it does after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State, input_state
from headrace.blocks.joining import join
from headrace.blocks.origin import as_array
from headrace.blocks.payload import Payload, Rows
from headrace.blocks.slot_buffer import SlotBuffer
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.input_history import InputHistory, ReadOrigin
from headrace.physical.lower import lower
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.shuffling_order import OrderInRuns, ShuffleCursor
from headrace.physical.stages.shuffling_whole import WholeShuffleStage
from headrace.plan.shuffling import Shuffle
from headrace.semantics.failures import input_changed
from headrace.semantics.held_bytes import Holding
from headrace.semantics.random_streams import Key
from headrace.semantics.shuffling import (
    SHUFFLE_REMEDY,
    buffer_needs,
    buffer_slots,
    content,
    drain_order,
    draws,
    is_computed,
    shuffle_key,
)

__all__ = ["ShuffleStage"]

# What is read to fill the buffer is read in blocks of at most this size, and this part of the budget, so that the buffer is
# not held twice.
_READ_AT_ONCE = 1024
_PART_AT_ONCE = 16
_BYTES_AT_ONCE = 4 << 20
# To draw some thousand numbers costs hardly more than to draw one.
_DRAWN_AT_ONCE = 4096


class ShuffleStage(Stage):
    """Elements in random order."""

    def __init__(
        self,
        node: Shuffle,
        key: Key,
        input_stage: Stage,
        meter: Meter,
        state: State | None,
        *,
        holding: Holding,
        pace: Callable[..., Pace],
    ) -> None:
        self._size = buffer_slots(node)
        self._holding = holding
        part = min(_BYTES_AT_ONCE, holding.budget_bytes // _PART_AT_ONCE)
        self._pace = pace(limit=_READ_AT_ONCE, bytes_limit=max(1, part))
        self._key = key
        self._emitted: int = state["emitted"] if state else 0
        self._total: int | None = state.get("total") if state else None
        # As the state has it: known only once all outputs that exchange an element are out.
        self._total_in_state = self._total
        self._saved = state
        self._computed = self._total is not None and is_computed(min(self._total, self._size), state)
        # An input element not later than the oldest that is held, and the position before it.
        self._oldest: tuple[int, Cursor] = (state["read"] if state else 0, input_stage.cursor)
        self._reads = InputHistory(input_stage.cursor, self._oldest[0])
        super().__init__(meter, (input_stage,), self._cursor_at(self._emitted))
        self.is_numbers = input_stage.by_index or input_stage.is_numbers
        self._slots = SlotBuffer(self._size)
        self._bound_at = self._emitted  # the output at which it was last looked which element is the oldest
        self._order: OrderInRuns | None = None  # of the slots, while they drain
        self._drain_start = 0  # the first output of these
        # The index of the element in each slot; None as long as element i lies in slot i.
        self._held: np.ndarray | None = None
        self._drawn_slots = np.empty(0, dtype=np.int64)  # draws, from output ``_drawn_from`` on
        self._drawn_from = self._emitted
        self._filled = False
        self._label = node.label
        self._lost: Failure | None = None  # what is told where the elements are not those that were shuffled
        self._is_changed = False
        self._input_ended = False
        self._pending: Block | None = None  # outputs that were drawn and not asked for yet

    # ------------------------------------------------------------------ filling

    def _fill(self) -> None:
        """Fills the slots as they were before the next output."""
        steady = self._emitted if self._total is None else max(0, self._total - self._size)
        if steady:
            self._held = content(self._key, steady, self._size)
        total = self._total
        self._fill_up_to(steady + self._size)
        if total is not None:
            self._read_input(1)  # nothing, or there are more than were drawn from
        if self._emitted and not self._has_as_many(total):
            self._is_changed = True
            self._lost = Failure(input_changed(self._label), self.cursor, self.cursor)
        self._filled = True
        self._bound_at = self._emitted

    def _has_as_many(self, total: int | None) -> bool:
        """Returns whether as many elements were read again as the outputs before were drawn from."""
        read = self._reads.index
        return read >= self._emitted + self._size if total is None else read == total

    def _fill_up_to(self, end: int) -> None:
        held = self._held
        slot_of = np.argsort(held) if held is not None else None
        while self._reads.index < end:
            item = self._read_input(end - self._reads.index)
            if item is None:
                return
            first, payload = item
            if held is None or slot_of is None:
                if first:
                    self._slots.put(np.arange(first, first + len(payload)), payload)
                else:
                    self._slots.put_first(payload)
                self._hold()
                continue
            indices = np.arange(first, first + len(payload))
            # Elements that had come out before are read again on the way, and dropped.
            at = np.minimum(np.searchsorted(held, indices, sorter=slot_of), len(slot_of) - 1)
            slots = slot_of[at]
            mine = held[slots] == indices
            self._slots.put(slots[mine], payload.subset(np.flatnonzero(mine)))
            self._hold()

    def _hold(self) -> None:
        """Says how much the buffer holds."""
        slots = self._slots
        self._holding.hold(slots.nbytes, slots.rows, count=len(slots), needs=self._needs)

    def _needs(self, nbytes: int) -> str:
        return buffer_needs(nbytes, len(self._slots), self._size)

    def close(self) -> None:
        self._holding.release()
        super().close()

    @property
    def reads_no_more(self) -> bool:
        """Whether only what is in its buffer is left."""
        return self._input_ended

    def _read_input(self, wanted: int) -> tuple[int, Payload] | None:
        """Returns the index of the next input element and a payload that begins with it, or None at the end."""
        if self._input_ended:
            return None
        source = self.inputs[0]
        item = self._read(source, wanted if source.by_index else min(wanted, self._pace.size))
        if item is None:
            self._input_ended = True
            self._total = self._reads.index
            return None
        first = self._reads.add(item)
        if isinstance(item, Failure):
            self._slots.any_failure = True
            payload: Payload = Rows([item])
        else:
            payload = item.payload
        if not source.by_index:
            self._pace.observe(len(payload), 0.0, payload.nbytes)
        return first, payload

    # ------------------------------------------------------------------ drawing

    def _pull(self, limit: int) -> Item:
        if not self._filled:
            self._fill()
        if self._is_changed:
            lost, self._lost = self._lost, None
            return lost
        if self._pending is None:
            self._pending = self._drawn(limit)
        block, self._pending = self._pending, None
        if block is None:
            return None
        if len(block) > limit:
            self._pending = block.slice(limit, len(block))
            block = block.slice(0, limit)
        return self._without_failures(block) if self._slots.any_failure else block

    def _holds_elements(self) -> bool:
        return self._filled and not self._is_spent()

    def _is_spent(self) -> bool:
        if self._order is None or self._pending is not None or self._is_changed:
            return False
        return self._emitted - self._drain_start == len(self._order)

    def _drawn(self, limit: int) -> Block | None:
        """Draws the next outputs, while elements still come in or else from what is left."""
        if self._emitted - self._bound_at >= self._size:
            # Once every ``_size`` outputs, as it looks at every slot.
            oldest = 0 if self._held is None else int(self._held.min())
            self._reads.forget_before(oldest)
            self._oldest = (oldest, self._reads.position(oldest))
            self._bound_at = self._emitted
        if self._order is None:
            incoming = self._incoming(limit)
            if incoming is not None:
                return self._exchanged(*incoming)
            self._start_draining()
        assert self._order is not None  # set just now
        begun = self._emitted - self._drain_start
        slots = self._order.after(begun, limit)
        if not len(slots):
            return None
        return self._output(self._slots.get(slots), slots if self._held is None else self._held[slots])

    def _incoming(self, limit: int) -> tuple[int, Payload] | None:
        """Reads elements to come in for as many outputs; one exchange of many costs little more than one of a few."""
        first = self._reads.index
        pieces: list[Payload] = []
        while self._reads.index - first < limit:
            item = self._read_input(limit - (self._reads.index - first))
            if item is None:
                break
            pieces.append(item[1])
        return (first, join(pieces)) if pieces else None

    def _next_slots(self, count: int) -> np.ndarray:
        """Returns the slots from which the next outputs are taken."""
        start = self._emitted - self._drawn_from
        if start + count > len(self._drawn_slots):
            self._drawn_from, start = self._emitted, 0
            self._drawn_slots = draws(self._key, self._emitted, max(count, _DRAWN_AT_ONCE), self._size)
        return self._drawn_slots[start : start + count]

    def _start_draining(self) -> None:
        assert self._total is not None  # the input has ended
        self._total_in_state = self._total
        self._drain_start = max(0, self._total - self._size)
        left = min(self._total, self._size)
        self._computed = is_computed(left, self._saved)
        self._order = OrderInRuns(drain_order(self._key, left, self._saved))

    def _exchanged(self, first: int, incoming: Payload) -> Block:
        """Takes one output for each element that comes in and gets its slot."""
        count = len(incoming)
        if self._held is None:
            self._held = np.arange(self._size, dtype=np.int64)
        slots = self._next_slots(count)
        indices = np.arange(first, first + count, dtype=np.int64)
        earlier = _previous_equal(slots)
        # These take what came in during this run, all others what lay in their slot.
        again = np.flatnonzero(earlier >= 0)
        taken = self._held[slots]
        taken[again] = indices[earlier[again]]
        payload = self._slots.get_before(slots, incoming, again, earlier[again])
        self._slots.put(slots, incoming)
        self._hold()
        self._held[slots] = indices
        return self._output(payload, taken)

    def _output(self, payload: Payload, indices: np.ndarray) -> Block:
        block = Block(payload, self._cursor_at(self._emitted), self._reads.origins(indices))
        self._emitted += len(payload)
        return block

    def _cursor_at(self, emitted: int) -> Cursor:
        return ShuffleCursor(emitted, *self._oldest, self._total_in_state, self._computed)

    def _without_failures(self, block: Block) -> Item:
        """Returns the block up to its first failure, or that failure."""
        rows = block.payload.rows()
        failing = next((index for index, row in enumerate(rows) if isinstance(row, Failure)), len(rows))
        rest = block.slice(max(1, failing), len(rows)) if len(rows) > max(1, failing) else None
        if rest is not None:
            self._pending = rest if self._pending is None else _rejoined(rest, self._pending)
        if failing:
            return block.slice(0, failing)
        return Failure(rows[0].error, block.cursor, block.cursor.advance(1))


def _rejoined(first: Block, second: Block) -> Block:
    assert isinstance(first.origin, ReadOrigin)
    assert isinstance(second.origin, ReadOrigin)
    indices = np.concatenate([as_array(first.origin.indices), as_array(second.origin.indices)])
    return Block(join([first.payload, second.payload]), first.cursor, ReadOrigin(first.origin.runs, indices))


def _previous_equal(slots: np.ndarray) -> np.ndarray:
    """Returns for each position the last earlier one with the same value, or -1."""
    # A slot and a position in one number: numbers are sorted in a third of the time in which their order is found.
    bits = len(slots).bit_length()
    numbers = np.sort((slots << bits) | np.arange(len(slots)))
    order = numbers & ((1 << bits) - 1)
    numbers >>= bits
    same = numbers[1:] == numbers[:-1]
    earlier = np.full(len(slots), -1, dtype=np.int64)
    earlier[order[1:][same]] = order[:-1][same]
    return earlier


@lower.register
def _shuffle(node: Shuffle, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, input_state(state), context.replaying())
    if upstream.numbered is not None and upstream.numbered <= buffer_slots(node):
        return WholeShuffleStage(node, shuffle_key(node, context), upstream, context.meter(node), state)
    holding, meter = context.holding(node, SHUFFLE_REMEDY), context.meter(node)
    return ShuffleStage(
        node,
        shuffle_key(node, context),
        upstream,
        meter,
        state,
        holding=holding,
        pace=functools.partial(context.pace, meter),
    )
