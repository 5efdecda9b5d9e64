"""The stage of pack: sequences put into rows of a fixed length.

Where a sequence goes is decided in ``packing_bins``, and what a row is in ``packing_runs``. The state is the position of the oldest
sequence that is held, and the indices of those in each open row, counted from there; they are read again. A failure takes one
sequence, and no row, with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, PositionsCursor, SavedCursor, State, input_state
from headrace.blocks.origin import Indices
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.input_history import GroupOrigin, InputHistory, InputRuns, ReadOrigin, position_in
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.packing_bins import BinsMark, open_bins
from headrace.physical.stages.packing_runs import CutRow, PackedRow, SequenceRun, packed_rows, run_of, run_of_one
from headrace.plan.packing import Pack
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.packing import PACK_REMEDY, pack_state, sequences_lost
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


# A row on its way: the positions before and after it.
_Made = tuple[PackedRow | CutRow, _PackPosition, _PackPosition]


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
        self._made = 0
        self._next_at_row = 0  # the same when the last row went out
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
            row = self._next_row(limit)
            if row is None:
                break
            if isinstance(row, Failure):
                failures.append(row)
                break
            # What was read on the way to a row is read again from the position before it, unless it failed.
            after = self._position()
            self._next_at_row = self._next
            rows.append((row, position, after))
            position = after
        self._made += len(rows)
        alike = itertools.groupby(rows, key=lambda made: made[0].kind)
        return [item for _, part in alike for item in self._laid(list(part))] + failures

    def _laid(self, made: list[_Made]) -> Iterator[Block | Failure]:
        """Yields rows of one kind as a block; where that fails, those of them that do not fail, and failures."""
        # By now the runs of the first rows may be forgotten.
        origin = _RowOrigin([(after.runs, row.indices) for row, _, after in made])
        positions = [before for _, before, _ in made]
        try:
            columns = packed_rows(self._node, [row for row, _, _ in made])
            yield Block(columns, PositionsCursor([*positions, made[-1][2]]), origin)
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            if len(made) > 1:
                for one in made:
                    yield from self._laid([one])
                return
            words = origin.describe(0)
            yield Failure(as_element_error(error, stage=self._node.label, origin=words), *made[0][1:])

    def _next_row(self, limit: int) -> PackedRow | CutRow | Failure | None:
        """Returns the next row that goes out, or a failure on the way to it; None at the end."""
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
                item = self._read_block(limit)
                if item is None:
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

    def _read_block(self, limit: int) -> Item:
        """Reads on; what comes is taken at once, or one by one where it must."""
        item = self._read(self.inputs[0], self._wanted(limit))
        if item is None:
            return None
        oldest = self._bins.oldest
        self._reads.forget_before(self._next if oldest is None else oldest)
        self._hold()
        first = self._reads.add(item)
        if isinstance(item, Block):
            self._run = run_of(self._node, item.payload, first)
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
        return None

    def _passed(self, failure: Failure) -> Failure:
        before = self._position()
        self._next += 1
        return Failure(failure.error, before, self._position())

    def _wanted(self, limit: int) -> int:
        """Returns how many sequences to read: enough for so many rows, and a quarter more than no row came of."""
        a_row = self._next // self._made if self._made else 0
        wanted = max(limit * a_row, (self._next - self._next_at_row) // 4)
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


@lower.register
def _pack(node: Pack, state: State | None, context: StageContext) -> Stage:
    # Sequences that are held are read again.
    upstream = lower(node.input, input_state(state), context.replaying())
    return PackStage(node, upstream, context.meter(node), state, holding=context.holding(node, PACK_REMEDY))
