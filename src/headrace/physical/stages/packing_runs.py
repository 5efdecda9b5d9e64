"""Sequences to be packed, many at a time.

The sequences of a block are mostly of one kind: arrays of one dtype in one structure. That is seen at one look over all of them.
Where it is not so, or one of them is no sequence, they are looked at one by one. Short ones wait for their row as their bytes: they
cost a third of what an array does, keep nothing else alive, and are joined by one call. Those that are cut where a row ends are joined
when they come.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.payload import Indexed, Payload
from headrace.blocks.ragged_rows import RaggedColumn, RaggedRows
from headrace.elements.leaf_arrays import common_items
from headrace.elements.rows_and_columns import transpose
from headrace.elements.structure import Element, TreeDef
from headrace.frozen import frozen
from headrace.physical.loops.joined_form import is_of_numbers
from headrace.plan.packing import Pack
from headrace.semantics.packing import SequenceKind, sequence_of

__all__ = ["JoinedRun", "Run", "RunOrder", "SequenceRun", "Tokens", "run_of", "run_of_one", "widths_of"]

# Those of a sequence: an array, or the bytes of it.
Tokens = np.ndarray | bytes

# Longer components wait as arrays: to copy them once more takes longer than to hold an array for each.
_SHORT_BYTES: Final = 4 << 10
_MOST: Final = 1 << 62  # no sequence has as many tokens


@frozen(eq=False)
class SequenceRun:
    """Consecutive sequences of one kind, to be packed whole.

    Attributes:
        first: the index of the first among all that were read.
        kind: what they have in common; only sequences of one kind share a row.
        limits: how long each component of a row is.
        sequences: the tokens of each; a tuple of those of each component, where there are several.
        lengths: for each component those of all sequences.
        needs: how much room each sequence needs: a length for each component, or an int where that is all of them.
        least: so much room each needs at least that has tokens: of its needs, or of their sums.
        is_even: whether all components of each sequence are equally long, and of a row, so that one stands for all.
        width: how many bytes a token of all components has.
    """

    first: int
    kind: SequenceKind
    limits: Sequence[int]
    sequences: list[Any]
    lengths: Sequence[list[int]]
    needs: Sequence[Any]
    least: int
    is_even: bool
    width: int

    @property
    def rows_worth(self) -> float:
        """How many rows they fill, if they fill them well."""
        return max(sum(lengths) / limit for lengths, limit in zip(self.lengths, self.limits, strict=True))

    def __len__(self) -> int:
        return len(self.needs)


@frozen
class RunOrder:
    """Which of all that were read the sequences of a run are, and where each ends, without their tokens.

    Attributes:
        first: the index of the first.
        ends: how many tokens there are before each sequence, and after the last one.
    """

    first: int
    ends: np.ndarray

    def taken_at(self, token: int) -> int:
        """Returns how many of the sequences begin before this token, those without tokens just before it excepted."""
        return int(self.ends.searchsorted(token, "left"))

    def indices(self, begin: int, end: int) -> list[int]:
        """Returns the indices among all that were read of the sequences that these tokens are of."""
        start = int(self.ends.searchsorted(begin, "right")) - 1
        part = self.ends[start : self.taken_at(end) + 1]
        return [self.first + start + index for index in np.flatnonzero(np.diff(part)).tolist()]


@frozen
class JoinedRun:
    """Consecutive sequences of one kind, to be cut where a row ends.

    Attributes:
        order: which they are, and where each ends.
        kind: what they have in common.
        limits: how long each component of a row is.
        tokens: for each component those of all sequences, in one array.
        is_own: for each of these whether nobody else has it.
    """

    order: RunOrder
    kind: SequenceKind
    limits: Sequence[int]
    tokens: Sequence[np.ndarray]
    is_own: Sequence[bool]

    @property
    def first(self) -> int:
        """The index of the first among all that were read."""
        return self.order.first

    @property
    def rows_worth(self) -> float:
        """How many rows they fill."""
        return int(self.order.ends[-1]) / self.limits[0]

    def __len__(self) -> int:
        return len(self.order.ends) - 1


def widths_of(kind: SequenceKind) -> list[int]:
    """Returns how many bytes a token of each component has."""
    return [dtype.itemsize * math.prod(shape) for dtype, shape in kind[1]]


Run = SequenceRun | JoinedRun


def run_of(node: Pack, payload: Payload, first: int) -> Run | None:
    """Returns all of these elements as sequences; None where they must be looked at one by one."""
    try:
        treedef, columns = _columns_of(payload)
        limits = node.lengths(treedef)
        parts = tuple(map(_part_of, columns))
    except Exception:  # noqa: BLE001 - a class of the user's may raise anything, which its element is told of
        return None
    if not parts or None in parts:
        return None
    kind = (treedef, parts)
    all_ends = list(map(_ends_of, columns))
    if node.strategy == "concat_then_split":
        is_equal = all(np.array_equal(ends, all_ends[0]) for ends in all_ends[1:])
        return _joined_run(first, kind, limits, columns, all_ends[0]) if is_equal else None
    for number, limit in enumerate(limits):
        ends = all_ends[number]
        if int((ends[1:] - ends[:-1]).max()) > limit:
            if not node.truncate:
                return None
            columns[number] = [array[:limit] for array in _one_by_one(columns[number])]
            all_ends[number] = _ends_of(columns[number])
    return _whole_run(first, kind, limits, columns, all_ends)


def _columns_of(payload: Payload) -> tuple[TreeDef, list[Any]]:
    """Returns the common structure of these elements, and each component of all, joined or in one array where it is so already."""
    if isinstance(payload, Indexed) and payload.source.is_columnar:
        payload = payload.columns()
    if isinstance(payload, Columns):
        return payload.treedef, list(payload.arrays)
    if isinstance(payload, RaggedRows):
        return payload.treedef, list(payload.joined)
    return transpose(payload.rows())


def _part_of(column: Any) -> tuple[Any, tuple[int, ...]] | None:
    """Returns the dtype and the shape after the first axis that all arrays of a component have; None where they differ."""
    if isinstance(column, RaggedColumn):
        return column.dtype, ()
    if isinstance(column, np.ndarray):
        return (column.dtype, column.shape[2:]) if column.ndim > 1 else None
    return common_items(column)


def _one_by_one(column: Any) -> list[np.ndarray]:
    """Returns the arrays of a component."""
    if isinstance(column, RaggedColumn):
        return column.arrays()
    return list(column)


def _bytes_of(column: Any) -> list[bytes]:
    """Returns the bytes of each array of a component, which are of numbers."""
    if isinstance(column, RaggedColumn):
        return column.contents
    if isinstance(column, np.ndarray) and column.size:
        rows = np.ascontiguousarray(column).reshape(len(column), -1)
        contents: list[Any] = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel().tolist()
        return contents
    return [array.tobytes() for array in _one_by_one(column)]


def run_of_one(node: Pack, element: Element, index: int) -> Run:
    """Returns one element as a sequence.

    Raises:
        Exception: it is none, as ``sequence_of`` says.
    """
    one = sequence_of(node, element, index)
    columns = [[array] for array in one.arrays]
    all_ends = list(map(_ends_of, columns))
    if node.strategy == "concat_then_split":
        return _joined_run(index, one.kind, one.limits, columns, all_ends[0])
    return _whole_run(index, one.kind, one.limits, columns, all_ends)


def _whole_run(
    first: int, kind: SequenceKind, limits: Sequence[int], columns: Sequence[Any], all_ends: Sequence[np.ndarray]
) -> SequenceRun:
    is_even = len(set(limits)) == 1 and all(np.array_equal(ends, all_ends[0]) for ends in all_ends[1:])
    found = [ends[1:] - ends[:-1] for ends in (all_ends[:1] if is_even else all_ends)]
    lengths = [one.tolist() for one in found]
    needs = lengths[0] if is_even else list(zip(*lengths, strict=True))
    widths = widths_of(kind)
    nbytes = sum(int(ends[-1]) * width for ends, width in zip(all_ends, widths, strict=True))
    is_short = len(needs) > 1 and nbytes <= _SHORT_BYTES * len(needs) * len(columns)
    tokens: list[list[Any]] = [
        _bytes_of(column) if is_short and width and is_of_numbers(dtype) else _one_by_one(column)
        for column, (dtype, _), width in zip(columns, kind[1], widths, strict=True)
    ]
    lengths *= len(columns) // len(lengths)  # all have those of the first, where they are even
    least = _least(found[0] if is_even else np.sum(found, axis=0))
    sequences = tokens[0] if len(tokens) == 1 else list(zip(*tokens, strict=True))
    return SequenceRun(first, kind, limits, sequences, lengths, needs, least, is_even, sum(widths))


def _least(lengths: np.ndarray) -> int:
    """Returns the least of these that is not 0."""
    least = int(lengths.min(initial=_MOST))
    return least or int(lengths.min(initial=_MOST, where=lengths > 0))


def _ends_of(column: Any) -> np.ndarray:
    """Returns how many tokens there are before each of these sequences, and after the last one."""
    if isinstance(column, RaggedColumn):
        return column.ends
    ends = np.zeros(len(column) + 1, np.int64)
    np.fromiter(map(len, column), np.int64, len(column)).cumsum(out=ends[1:])
    return ends


def _joined_run(
    first: int, kind: SequenceKind, limits: Sequence[int], columns: Sequence[Any], ends: np.ndarray
) -> JoinedRun:
    is_own = [not isinstance(column, np.ndarray) for column in columns]
    return JoinedRun(RunOrder(first, ends), kind, limits, list(map(_joined, columns)), is_own)


def _joined(column: Any) -> np.ndarray:
    """Returns the tokens of all sequences."""
    if isinstance(column, RaggedColumn):
        return column.values
    if isinstance(column, np.ndarray):
        return column.reshape(column.shape[0] * column.shape[1], *column.shape[2:])
    return np.concatenate(column)
