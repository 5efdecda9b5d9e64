"""The reference of the operation that packs sequences.

Which sequence goes into which row, when a row goes out, and what a row is, are written here once more; what makes an element a
sequence (``sequence_of``) and the shape of a saved state are shared with the stage.
"""

from __future__ import annotations

import numpy as np

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, called
from headrace.blocks.cursor import State, input_state
from headrace.blocks.origin import grouped
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.plan.packing import Pack
from headrace.semantics.held_bytes import Holding
from headrace.semantics.packing import PACK_REMEDY, TokenSequence, pack_state, sequence_of, sequences_lost
from headrace.semantics.run_context import RunContext

__all__: list[str] = []

Row = list[TokenSequence]


def room(row: Row) -> list[int]:
    """Returns how many more tokens fit into each component of a row."""
    return [limit - sum(sequence.lengths[index] for sequence in row) for index, limit in enumerate(row[0].limits)]


def fits(sequence: TokenSequence, row: Row) -> bool:
    """Returns whether the whole sequence may go into the row."""
    free = zip(sequence.lengths, room(row), strict=True)
    return sequence.kind == row[0].kind and all(length <= left for length, left in free)


def row_of(node: Pack, row: Row) -> Element:
    """Makes the element of a row: token by token, each with its sequence's id in the row and its position in the sequence."""
    treedef, kinds = row[0].kind
    tokens, ids, positions = [], [], []
    for component, ((dtype, shape), padding, limit) in enumerate(
        zip(kinds, node.paddings(treedef), row[0].limits, strict=True)
    ):
        tokens.append(np.full((limit, *shape), padding, dtype))
        ids.append(np.zeros(limit, dtype=np.int32))
        positions.append(np.zeros(limit, dtype=np.int32))
        at = 0
        for segment, sequence in enumerate(row, start=1):
            for position, token in enumerate(sequence.arrays[component]):
                tokens[-1][at], ids[-1][at], positions[-1][at] = token, segment, position
                at += 1
    return node.row(treedef, tokens, ids, positions)


