"""Sequences to be packed, many at a time, and the rows that are made of them.

The sequences of a block are mostly of one kind: arrays of one dtype in one structure. That is seen at one look over all of them.
Where it is not so, or one of them is no sequence, they are looked at one by one.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.frozen import frozen
from headrace.plan.packing import Pack
from headrace.rows_and_columns import transpose
from headrace.semantics.packing import SequenceKind, sequence_of
from headrace.structure import Element, flatten

__all__ = ["PackedRow", "SequenceRun", "packed_rows", "run_of", "run_of_one"]

_dtype: Final = operator.attrgetter("dtype")
_ndim: Final = operator.attrgetter("ndim")


@frozen
class SequenceRun:
    """Consecutive sequences of one kind.

    Attributes:
        first: the index of the first among all that were read.
        kind: what they have in common; only sequences of one kind share a row.
        limits: how long each component of a row is.
        columns: for each component those of all sequences.
        lengths: the same, their lengths.
        ends: how many tokens the first component has before each sequence, and after the last one.
    """

    first: int
    kind: SequenceKind
    limits: Sequence[int]
    columns: Sequence[Sequence[np.ndarray]]
    lengths: Sequence[Sequence[int]]
    ends: Sequence[int]

    def indices(self, start: int, stop: int) -> list[int]:
        """Returns the indices among all that were read of those sequences in a part of it that have tokens."""
        lengths = self.lengths[0]
        return [self.first + at for at in range(start, stop) if lengths[at]]

    @property
    def widths(self) -> list[int]:
        """How many bytes a token of each component has."""
        return [dtype.itemsize * math.prod(shape) for dtype, shape in self.kind[1]]

    @property
    def needs(self) -> Sequence[Any]:
        """How much room each sequence needs: an int, or one for each of several components."""
        return self.lengths[0] if len(self.lengths) == 1 else list(zip(*self.lengths, strict=True))

    def __len__(self) -> int:
        return len(self.lengths[0])


class PackedRow:
    """A row: its sequences, and their indices among all that were read.

    Attributes:
        kind: what its sequences have in common.
        limits: how long each of its components is.
        widths: how many bytes a token of each component has.
        columns: for each component those of its sequences.
        indices: those of its sequences; they only become more until it goes out.
        room: for each of several components for how many more tokens there is room.
        total: the same, in all components; -1 where it went out.
        opened_at: how many rows were opened before it.
        closed_at: how many rows went out before it; None while it is open.
    """

    __slots__ = ("closed_at", "columns", "indices", "kind", "limits", "opened_at", "room", "total", "widths")

    def __init__(self, like: SequenceRun, opened_at: int) -> None:
        self.kind = like.kind
        self.limits = like.limits
        self.widths = like.widths
        self.columns: list[list[np.ndarray]] = [[] for _ in like.limits]
        self.indices: list[int] = []
        self.room = list(like.limits)
        self.total = sum(like.limits)
        self.opened_at = opened_at
        self.closed_at: int | None = None

    def add(self, run: SequenceRun, at: int, need: Any) -> None:
        """Adds a sequence of a run, which needs so much."""
        self.indices.append(run.first + at)
        if type(need) is int:
            self.columns[0].append(run.columns[0][at])
            self.total -= need
            return
        for mine, column in zip(self.columns, run.columns, strict=True):
            mine.append(column[at])
        self.room = list(map(operator.sub, self.room, need))
        self.total -= sum(need)

    def add_part(self, run: SequenceRun, start: int, stop: int, offset: int, cut: int) -> None:
        """Adds sequences of a run, ``offset`` tokens of the first and ``cut`` of the last excepted."""
        self.indices += run.indices(start, stop)
        for mine, column in zip(self.columns, run.columns, strict=True):
            arrays = [array for array in column[start:stop] if len(array)]
            if cut:
                arrays[-1] = arrays[-1][:-cut]
            if offset:
                arrays[0] = arrays[0][offset:]
            mine.extend(arrays)

    @property
    def nbytes(self) -> int:
        """How many bytes its tokens have."""
        if len(self.limits) == 1:
            return (self.limits[0] - self.total) * self.widths[0]
        return sum(map(operator.mul, self.widths, map(operator.sub, self.limits, self.room)))


def run_of(node: Pack, rows: Sequence[Element], first: int) -> SequenceRun | None:
    """Returns all of these elements as sequences; None where they must be looked at one by one."""
    try:
        treedef, columns = transpose(rows)
        limits = node.lengths(treedef)
        parts = tuple(map(_part_of, columns))
    except Exception:  # noqa: BLE001 - a class of the user's may raise anything, which its element is told of
        return None
    if not parts or None in parts:
        return None
    lengths = [list(map(len, column)) for column in columns]
    if node.strategy == "concat_then_split":
        fit = all(one == lengths[0] for one in lengths)
    else:
        fit = node.truncate or all(max(one) <= limit for one, limit in zip(lengths, limits, strict=True))
        if node.truncate:
            columns = [[array[:limit] for array in column] for column, limit in zip(columns, limits, strict=True)]
            lengths = [list(map(len, column)) for column in columns]
    return SequenceRun(first, (treedef, parts), limits, columns, lengths, _ends(lengths[0])) if fit else None


def _part_of(column: Sequence[Any]) -> tuple[Any, tuple[int, ...]] | None:
    """Returns the dtype and the shape after the first axis that all arrays of a component have; None where they differ."""
    if set(map(type, column)) != {np.ndarray} or len(set(map(_dtype, column))) != 1:
        return None
    axes = set(map(_ndim, column))
    shapes = {()} if axes == {1} else {array.shape[1:] for array in column}
    return (column[0].dtype, shapes.pop()) if len(axes) == len(shapes) == 1 and 0 not in axes else None


def run_of_one(node: Pack, element: Element, index: int) -> SequenceRun:
    """Returns one element as a sequence.

    Raises:
        Exception: it is none, as ``sequence_of`` says.
    """
    one = sequence_of(node, element, index)
    columns = [[array] for array in one.arrays]
    return SequenceRun(
        index, one.kind, one.limits, columns, [[length] for length in one.lengths], _ends(one.lengths[:1])
    )


def _ends(lengths: Sequence[int]) -> list[int]:
    return list(itertools.accumulate(lengths, initial=0))


def packed_rows(node: Pack, rows: Sequence[PackedRow]) -> Columns:
    """Makes rows of one kind: tokens, segment ids and positions, each component of all rows in one array."""
    treedef, kinds = rows[0].kind
    paddings = node.paddings(treedef)
    tokens, ids, positions = [], [], []
    for number, (limit, (dtype, shape)) in enumerate(zip(rows[0].limits, kinds, strict=True)):
        padding = np.full((limit, *shape), paddings[number], dtype)
        arrays, segments = _laid_out([row.columns[number] for row in rows], padding)
        tokens.append(np.concatenate(arrays, out=np.empty((len(rows) * limit, *shape), dtype)))
        ids_of, positions_of = _numbered(segments, list(map(len, arrays)), len(rows) * limit)
        ids.append(ids_of)
        positions.append(positions_of)
    leaves, structure = flatten(
        node.row(treedef, *([_by_row(array, len(rows)) for array in part] for part in (tokens, ids, positions)))
    )
    return Columns(structure, leaves)


def _laid_out(rows: Sequence[Sequence[np.ndarray]], padding: np.ndarray) -> tuple[list[np.ndarray], list[int]]:
    """Returns the arrays of all rows, after each row what fills it, and for each of these its number in the row, 0 for the filling."""
    arrays: list[np.ndarray] = []
    segments: list[int] = []
    for row in rows:
        arrays += row
        arrays.append(padding[sum(map(len, row)) :])
        segments += [*range(1, len(row) + 1), 0]
    return arrays, segments


def _numbered(segments: Sequence[int], lengths: Sequence[int], total: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each token the number of its segment, and its position in that; 0 where it fills a row."""
    counts = np.array(lengths)
    ids = np.repeat(np.array(segments, dtype=np.int32), counts)
    positions = np.arange(total, dtype=np.int32)
    positions -= np.repeat((counts.cumsum() - counts).astype(np.int32), counts)
    positions *= ids != 0
    return ids, positions


def _by_row(array: np.ndarray, rows: int) -> np.ndarray:
    return array.reshape(rows, len(array) // rows, *array.shape[1:])
