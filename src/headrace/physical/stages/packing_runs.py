"""Sequences to be packed, many at a time, and the rows that they are put into.

The sequences of a block are mostly of one kind: arrays of one dtype in one structure. That is seen at one look over all of them.
Where it is not so, or one of them is no sequence, they are looked at one by one. Those that are cut where a row ends are joined when
they come, so that a row is a slice or two of their tokens.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Indexed, Payload
from headrace.frozen import frozen
from headrace.leaf_arrays import common_items
from headrace.physical.stages.packing_rows import RowTokens
from headrace.plan.packing import Pack
from headrace.rows_and_columns import transpose
from headrace.semantics.packing import SequenceKind, sequence_of
from headrace.structure import Element, TreeDef

__all__ = ["CutRow", "PackedRow", "RunIndices", "SequenceRun", "run_of", "run_of_one"]


@frozen
class RunIndices:
    """Which of all that were read the sequences of a run are: the index of the first, and how many tokens each has."""

    first: int
    lengths: Sequence[int]

    def part(self, start: int, stop: int) -> Sequence[int]:
        """Returns the indices of those sequences in a part of the run that have tokens."""
        lengths = self.lengths[start:stop]
        if 0 not in lengths:
            return range(self.first + start, self.first + stop)
        return [index for index, length in enumerate(lengths, self.first + start) if length]


@frozen
class SequenceRun:
    """Consecutive sequences of one kind.

    Attributes:
        first: the index of the first among all that were read.
        kind: what they have in common; only sequences of one kind share a row.
        limits: how long each component of a row is.
        columns: for each component those of all sequences, or their tokens in one array, where they are to be cut.
        lengths: the same, their lengths.
        needs: how much room each sequence needs: an int, or one for each of several components.
        ends: how many tokens the first component has before each sequence, and after the last one.
        widths: how many bytes a token of each component has.
    """

    first: int
    kind: SequenceKind
    limits: Sequence[int]
    columns: Sequence[Any]
    lengths: Sequence[list[int]]
    needs: Sequence[Any]
    ends: Sequence[int]
    widths: Sequence[int]

    @property
    def indices(self) -> RunIndices:
        """Which sequences they are, without their tokens."""
        return RunIndices(self.first, self.lengths[0])

    def weight(self, start: int, stop: int) -> tuple[int, int]:
        """Returns how many sequences of a part of it have tokens, and how many bytes these have."""
        if len(self.limits) == 1:
            empty = self.lengths[0][start:stop].count(0)
            return stop - start - empty, (self.ends[stop] - self.ends[start]) * self.widths[0]
        count = sum(map(any, self.needs[start:stop]))
        return count, sum(width * sum(one[start:stop]) for width, one in zip(self.widths, self.lengths, strict=True))

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

    @property
    def nbytes(self) -> int:
        """How many bytes its tokens have."""
        if len(self.limits) == 1:
            return (self.limits[0] - self.total) * self.widths[0]
        return sum(map(operator.mul, self.widths, map(operator.sub, self.limits, self.room)))

    def taken(self) -> RowTokens:
        """Returns its tokens, and forgets them: positions that are kept refer to its indices alone."""
        columns, self.columns = self.columns, []
        return RowTokens(columns)


class CutRow:
    """A row of sequences that are cut where it ends.

    Attributes:
        kind: what its sequences have in common.
        limits: how long each of its components is.
        tokens: for each component its tokens, in one array or several.
        lengths: how many of them each sequence has.
        indices: those of the sequences among all that were read.
    """

    __slots__ = ("indices", "kind", "lengths", "limits", "tokens")

    def __init__(self, like: SequenceRun) -> None:
        self.kind = like.kind
        self.limits = like.limits
        self.tokens: list[list[np.ndarray]] = [[] for _ in like.limits]
        self.lengths: list[int] = []
        self.indices: Sequence[int] = ()

    def add_part(self, run: SequenceRun, start: int, stop: int, offset: int, cut: int) -> None:
        """Adds sequences of a run, ``offset`` tokens of the first and ``cut`` of the last excepted."""
        begin, end = run.ends[start] + offset, run.ends[stop] - cut
        for mine, flat in zip(self.tokens, run.columns, strict=True):
            mine.append(flat[begin:end])
        indices, lengths = run.indices.part(start, stop), run.lengths[0][start:stop]
        if len(indices) < len(lengths):
            lengths = list(filter(None, lengths))
        lengths[0] -= offset
        lengths[-1] -= cut
        self.indices = [*self.indices, *indices] if self.indices else indices
        self.lengths += lengths

    def taken(self) -> RowTokens:
        """Returns its tokens."""
        return RowTokens(self.tokens, self.lengths)


def run_of(node: Pack, payload: Payload, first: int) -> SequenceRun | None:
    """Returns all of these elements as sequences; None where they must be looked at one by one."""
    try:
        treedef, columns = _columns_of(payload)
        limits = node.lengths(treedef)
        parts = tuple(map(_part_of, columns))
    except Exception:  # noqa: BLE001 - a class of the user's may raise anything, which its element is told of
        return None
    if not parts or None in parts:
        return None
    lengths = [list(map(len, column)) for column in columns]
    if node.strategy == "concat_then_split":
        if any(one != lengths[0] for one in lengths):
            return None
        columns = list(map(_joined, columns))
    elif node.truncate:
        columns = [[array[:limit] for array in column] for column, limit in zip(columns, limits, strict=True)]
        lengths = [list(map(len, column)) for column in columns]
    elif any(max(one) > limit for one, limit in zip(lengths, limits, strict=True)):
        return None
    return _run(first, (treedef, parts), limits, columns, lengths)


def _columns_of(payload: Payload) -> tuple[TreeDef, list[Any]]:
    """Returns the common structure of these elements, and each component of all, in one array where it is in one already."""
    if isinstance(payload, Indexed) and payload.source.is_columnar:
        payload = payload.columns()
    if isinstance(payload, Columns):
        return payload.treedef, list(payload.arrays)
    return transpose(payload.rows())


def _joined(column: Any) -> np.ndarray:
    """Returns the tokens of all sequences."""
    if isinstance(column, np.ndarray):
        return column.reshape(column.shape[0] * column.shape[1], *column.shape[2:])
    return np.concatenate(column)


def _part_of(column: Any) -> tuple[Any, tuple[int, ...]] | None:
    """Returns the dtype and the shape after the first axis that all arrays of a component have; None where they differ."""
    if isinstance(column, np.ndarray):
        return (column.dtype, column.shape[2:]) if column.ndim > 1 else None
    return common_items(column)


def run_of_one(node: Pack, element: Element, index: int) -> SequenceRun:
    """Returns one element as a sequence.

    Raises:
        Exception: it is none, as ``sequence_of`` says.
    """
    one = sequence_of(node, element, index)
    is_cut = node.strategy == "concat_then_split"
    columns = one.arrays if is_cut else [[array] for array in one.arrays]
    return _run(index, one.kind, one.limits, columns, [[length] for length in one.lengths])


def _run(
    first: int, kind: SequenceKind, limits: Sequence[int], columns: Sequence[Any], lengths: Sequence[list[int]]
) -> SequenceRun:
    needs = lengths[0] if len(lengths) == 1 else list(zip(*lengths, strict=True))
    ends = list(itertools.accumulate(lengths[0], initial=0))
    widths = [dtype.itemsize * math.prod(shape) for dtype, shape in kind[1]]
    return SequenceRun(first, kind, limits, columns, lengths, needs, ends, widths)
