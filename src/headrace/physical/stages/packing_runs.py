"""Sequences to be packed, many at a time.

The sequences of a block are mostly of one kind: arrays of one dtype in one structure. That is seen at one look over all of them.
Where it is not so, or one of them is no sequence, they are looked at one by one. Those of numbers wait for their row as their bytes, which
are joined by one call; a short one as an object that costs a third of what an array does, and keeps nothing else alive. Those that are cut where a row ends are joined
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

__all__ = [
    "JoinedRun",
    "Run",
    "RunOrder",
    "SequenceRun",
    "Tokens",
    "are_bytes",
    "bytes_in",
    "run_of",
    "run_of_one",
    "widths_of",
]

# Those of a sequence: where they are numbers the bytes of it, as an object or as an array of them, else the sequence.
Tokens = np.ndarray | bytes

# The bytes of longer ones are not copied: that would take longer than to hold an array for each.
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
    sequences: Sequence[Any]
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
    lengths = list(map(_lengths_of, columns))
    if node.strategy == "concat_then_split":
        is_equal = all(np.array_equal(one, lengths[0]) for one in lengths[1:])
        return _joined_run(first, kind, limits, columns, lengths[0]) if is_equal else None
    for number, limit in enumerate(limits):
        if int(lengths[number].max()) > limit:
            if not node.truncate:
                return None
            columns[number] = _cut(columns[number], limit)
            lengths[number] = _lengths_of(columns[number])
    return _whole_run(first, kind, limits, columns, lengths)


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


def _cut(column: Any, limit: int) -> Any:
    """Returns the arrays of a component up to so many tokens of each."""
    if isinstance(column, RaggedColumn):
        return column.cut(limit)
    return column[:, :limit] if isinstance(column, np.ndarray) else [array[:limit] for array in column]


def are_bytes(dtype: Any, width: int) -> bool:
    """Returns whether whole sequences of this dtype, whose tokens have so many bytes, wait for their row as those."""
    return width > 0 and is_of_numbers(dtype)


def _bytes_of(column: Any, lengths: np.ndarray, width: int) -> Sequence[Any]:
    """Returns the bytes of each array of a component: as an object where they are few, or where they lie."""
    if isinstance(column, RaggedColumn):
        return column.contents
    is_short = int(lengths.sum()) * width <= _SHORT_BYTES * len(lengths)
    if not isinstance(column, np.ndarray):
        return [array.tobytes() if is_short else bytes_in(array) for array in column]
    rows = bytes_in(column).reshape(len(column), -1)
    if not is_short:
        return list(rows)
    # An element of this dtype is its bytes.
    return rows.view(np.dtype((np.void, rows.shape[1]))).ravel().tolist() if rows.size else [b""] * len(rows)


def bytes_in(array: np.ndarray) -> np.ndarray:
    """Returns the bytes of an array, one after the other."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def run_of_one(node: Pack, element: Element, index: int) -> Run:
    """Returns one element as a sequence.

    Raises:
        Exception: it is none, as ``sequence_of`` says.
    """
    one = sequence_of(node, element, index)
    columns = [[array] for array in one.arrays]
    lengths = list(map(_lengths_of, columns))
    if node.strategy == "concat_then_split":
        return _joined_run(index, one.kind, one.limits, columns, lengths[0])
    return _whole_run(index, one.kind, one.limits, columns, lengths)


def _whole_run(
    first: int, kind: SequenceKind, limits: Sequence[int], columns: Sequence[Any], counts: Sequence[np.ndarray]
) -> SequenceRun:
    is_even = len(set(limits)) == 1 and all(np.array_equal(one, counts[0]) for one in counts[1:])
    found = counts[:1] if is_even else counts
    lengths = [one.tolist() for one in found]
    needs = lengths[0] if is_even else list(zip(*lengths, strict=True))
    lengths *= len(columns) // len(lengths)  # all have those of the first, where they are even
    least = _least(found[0] if is_even else np.sum(found, axis=0))
    widths = widths_of(kind)
    tokens = [
        _bytes_of(column, its_counts, width) if are_bytes(dtype, width) else list(column)
        for column, (dtype, _), width, its_counts in zip(columns, kind[1], widths, counts, strict=True)
    ]
    sequences = tokens[0] if len(tokens) == 1 else list(zip(*tokens, strict=True))
    return SequenceRun(first, kind, limits, sequences, lengths, needs, least, is_even, sum(widths))


def _least(lengths: np.ndarray) -> int:
    """Returns the least of these that is not 0."""
    least = int(lengths.min(initial=_MOST))
    return least or int(lengths.min(initial=_MOST, where=lengths > 0))


def _lengths_of(column: Any) -> np.ndarray:
    """Returns how many tokens each of these sequences has."""
    if isinstance(column, RaggedColumn):
        return column.lengths
    return np.fromiter(map(len, column), np.int64, len(column))


def _joined_run(
    first: int, kind: SequenceKind, limits: Sequence[int], columns: Sequence[Any], lengths: np.ndarray
) -> JoinedRun:
    is_own = [not isinstance(column, np.ndarray) for column in columns]
    ends = np.zeros(len(lengths) + 1, np.int64)
    lengths.cumsum(out=ends[1:])
    return JoinedRun(RunOrder(first, ends), kind, limits, list(map(_joined, columns)), is_own)


def _joined(column: Any) -> np.ndarray:
    """Returns the tokens of all sequences."""
    if isinstance(column, RaggedColumn):
        return column.values
    if isinstance(column, np.ndarray):
        return column.reshape(column.shape[0] * column.shape[1], *column.shape[2:])
    return np.concatenate(column)
