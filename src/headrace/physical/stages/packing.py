"""The stage of pack: sequences put into rows of a fixed length.

Where a sequence goes is decided in ``packing_bins``, and what a row is in ``packing_runs``. The state is the position of the oldest
sequence that is held, and the indices of those in each open row, counted from there; they are read again. A failure takes one
sequence, and no row, with it.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, SavedCursor, State, input_state
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Payload
from headrace.blocks.unmade import Unmade
from headrace.elements.structure import Element, flatten
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.input_history import GroupOrigin, InputHistory, InputRuns, ReadOrigin, position_in
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.packing_bins import BinsMark, open_bins
from headrace.physical.stages.packing_filling import CutRow, PackedRow
from headrace.physical.stages.packing_rows import RowMaker
from headrace.physical.stages.packing_runs import Run, run_of, run_of_one
from headrace.plan.packing import Pack
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.packing import PACK_REMEDY, BinContents, SequenceKind, pack_state, sequences_lost

__all__ = ["PackStage"]

_READ_AT_ONCE = 1024
# Rows of a block lie in one array, which lives as long as one of them does; and which is new memory for each block where it is large.
_ROWS_AT_ONCE = 64
_TOKENS_AT_ONCE = 1 << 17


@frozen
class _PackPosition:
    """Before the first row, or before or after a failure."""

    read: int
    held: BinsMark
    runs: InputRuns

    def advance(self, count: int) -> Cursor:
        assert count == 0  # rows have positions of their own
        return self

    def state(self) -> State:
        return _state(self.read, self.held.contents(self.read), self.runs)


@frozen
class _AfterRow:
    """After a row that went out: what was read on the way to the next one is read again from there, unless it failed."""

    row: PackedRow | CutRow
    log: Sequence[PackedRow]
    runs: InputRuns

    def advance(self, count: int) -> Cursor:
        assert count == 0  # as above
        return self

    def state(self) -> State:
        return _state(self.row.read, self.row.contents(self.log), self.runs)


def _state(read: int, held: BinContents, runs: InputRuns) -> State:
    return pack_state(read, held, lambda index: position_in(runs, index).state())


@frozen
class _RowsCursor:
    """In a block of rows: before the first one, or after one of them."""

    before: Cursor
    rows: Sequence[PackedRow | CutRow]
    log: Sequence[PackedRow]
    runs: InputRuns
    index: int = 0

    def advance(self, count: int) -> _RowsCursor:
        return _RowsCursor(self.before, self.rows, self.log, self.runs, self.index + count)

    def state(self) -> State:
        if not self.index:
            return self.before.state()
        return _AfterRow(self.rows[self.index - 1], self.log, self.runs).state()


@frozen
class _RowOrigin:
    """Rows by the indices at which their sequences were read."""

    runs: InputRuns
    rows: Sequence[PackedRow | CutRow]

    def subset(self, indices: Indices) -> _RowOrigin:
        return _RowOrigin(self.runs, [self.rows[index] for index in indices])

    def describe(self, index: int) -> str:
        indices = self.rows[index].indices
        return GroupOrigin([(ReadOrigin(self.runs, np.array(indices)), len(indices))]).describe(0)


class PackStage(Stage):
    """Rows of sequences."""

    def __init__(
        self,
        node: Pack,
        input_stage: Stage,
        meter: Meter,
        state: State | None,
        *,
        holding: Holding,
        learned: LearnedOfPack,
    ) -> None:
        self._holding = holding
        self._makers = learned.makers
        input_stage.may_join = True
        self._node = node
        self._saved = state
        self._bins = open_bins(node)
        longest = max(flatten(node.length)[0])
        self._rows_at_once = max(1, min(_ROWS_AT_ONCE, _TOKENS_AT_ONCE // longest))
        self._reads = InputHistory(input_stage.cursor)
        self._rows: Sequence[Element] = ()  # of the block that was read last, where they are looked at one by one
        self._run: Run | None = None  # what is taken now
        self._next = 0  # the index of the next sequence to take
        self._learned = learned
        self._next_at_row = 0  # the same when the last row went out
        self._ended = False  # the input has
        self._ready: list[Block | Failure] = []  # reversed: the next one is last
        self._lost = False
        self._failed: HeadraceError | None = None  # of a sequence that was held and fails now
        # The position after the last row, or failure.
        self._after: Cursor = self._position() if state is None else SavedCursor(state)
        super().__init__(meter, (input_stage,), self._after)

    def _position(self) -> _PackPosition:
        return _PackPosition(self._next, self._bins.mark(), self._reads.runs)

    def _pull(self, limit: int) -> Item:
        if self._saved is not None and not self._restored(self._saved):
            return Failure(self._failed or sequences_lost(self._node.label), self.cursor, self.cursor)
        if not self._ready and not self._lost:
            self._ready = self._collect(min(limit, self._rows_at_once))[::-1]
        return self._ready.pop() if self._ready else None

    # ------------------------------------------------------------------ rows

    def _collect(self, limit: int) -> list[Block | Failure]:
        """Makes up to ``limit`` rows, and perhaps a failure after them."""
        rows: list[PackedRow | CutRow] = []
        failure = self._fill(rows, limit)
        alike = itertools.groupby(rows, key=operator.attrgetter("kind"))
        items: list[Block | Failure] = []
        for _, part in alike:
            made = list(part)
            items += self._laid(made, [row.taken() for row in made])
        if failure is not None:
            items.append(failure)
            self._after = failure.after
        return items

    def _payload(self, first: PackedRow | CutRow, tokens: list[Any]) -> Payload:
        """Returns rows of the kind of the first; they are made now, unless they may wait until somebody looks."""
        maker = self._makers.get(first.kind)
        if maker is None:
            maker = self._makers[first.kind] = RowMaker(self._node, first.kind, first.limits)
        return Unmade(maker, maker.apart(tokens)) if self.may_wait and maker.may_wait else maker.made(tokens)

    def _fill(self, rows: list[PackedRow | CutRow], limit: int) -> Failure | None:
        """Lets rows go out until there are so many, or a failure on the way to the next one; there are fewer at the end."""
        self._bins.full(rows, limit)  # a sequence may fill many
        while len(rows) < limit:
            failure: Item = None
            if self._run is not None:
                self._take(self._run, rows, limit)
            elif self._next < self._reads.index:
                failure = self._look_at_one()
            else:
                if not rows:
                    self._forget()
                item = None if self._ended else self._read_block(limit - len(rows))
                if item is None:
                    self._ended = True
                    row = self._bins.left(self._next)
                    if row is None:
                        break
                    rows.append(row)
                elif isinstance(item, Failure):
                    failure = self._passed(item)
            if isinstance(failure, Failure):
                return failure
        return None

    def _take(self, run: Run, rows: list[PackedRow | CutRow], limit: int) -> None:
        """Takes sequences of a run, up to where enough rows have gone out."""
        before = len(rows)
        taken = self._bins.take(run, self._next - run.first, rows, limit)
        self._next = run.first + taken
        if len(rows) > before:
            self._next_at_row = self._next
        if taken == len(run):
            self._run = None

    def _forget(self) -> None:
        """Forgets what no position needs any more; those of a block all refer to the same."""
        oldest = self._bins.oldest
        self._reads.forget_before(self._next if oldest is None else oldest)
        self._bins.forget()

    def _laid(self, rows: list[PackedRow | CutRow], tokens: list[Any]) -> Iterator[Block | Failure]:
        """Yields rows of one kind as a block; where that fails, those of them that do not fail, and failures."""
        log, runs = self._bins.log, self._reads.runs
        before, after = self._after, _AfterRow(rows[-1], log, runs)
        origin = _RowOrigin(runs, rows)
        try:
            payload = self._payload(rows[0], tokens)
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            if len(rows) > 1:
                for row, its_tokens in zip(rows, tokens, strict=True):
                    yield from self._laid([row], [its_tokens])
                return
            self._after = after
            yield Failure(as_element_error(error, stage=self._node.label, origin=origin.describe(0)), before, after)
            return
        self._after = after
        yield Block(payload, _RowsCursor(before, rows, log, runs), origin)

    # ------------------------------------------------------------------ sequences

    def _read_block(self, rows: int) -> Item:
        """Reads on for so many rows; what comes is taken at once, or one by one where it must."""
        count = self._bins.count
        self._hold(count)  # before it is asked how many more there is room for
        item = self._read(self.inputs[0], self._wanted(rows, count))
        if item is None:
            return None
        first = self._reads.add(item)
        if isinstance(item, Block):
            self._run = run_of(self._node, item.payload, first)
            if self._run is not None:
                self._learned.add(self._run)
            self._rows = item.payload.rows() if self._run is None else ()
        return item

    def _look_at_one(self) -> Failure | None:
        """Makes a run of the next element; returns its failure if it is no sequence."""
        index = self._next
        try:
            self._run = run_of_one(self._node, self._rows[index - self._reads.index], index)
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            origin = self._reads.origins(range(index, index + 1)).describe(0)
            position = self._position()
            return self._passed(
                Failure(as_element_error(error, stage=self._node.label, origin=origin), position, position)
            )
        self._learned.add(self._run)
        return None

    def _passed(self, failure: Failure) -> Failure:
        before = self._position()
        self._next += 1
        after = self._position()
        return Failure(failure.error, before, after)

    def _wanted(self, rows: int, count: int) -> int:
        """Returns how many sequences to read: enough for so many rows, and a quarter more than no row came of.

        For many rows it is an eighth more than are worth them on the average, so that there are few second readings for the last ones. And
        no row goes out before all that may be open are, unless one is full.
        """
        wanted = max(
            self._learned.sequences_for(rows + rows // 8 + self._bins.unopened), (self._next - self._next_at_row) // 4
        )
        return max(1, min(_READ_AT_ONCE, wanted, self._holding.room(count)))

    def _hold(self, count: int) -> None:
        """Says how much is in the open rows, which is so many sequences."""
        bins = self._bins
        self._holding.hold(bins.nbytes, lambda: bins.sequences, count=count)

    def close(self) -> None:
        self._holding.release()
        super().close()

    # ----------------------------------------------------------------- restoring

    def _restored(self, saved: State) -> bool:
        """Reads again what was held; False where it is not there any more."""
        self._saved = None
        wanted = {index for indices in saved["rows"] for index in indices}
        found: dict[int, Run] = {}
        while self._next < saved["read"] and not self._lost:
            item = self._read(self.inputs[0], min(saved["read"] - self._next, _READ_AT_ONCE))
            if item is None:
                break
            first = self._reads.add(item)
            if isinstance(item, Failure) and first in wanted:
                self._failed = self._failed or item.error
            for index, element in enumerate(item.payload.rows() if isinstance(item, Block) else (), first):
                if index in wanted:
                    found[index] = run_of_one(self._node, element, index)
            self._next = self._reads.index
        self._lost = self._next < saved["read"] or wanted != set(found)
        if not self._lost:
            self._bins.restore(found, saved["rows"], saved["offset"])
        return not self._lost


class LearnedOfPack:
    """What the streams of a dealt plan learn together, whose sequences are alike.

    Attributes:
        makers: what makes rows, by the kind of their sequences.
    """

    __slots__ = ("_rows", "_sequences", "makers")

    def __init__(self) -> None:
        self.makers: dict[SequenceKind, RowMaker] = {}
        self._rows = 0.0  # that the sequences fill which came so far, if they fill them well
        self._sequences = 0  # how many these are

    def add(self, run: Run) -> None:
        """Takes in sequences that came."""
        self._rows += run.rows_worth
        self._sequences += len(run)

    def sequences_for(self, rows: int) -> int:
        """Returns how many are about enough for so many rows; 0 where none came yet."""
        return int(rows * self._sequences / self._rows) if self._rows else 0


@lower.register
def _pack(node: Pack, state: State | None, context: StageContext) -> Stage:
    # Sequences that are held are read again.
    upstream = lower(node.input, input_state(state), context.replaying())
    meter = context.meter(node)
    learned = (
        LearnedOfPack() if context.stream is None else context.learned.setdefault((id(meter), Pack), LearnedOfPack())
    )
    return PackStage(node, upstream, meter, state, holding=context.holding(node, PACK_REMEDY), learned=learned)
