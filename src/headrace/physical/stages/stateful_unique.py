"""The stage of unique: what it has seen is not saved, but seen again.

Its state is the position where the epoch began and how many elements were read since. A restored stage reads them again:
that takes the time of reading, and no room in a state that would otherwise grow with every new element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State, input_state
from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.passing import Passing
from headrace.physical.stage import Item, Stage
from headrace.plan.stateful import Unique
from headrace.semantics.failures import as_element_error, input_changed
from headrace.semantics.held_bytes import Holding
from headrace.semantics.stateful import DISTINGUISHABLE, UNIQUE_REMEDY, check_distinguishable, with_failure

__all__ = ["UniqueStage"]


_RECALLED_AT_ONCE: Final = 1024


@frozen
class _RecallCursor:
    """``read`` elements after the beginning, and which of them failed (``with_failure``); None where an earlier version's state does not say."""

    start: Cursor
    read: int
    failed: int | None
    offsets: Sequence[int] = (0,)
    index: int = 0

    def advance(self, count: int) -> _RecallCursor:
        return _RecallCursor(self.start, self.read, self.failed, self.offsets, self.index + count)

    def state(self) -> State:
        offset = self.offsets[min(self.index, len(self.offsets) - 1)]
        failed = {} if self.failed is None else {"failed": self.failed}
        return {"read": self.read + offset, **failed, "input": self.start.state()}


class UniqueStage(Stage):
    """Each element when it comes for the first time."""

    def __init__(
        self,
        label: str,
        input_stage: Stage,
        meter: Meter,
        state: State | None,
        *,
        holding: Holding,
        now_s: Callable[[], float],
    ) -> None:
        self._holding = holding
        self._now_s = now_s
        self._passing = Passing()  # what part of elements is new
        self._seen: set[Any] = set()
        self._counted = self._seen_bytes = 0  # how many of them were told to the budget, and about what they weigh
        self._start = input_stage.cursor
        self._recall: int = state["read"] if state else 0
        self._recall_failed: int | None = state.get("failed") if state else 0
        super().__init__(meter, (input_stage,), _RecallCursor(self._start, self._recall, self._recall_failed))
        self._label = label
        self._read_before = self._failed_before = 0
        self._is_changed = False
        self._block: Block | None = None
        self._failure: Failure | None = None

    def _pull(self, limit: int) -> Item:
        if self._read_before < self._recall:
            lost = self._see_again()
            if lost is not None:
                return lost
        if self._is_changed:
            return None
        while True:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                return failure
            begun_s = self._now_s()
            item = self._block or self._read(self.inputs[0], self._passing.to_read(limit, is_free=False))
            self._block = None
            if item is None:
                return None
            if isinstance(item, Failure):
                return self._passed(item)
            made = self._new_ones(item)
            self._passing.observe(len(item), self._now_s() - begun_s, 0 if made is None else len(made))
            if made is not None:
                return made

    def _see_again(self) -> Failure | None:
        """Reads what was read before the state was saved; returns a failure where it is something else, behind which nothing comes."""
        last_failure = None
        while self._read_before < self._recall:
            item = self._read(self.inputs[0], min(self._recall - self._read_before, _RECALLED_AT_ONCE))
            if item is None:
                break
            if isinstance(item, Block):
                self._see(item)
                self._hold(item)
                self._read_before += len(item)
            else:
                last_failure = item.error
                self._pass_failure()
        has_failed_alike = self._recall_failed in (None, self._failed_before)
        if self._read_before == self._recall and has_failed_alike:
            return None
        self._is_changed = True
        self._read_before = self._recall
        return Failure(input_changed(self._label, failure=last_failure), self.cursor, self.cursor)

    def _hold(self, block: Block) -> None:
        """Says how much the elements seen so far hold, after a block."""
        seen = self._seen
        fresh, self._counted = len(seen) - self._counted, len(seen)
        self._seen_bytes += fresh * block.payload.nbytes // len(block)
        self._holding.hold(self._seen_bytes, lambda: seen, count=len(seen))

    def close(self) -> None:
        self._holding.release()
        super().close()

    def _see(self, block: Block) -> None:
        """Goes through elements that were judged before the state was saved."""
        rows = block.payload.rows()
        start = 0
        while start < len(rows):
            length, _ = _distinguishable(rows[start:])
            self._seen.update(rows[start : start + length])
            start += length + 1  # it was an error then, too

    def _passed(self, failure: Failure) -> Failure:
        before = self._here()
        self._pass_failure()
        return Failure(failure.error, before, self._here(), failure.by)

    def _pass_failure(self) -> None:
        self._failed_before = with_failure(self._failed_before, self._read_before)
        self._read_before += 1

    def _here(self, offset: int = 0, offsets: Sequence[int] = (0,)) -> _RecallCursor:
        """Returns the position so many elements after those that were read."""
        return _RecallCursor(self._start, self._read_before + offset, self._failed_before, offsets)

    def _new_ones(self, block: Block) -> Block | None:
        """Returns the elements of a block that are new, up to the first that cannot be told apart from others."""
        rows = block.payload.rows()
        judged, error = _distinguishable(rows)
        kept = self._fresh(rows if error is None else rows[:judged])
        if error is not None:
            placed = as_element_error(error, stage=self._label, origin=block.origin.describe(judged))
            self._failure = Failure(placed, self._here(judged), self._here(judged + 1))
            self._block = block.slice(judged + 1, len(block)) if judged + 1 < len(block) else None
        self._hold(block)
        cursor = self._here(offsets=[*kept, judged])
        self._read_before += judged + (error is not None)
        if not kept:
            self.cursor = self._here()
            return None
        if len(kept) == len(rows):
            return Block(block.payload, cursor, block.origin)
        indices = np.array(kept, dtype=np.int64)
        return Block(block.payload.subset(indices), cursor, block.origin.subset(indices))

    def _fresh(self, rows: Sequence[Element]) -> list[int]:
        """Returns the indices of those that were not seen before, which are seen now."""
        seen, see = self._seen, self._seen.add
        kept: list[int] = []
        for index, row in enumerate(rows):
            if row not in seen:
                see(row)
                kept.append(index)
        return kept


def _distinguishable(rows: Sequence[Element]) -> tuple[int, TypeError | None]:
    """Returns how many elements there are before the first that cannot be told apart from others, and its error."""
    if set(map(type, rows)) <= DISTINGUISHABLE:
        return len(rows), None
    for index, row in enumerate(rows):
        try:
            check_distinguishable(row)
        except TypeError as error:
            return index, error
    return len(rows), None


@lower.register
def _unique(node: Unique, state: State | None, context: StageContext) -> Stage:
    # What was seen is read again from the beginning, so it must come in the same order.
    upstream = lower(node.input, input_state(state), context.replaying())
    holding = context.holding(node, UNIQUE_REMEDY)
    now_s = context.policy.clock.now_s
    return UniqueStage(node.label, upstream, context.meter(node), state, holding=holding, now_s=now_s)
