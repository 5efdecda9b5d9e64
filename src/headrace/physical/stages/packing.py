"""The stage of pack: sequences put into rows of a fixed length.

Where a sequence goes is decided in ``packing_bins``, and what a row is in ``packing_runs``. The state is the position of the oldest
sequence that is held, and the indices of those in each open row, counted from there; they are read again. A failure takes one
sequence, and no row, with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, PositionsCursor, SavedCursor, State, input_state
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Payload
from headrace.blocks.unmade import Unmade
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.input_history import GroupOrigin, InputHistory, InputRuns, ReadOrigin, position_in
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.packing_bins import BinsMark, open_bins
from headrace.physical.stages.packing_rows import RowMaker, RowTokens
from headrace.physical.stages.packing_runs import CutRow, PackedRow, SequenceRun, run_of, run_of_one
from headrace.plan.packing import Pack
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.packing import PACK_REMEDY, SequenceKind, pack_state, sequences_lost
from headrace.structure import Element

__all__ = ["PackStage"]

_READ_AT_ONCE = 1024
# Rows of a block lie in one array, which lives as long as one of them does.
_ROWS_AT_ONCE = 64


@frozen
class _PackPosition:
    """Before or after a row, or a failure."""

    read: int
    held: BinsMark
    runs: InputRuns

    def advance(self, count: int) -> Cursor:
        assert count == 0  # the rows of a block have a position each
        return self

    def state(self) -> State:
        return pack_state(self.read, self.held.contents(self.read), lambda index: position_in(self.runs, index).state())


@frozen
class _RowOrigin:
    """Rows by the indices at which their sequences were read, each with the runs as they were when it went out."""

    rows: Sequence[tuple[InputRuns, Sequence[int]]]

    def subset(self, indices: Indices) -> _RowOrigin:
        return _RowOrigin([self.rows[index] for index in indices])

    def describe(self, index: int) -> str:
        runs, indices = self.rows[index]
        return GroupOrigin([(ReadOrigin(runs, np.array(indices)), len(indices))]).describe(0)


class _Made(NamedTuple):
    """A row on its way: what it holds, and the positions before and after it."""

    kind: SequenceKind
    limits: Sequence[int]
    tokens: RowTokens
    indices: Sequence[int]
    before: _PackPosition
    after: _PackPosition


class PackStage(Stage):
    """Rows of sequences."""

    def __init__(self, node: Pack, input_stage: Stage, meter: Meter, state: State | None, *, holding: Holding) -> None:
        self._holding = holding
        self._node = node
        self._saved = state
        self._bins = open_bins(node)
        self._reads = InputHistory(input_stage.cursor)
        self._rows: Sequence[Element] = ()  # of the block that was read last, where they are looked at one by one
        self._run: SequenceRun | None = None  # what is taken now
        self._next = 0  # the index of the next sequence to take
        self._maker: RowMaker | None = None  # of the kind of the last rows
        self._worth = _Worth(node.open_rows)
        self._next_at_row = 0  # the same when the last row went out
        self._ended = False  # the input has
        self._ready: list[Block | Failure] = []  # reversed: the next one is last
        self._lost = False
        super().__init__(meter, (input_stage,), self._position() if state is None else SavedCursor(state))

    def _position(self) -> _PackPosition:
        return _PackPosition(self._next, self._bins.mark(), self._reads.runs)

    def _pull(self, limit: int) -> Item:
        if self._saved is not None and not self._restored(self._saved):
            return Failure(sequences_lost(self._node.label), self.cursor, self.cursor)
        if not self._ready and not self._lost:
            self._ready = self._collect(min(limit, _ROWS_AT_ONCE))[::-1]
        return self._ready.pop() if self._ready else None

    # ------------------------------------------------------------------ rows

    def _collect(self, limit: int) -> list[Block | Failure]:
        """Makes up to ``limit`` rows, and perhaps a failure after them."""
        rows: list[_Made] = []
        failures: list[Block | Failure] = []
        position = self._position()
        while len(rows) < limit and not failures:
            row = self._next_row(limit - len(rows))
            if row is None:
                break
            if isinstance(row, Failure):
                failures.append(row)
                break
            # What was read on the way to a row is read again from the position before it, unless it failed.
            after = self._position()
            self._next_at_row = self._next
            rows.append(_Made(row.kind, row.limits, row.taken(), row.indices, position, after))
            self._worth.has_begun = True
            position = after
        alike = itertools.groupby(rows, key=lambda made: made.kind)
        return [item for _, part in alike for item in self._laid(list(part))] + failures

    def _laid(self, made: list[_Made]) -> Iterator[Block | Failure]:
        """Yields rows of one kind as a block; where that fails, those of them that do not fail, and failures."""
        # By now the runs of the first rows may be forgotten.
        origin = _RowOrigin([(row.after.runs, row.indices) for row in made])
        positions = [*(row.before for row in made), made[-1].after]
        try:
            payload = self._payload(made[0], [row.tokens for row in made])
            yield Block(payload, PositionsCursor(positions), origin)
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            if len(made) > 1:
                for one in made:
                    yield from self._laid([one])
                return
            words = origin.describe(0)
            yield Failure(as_element_error(error, stage=self._node.label, origin=words), *positions)

    def _payload(self, first: _Made, tokens: list[RowTokens]) -> Payload:
        """Returns rows of the kind of the first; they are made now, unless they may wait until somebody looks."""
        maker = self._maker
        if maker is None or maker.kind != first.kind:
            maker = self._maker = RowMaker(self._node, first.kind, first.limits)
        return Unmade(maker, tokens) if self.may_wait and maker.may_wait else maker.columns(tokens)

    def _next_row(self, wanted: int) -> PackedRow | CutRow | Failure | None:
        """Returns the next row of so many that goes out, or a failure on the way to it; None at the end."""
        while True:
            row = self._bins.out()
            if row is not None:
                return row
            if self._run is not None:
                self._take(self._run)
            elif self._next < self._reads.index:
                failure = self._look_at_one()
                if failure is not None:
                    return failure
            else:
                item = None if self._ended else self._read_block(wanted)
                if item is None:
                    self._ended = True
                    return self._bins.left()
                if isinstance(item, Failure):
                    return self._passed(item)

    def _take(self, run: SequenceRun) -> None:
        """Takes sequences up to where a row has to go out."""
        taken = self._bins.take(run, self._next - run.first)
        self._next = run.first + taken
        if taken == len(run):
            self._run = None

    # ------------------------------------------------------------------ sequences

    def _read_block(self, rows: int) -> Item:
        """Reads on for so many rows; what comes is taken at once, or one by one where it must."""
        self._hold()  # before it is asked how many more there is room for
        item = self._read(self.inputs[0], self._wanted(rows))
        if item is None:
            return None
        oldest = self._bins.oldest
        self._reads.forget_before(self._next if oldest is None else oldest)
        first = self._reads.add(item)
        if isinstance(item, Block):
            self._run = run_of(self._node, item.payload, first)
            if self._run is not None:
                self._worth.add(self._run)
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
        self._worth.add(self._run)
        return None

    def _passed(self, failure: Failure) -> Failure:
        before = self._position()
        self._next += 1
        return Failure(failure.error, before, self._position())

    def _wanted(self, rows: int) -> int:
        """Returns how many sequences to read: enough for so many rows, and a quarter more than no row came of."""
        wanted = max(self._worth.sequences(rows), (self._next - self._next_at_row) // 4)
        return max(1, min(_READ_AT_ONCE, wanted, self._holding.room(self._bins.count)))

    def _hold(self) -> None:
        """Says how much is in the open rows."""
        bins = self._bins
        self._holding.hold(bins.nbytes, lambda: bins.sequences, count=bins.count)

    def close(self) -> None:
        self._holding.release()
        super().close()

    # ----------------------------------------------------------------- restoring

    def _restored(self, saved: State) -> bool:
        """Reads again what was held; False where it is not there any more."""
        self._saved = None
        wanted = {index for indices in saved["rows"] for index in indices}
        found: dict[int, SequenceRun] = {}
        while self._next < saved["read"] and not self._lost:
            item = self._read(self.inputs[0], min(saved["read"] - self._next, _READ_AT_ONCE))
            if item is None:
                break
            first = self._reads.add(item)
            for index, element in enumerate(item.payload.rows() if isinstance(item, Block) else (), first):
                if index in wanted:
                    found[index] = run_of_one(self._node, element, index)
            self._next = self._reads.index
        self._lost = self._next < saved["read"] or wanted != set(found)
        if not self._lost:
            self._bins.restore(found, saved["rows"], saved["offset"])
        return not self._lost


class _Worth:
    """How many rows the sequences fill that came so far, if they fill them well.

    Before the first row goes out all that may be open are filled.
    """

    __slots__ = ("_open_rows", "_rows", "_sequences", "has_begun")

    def __init__(self, open_rows: int) -> None:
        self._open_rows = open_rows
        self._rows = 0.0
        self._sequences = 0
        self.has_begun = False

    def add(self, run: SequenceRun) -> None:
        """Takes in sequences that came."""
        self._rows += max(sum(lengths) / limit for lengths, limit in zip(run.lengths, run.limits, strict=True))
        self._sequences += len(run)

    def sequences(self, rows: int) -> int:
        """Returns how many more are about enough for so many rows."""
        missing = rows if self.has_begun else rows + max(self._open_rows - self._rows, 0.0)
        return int(missing * self._sequences / self._rows) if self._rows else 0


@lower.register
def _pack(node: Pack, state: State | None, context: StageContext) -> Stage:
    # Sequences that are held are read again.
    upstream = lower(node.input, input_state(state), context.replaying())
    return PackStage(node, upstream, context.meter(node), state, holding=context.holding(node, PACK_REMEDY))