class PackStream:
    """Whole sequences, each in the first or in the fullest open row where there is room."""

    def __init__(self, node: Pack, input_stream: Stream, state: State | None, holding: Holding) -> None:
        self.holding = holding
        self.node = node
        self.input = input_stream
        self.read = 0
        self.rows: list[Row] = []  # open ones, the oldest first
        self.offset = 0  # how much of the first sequence is out
        self.positions: dict[int, State] = {}
        self.origins: dict[int, str] = {}
        self.waiting: TokenSequence | None = None  # for a row to go out
        self.saved = state

    def next(self) -> Given:
        if self.saved is not None:
            self.restore(self.saved)
        while True:
            row = self.full_row()
            if row is not None:
                return self.out(row)
            if self.waiting is None:
                try:
                    self.waiting = self.next_sequence()
                except StopIteration:
                    if not self.rows:
                        raise
                    return self.out(self.rows[0])
            victim = self.victim(self.waiting)
            if victim is not None:
                return self.out(victim)
            self.put(self.waiting)
            self.hold()
            self.waiting = None
            self.read += 1

    def hold(self) -> None:
        """Says how much is in the open rows."""
        held = [sequence.arrays for row in self.rows for sequence in row]
        nbytes = sum(array.nbytes for arrays in held for array in arrays)
        self.holding.hold(nbytes, lambda: map(tuple, held), count=len(held))

    def next_sequence(self) -> TokenSequence:
        """Returns the next sequence; an element that is no sequence raises, and is passed."""
        position = self.input.state()
        try:
            element, origin = self.input.next()
            sequence: TokenSequence = called(
                self.node.label, origin, lambda: sequence_of(self.node, element, self.read)
            )
        except HeadraceError:
            self.read += 1
            raise
        self.positions[self.read], self.origins[self.read] = position, origin
        return sequence

    def full_row(self) -> Row | None:
        """Returns a row without any room."""
        return next((row for row in self.rows if not any(room(row))), None)

    def victim(self, sequence: TokenSequence) -> Row | None:
        """Returns the row that has to go out, because the sequence fits none and no other may be opened."""
        if not any(sequence.lengths) or any(fits(sequence, row) for row in self.rows):
            return None
        if len(self.rows) < self.node.open_rows:
            return None
        return min(self.rows, key=lambda row: sum(room(row))) if self.node.strategy == "best_fit" else self.rows[0]

    def put(self, sequence: TokenSequence) -> None:
        """Puts the sequence where it belongs; one without tokens nowhere."""
        if not any(sequence.lengths):
            return
        fitting = [row for row in self.rows if fits(sequence, row)]
        if not fitting:
            self.rows.append([sequence])
        elif self.node.strategy == "best_fit":
            min(fitting, key=lambda row: sum(room(row))).append(sequence)
        else:
            fitting[0].append(sequence)

    def out(self, row: Row) -> Given:
        """Makes the element of the row, which is open no more."""
        self.rows = [other for other in self.rows if other is not row]
        return self.made(row)

    def made(self, row: Row) -> Given:
        origin = grouped(self.origins[row[0].index], self.origins[row[-1].index], len(row))
        return called(self.node.label, origin, lambda: row_of(self.node, row)), origin

    def restore(self, saved: State) -> None:
        """Reads again what was held."""
        self.saved = None
        again: dict[int, TokenSequence] = {}
        failed: HeadraceError | None = None
        while self.read < saved["read"]:
            try:
                again[self.read] = self.next_sequence()
            except HeadraceError as error:
                failed = failed or error
                continue
            except StopIteration:
                break
            self.read += 1
        try:
            self.rows = [[again[index] for index in indices] for indices in saved["rows"]]
        except KeyError:
            raise failed or sequences_lost(self.node.label) from None
        self.offset = saved["offset"]

    def state(self) -> State:
        if self.saved is not None:
            return self.saved
        rows = tuple(tuple(sequence.index for sequence in row) for row in self.rows)
        held = {index for row in rows for index in row} | ({self.read} if self.waiting else set())
        self.positions = {index: position for index, position in self.positions.items() if index in held}
        return pack_state(self.read, (rows, self.offset), lambda index: self.positions.get(index) or self.input.state())

    def close(self) -> None:
        self.holding.release()
        self.input.close()


class ConcatenatingStream(PackStream):
    """One sequence after the other in one row, cut where it ends; a sequence of another kind begins another row."""

    def full_row(self) -> Row | None:
        if self.rows and self.tokens(self.rows[0]) >= self.rows[0][0].limits[0]:
            return self.rows[0]
        return None

    def tokens(self, row: Row) -> int:
        """Returns how many tokens are there that are not out."""
        return sum(sequence.lengths[0] for sequence in row) - self.offset

    def victim(self, sequence: TokenSequence) -> Row | None:
        other_kind = any(self.rows) and sequence.lengths[0] and self.rows[0][0].kind != sequence.kind
        return self.rows[0] if other_kind else None

    def put(self, sequence: TokenSequence) -> None:
        if sequence.lengths[0]:
            self.rows = [[*(self.rows[0] if self.rows else []), sequence]]

    def out(self, row: Row) -> Given:
        pieces, rest, left = [], list(row), row[0].limits[0]
        while rest and left:
            piece = rest[0].cut(self.offset, self.offset + left)
            pieces.append(piece)
            left -= piece.lengths[0]
            self.offset += piece.lengths[0]
            if self.offset == rest[0].lengths[0]:
                self.offset = 0
                del rest[0]
        self.rows = [rest] if rest else []
        return self.made(pieces)


@stream_of.register
def _pack(node: Pack, state: State | None, context: RunContext) -> Stream:
    upstream = stream_of(node.input, input_state(state), context)
    kind = ConcatenatingStream if node.strategy == "concat_then_split" else PackStream
    return kind(node, upstream, state, context.holding(node, PACK_REMEDY))
