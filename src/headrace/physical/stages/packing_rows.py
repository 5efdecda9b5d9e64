"""Rows that went out, and the elements that are made of them: tokens, segment ids and positions."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.ragged_rows import array_of_bytes
from headrace.elements.structure import flatten, may_refuse
from headrace.frozen import frozen
from headrace.physical.stages.packing_runs import JoinedRun, Tokens, are_bytes, bytes_in
from headrace.plan.packing import Pack
from headrace.semantics.packing import SequenceKind

__all__ = ["CutTokens", "Piece", "RowMaker", "RowTokens", "WholeTokens", "apart"]

# So many numbers are made once, half a megabyte.
_NUMBERS: Final = 1 << 17

# Tokens of a run: those from one to before another.
Piece = tuple[JoinedRun, int, int]


# What is in a component of a row: its tokens, in pieces; how long each of its segments is, or nothing where each piece is one; and for how
# many more tokens there is room.
ComponentTokens = tuple[Sequence[Tokens], Sequence[int], int]

# The same for each component. Thousands of rows wait in the streams of a dealt plan, and the collector of garbage visits no tuples of
# numbers, bytes and arrays.
RowTokens = tuple[ComponentTokens, ...]

# What is in a row of whole sequences that went out: the tokens of each, as in their run, and for how many more there is room in each component.
WholeTokens = tuple[Sequence[Any], Sequence[int]]


@frozen
class CutTokens:
    """What is in a row of sequences that are cut: its tokens, in pieces."""

    pieces: Sequence[Piece]

    @property
    def limit(self) -> int:
        """How long each component is."""
        return self.pieces[0][0].limits[0]


class RowMaker:
    """Makes rows of one kind.

    Args:
        node: the operation.
        kind: what their sequences have in common.
        limits: how long each component of a row is.

    Raises:
        Exception: rows of this kind cannot be made.
    """

    def __init__(self, node: Pack, kind: SequenceKind, limits: Sequence[int]) -> None:
        self.kind = kind
        self._treedef, parts = kind
        self.key = (node, kind)
        self._node = node
        self._paddings = [
            np.full((limit, *shape), padding, dtype)
            for limit, padding, (dtype, shape) in zip(limits, node.paddings(self._treedef), parts, strict=True)
        ]
        self.part_nbytes = sum(padding.nbytes for padding in self._paddings)
        self.has_tuples = self._treedef.type is not dict
        # A class of the user's may raise anything when a row is built, which has its place where that is done at once.
        self.may_wait = not may_refuse(self._treedef)
        if self.may_wait:
            node.row(self._treedef, *([0] * len(parts) for _ in range(3)))

    def apart(self, rows: Sequence[Any]) -> Sequence[RowTokens]:
        """Returns what is in each of some rows by itself, whole or cut ones, so that they may be made in any order."""
        if _are_cut(rows):
            return _cut_apart(rows, len(self._paddings))
        return list(map(apart, rows))

    def made(self, rows: Sequence[Any]) -> Columns:
        """Makes rows as they come. Tokens that nobody else has are given away."""
        laid = _laid_cut(rows, self._paddings) if _are_cut(rows) else _laid(rows, self._paddings, _of_whole)
        return self._numbered(laid, len(rows))

    def columns(self, parts: Sequence[RowTokens]) -> Columns:
        """Makes rows, each component of all in one array."""
        return self._numbered(_laid(parts, self._paddings, operator.getitem), len(parts))

    def _numbered(self, components: Iterable[tuple[np.ndarray, _Segments]], rows: int) -> Columns:
        """Makes rows of their tokens, which are laid behind each other now, and of where their segments are."""
        tokens, segments = zip(*components, strict=True)
        ids, positions = zip(*_numbered(segments), strict=True)
        by_row = (
            [array.reshape(rows, len(array) // rows, *array.shape[1:]) for array in part]
            for part in (tokens, ids, positions)
        )
        leaves, structure = flatten(self._node.row(self._treedef, *by_row))
        return Columns(structure, leaves)


def _are_cut(rows: Sequence[Any]) -> bool:
    return isinstance(rows[0], CutTokens)


def apart(row: WholeTokens) -> RowTokens:
    """Returns what is in a row of whole sequences by itself."""
    components = (_of_whole(row, number) for number in range(len(row[1])))
    return tuple([(tuple(pieces), lengths, missing) for pieces, lengths, missing in components])


def _of_whole(row: WholeTokens, number: int) -> ComponentTokens:
    """Returns a component of a row of whole sequences."""
    sequences, missing = row
    return sequences if len(missing) == 1 else [tokens[number] for tokens in sequences], (), missing[number]


def _laid(
    rows: Sequence[Any], paddings: Sequence[np.ndarray], component: Callable[[Any, int], ComponentTokens]
) -> Iterator[tuple[np.ndarray, _Segments]]:
    """Yields for each component the tokens of rows behind each other, padded, and where their segments are."""
    for number, padding in enumerate(paddings):
        width = padding.nbytes // len(padding)
        is_bytes = are_bytes(padding.dtype, width)
        rest, unit = (bytes_in(padding), width) if is_bytes else (padding, 1)
        pieces: list[Any] = []
        lengths: list[int] = []
        segments: list[Any] = lengths if component(rows[0], number)[1] else pieces
        ends: list[int] = [0]  # how many segments there are up to the end of each row
        padded: list[int] = []
        for row in rows:
            its_pieces, its_lengths, missing = component(row, number)
            pieces += its_pieces
            lengths += its_lengths
            if missing:
                padded.append(len(segments))
                pieces.append(rest[: missing * unit])
                if its_lengths:
                    lengths.append(missing)
            ends.append(len(segments))
        counts = np.array(lengths) if lengths else np.fromiter(map(len, pieces), np.int64, len(pieces)) // unit
        if is_bytes:
            tokens = array_of_bytes(pieces, padding.dtype).reshape(-1, *padding.shape[1:])
        else:
            tokens = _together(pieces, len(rows), padding)
        yield tokens, _Segments(counts, ends, frozenset(padded))


def _together(arrays: Sequence[np.ndarray], rows: int, padding: np.ndarray) -> np.ndarray:
    """Joins arrays into so many rows of the dtype and the shape of the padding of one."""
    return np.concatenate(arrays, out=np.empty((rows * len(padding), *padding.shape[1:]), padding.dtype))


# A piece, or so much padding as None has tokens.
_PieceOrPadding = tuple[JoinedRun | None, int, int]


def _laid_cut(rows: Sequence[CutTokens], paddings: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, _Segments]]:
    """Yields for each component the tokens of sequences that are cut, and where its segments are.

    Tokens that nobody else has need not be copied.
    """
    pieces = _merged(rows, len(paddings[0]))
    segments = _segments_of(pieces, len(rows), len(paddings[0]))
    for number, padding in enumerate(paddings):
        arrays = [(padding if run is None else run.tokens[number])[begin:end] for run, begin, end in pieces]
        run = pieces[0][0]
        is_own = len(pieces) == 1 and run is not None and run.is_own[number]
        is_alike = arrays[0].dtype == padding.dtype
        yield arrays[0] if is_own and is_alike else _together(arrays, len(rows), padding), segments


def _merged(rows: Sequence[CutTokens], limit: int) -> list[_PieceOrPadding]:
    """Returns the tokens of rows in few pieces, with padding where a row is not full."""
    merged: list[_PieceOrPadding] = []
    for row in rows:
        missing = limit
        for run, begin, end in row.pieces:
            if merged and merged[-1][0] is run and merged[-1][2] == begin:
                merged[-1] = (run, merged[-1][1], end)
            else:
                merged.append((run, begin, end))
            missing -= end - begin
        if missing:
            merged.append((None, 0, missing))
    return merged


def _segments_of(pieces: Sequence[_PieceOrPadding], rows: int, limit: int) -> _Segments:
    """Returns where the segments are of rows that these pieces fill."""
    bounds = np.arange(0, rows * limit + 1, limit)
    inside: list[np.ndarray] = []
    starts: list[int] = []
    padded: list[int] = []
    at = 0
    for run, begin, end in pieces:
        starts.append(at)
        if run is None:
            padded.append(at)
        else:
            ends = run.order.ends
            inside.append(ends[ends.searchsorted(begin, "right") : ends.searchsorted(end, "left")] + (at - begin))
        at += end - begin
    where = np.concatenate([bounds, np.array(starts), *inside])
    where.sort()
    where = where[np.diff(where, prepend=-1) > 0]  # a row may begin where a sequence does, and one may have no tokens
    starts, padding = where.searchsorted(bounds).tolist(), frozenset(where.searchsorted(padded).tolist())
    return _Segments(where[1:] - where[:-1], starts, padding)


def _cut_apart(rows: Sequence[CutTokens], components: int) -> Sequence[RowTokens]:
    """Returns the tokens of each row of sequences that are cut."""
    limit = rows[0].limit
    segments = _segments_of(_merged(rows, limit), len(rows), limit)
    lengths = segments.lengths.tolist()
    found: list[RowTokens] = []
    for row, (start, stop) in zip(rows, itertools.pairwise(segments.starts), strict=True):
        missing = lengths[stop - 1] if stop - 1 in segments.padded else 0
        its_lengths = tuple(lengths[start : stop - bool(missing)])
        parts = [tuple([_part(piece, number) for piece in row.pieces]) for number in range(components)]
        found.append(tuple([(arrays, its_lengths, missing) for arrays in parts]))
    return found


def _part(piece: Piece, number: int) -> np.ndarray:
    """Returns the tokens of a piece in one component, as those of whole sequences are held."""
    run, begin, end = piece
    tokens = run.tokens[number][begin:end]
    return bytes_in(tokens) if are_bytes(tokens.dtype, tokens[:1].nbytes) else tokens


@frozen(eq=False)
class _Segments:
    """Where the segments of rows of one length are.

    Attributes:
        lengths: those of all segments, padding counted as one.
        starts: how many segments there are before each row, and after the last one.
        padded: which of them are padding.
    """

    lengths: np.ndarray
    starts: list[int]
    padded: frozenset[int]

    def are(self, other: _Segments) -> bool:
        """Returns whether these are the same."""
        return self is other or (
            self.starts == other.starts and self.padded == other.padded and np.array_equal(self.lengths, other.lengths)
        )

    def numbered(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns for each token the number of its segment in the row, and its position in that; 0 in padding."""
        lengths, bounds, padded = self.lengths, np.array(self.starts, np.int32), list(self.padded)
        numbers = np.arange(1, len(lengths) + 1, dtype=np.int32)
        numbers -= bounds[:-1].repeat(bounds[1:] - bounds[:-1])
        numbers[padded] = 0
        ends = lengths.cumsum()
        starts = ends - lengths
        positions = starts.astype(np.int32).repeat(lengths)
        np.subtract(_numbers_up_to(len(positions)), positions, out=positions)
        for start, end in zip(starts[padded].tolist(), ends[padded].tolist(), strict=True):
            positions[start:end] = 0
        return numbers.repeat(lengths), positions


@functools.lru_cache(maxsize=1)
def _all_numbers() -> np.ndarray:
    return np.arange(_NUMBERS, dtype=np.int32)


def _numbers_up_to(count: int) -> np.ndarray:
    """Returns so many numbers from 0 on, which stay as they are."""
    return _all_numbers()[:count] if count <= _NUMBERS else np.arange(count, dtype=np.int32)


def _numbered(all_segments: Iterable[_Segments]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields the ids and the positions of each component, which mostly all have the same segments: those are numbered once."""
    before: tuple[_Segments, tuple[np.ndarray, np.ndarray]] | None = None
    for segments in all_segments:
        if before is not None and segments.are(before[0]):
            yield before[1][0].copy(), before[1][1].copy()  # an array is its receiver's alone, also within an element
            continue
        before = segments, segments.numbered()
        yield before[1]
