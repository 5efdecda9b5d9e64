"""Rows that went out, and the elements that are made of them: tokens, segment ids and positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.blocks.columns import Columns
from headrace.frozen import frozen
from headrace.plan.packing import Pack
from headrace.semantics.packing import SequenceKind
from headrace.structure import flatten, may_refuse

__all__ = ["RowMaker", "RowTokens"]


@frozen
class RowTokens:
    """What is in a row.

    Attributes:
        tokens: for each component its tokens, in one array or several.
        lengths: how many of them each sequence has; None where each has an array of its own.
    """

    tokens: Sequence[Sequence[np.ndarray]]
    lengths: Sequence[int] | None = None

    def pieces(self, component: int) -> tuple[Sequence[np.ndarray], Sequence[int]]:
        """Returns the tokens of a component, in one array or several, and how many of them each sequence has."""
        tokens = self.tokens[component]
        return tokens, list(map(len, tokens)) if self.lengths is None else self.lengths


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

    def columns(self, parts: Sequence[RowTokens]) -> Columns:
        """Makes rows: each component of all in one array."""
        tokens, ids, positions = [], [], []
        for number, padding in enumerate(self._paddings):
            arrays: list[np.ndarray] = []
            segments = _Segments(len(padding))
            for row in parts:
                pieces, lengths = row.pieces(number)
                arrays += pieces
                if missing := segments.add(lengths):
                    arrays.append(padding[-missing:])
            whole = np.empty((len(parts) * len(padding), *padding.shape[1:]), padding.dtype)
            tokens.append(np.concatenate(arrays, out=whole))
            ids_of, positions_of = segments.numbered()
            ids.append(ids_of)
            positions.append(positions_of)
        by_row = ([_by_row(array, len(parts)) for array in part] for part in (tokens, ids, positions))
        leaves, structure = flatten(self._node.row(self._treedef, *by_row))
        return Columns(structure, leaves)


class _Segments:
    """Where the segments of rows of one length begin and end."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._numbers: list[int] = []  # of each segment in its row; 0, where it fills the row
        self._lengths: list[int] = []
        self._filled: list[tuple[int, int]] = []  # where there is padding
        self._end = 0

    def add(self, lengths: Sequence[int]) -> int:
        """Adds a row of segments of these lengths; returns how many tokens it misses."""
        missing = self._limit - sum(lengths)
        self._numbers += range(1, len(lengths) + 1)
        self._lengths += lengths
        self._end += self._limit
        if missing:
            self._numbers.append(0)
            self._lengths.append(missing)
            self._filled.append((self._end - missing, self._end))
        return missing

    def numbered(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns for each token the number of its segment, and its position in that; 0 where it fills a row."""
        counts = np.array(self._lengths)
        ids = np.repeat(np.array(self._numbers, dtype=np.int32), counts)
        positions = np.arange(self._end, dtype=np.int32)
        positions -= np.repeat((counts.cumsum() - counts).astype(np.int32), counts)
        for start, end in self._filled:
            positions[start:end] = 0
        return ids, positions


def _by_row(array: np.ndarray, rows: int) -> np.ndarray:
    return array.reshape(rows, len(array) // rows, *array.shape[1:])
