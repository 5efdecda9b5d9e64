"""A payload of elements that lie in several others, so that a mixture of datasets stays in index space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.joining import join
from headrace.blocks.origin import Indices
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import Element

__all__ = ["GatheredPayload"]


class GatheredPayload:
    """Elements of several payloads in an order of their own, none of which has been read or copied yet.

    Args:
        parts: the payloads.
        owners: the index of the part that each element is in (int64).
        part_indices: its index in that part (int64).
    """

    __slots__ = ("owners", "part_indices", "parts")

    def __init__(self, parts: Sequence[Payload], owners: np.ndarray, part_indices: np.ndarray) -> None:
        self.parts = parts
        self.owners = owners
        self.part_indices = part_indices

    def __len__(self) -> int:
        return len(self.owners)

    def subset(self, indices: Indices) -> GatheredPayload:
        if isinstance(indices, range):
            chosen = slice(indices.start, indices.stop, indices.step) if len(indices) else slice(0, 0)
            return GatheredPayload(self.parts, self.owners[chosen], self.part_indices[chosen])
        return GatheredPayload(self.parts, self.owners[indices], self.part_indices[indices])

    def _pieces(self) -> Iterator[tuple[np.ndarray, Payload]]:
        """Yields what is picked of each part, and where it belongs; of a slice no more is read than the slice."""
        for owner, part in enumerate(self.parts):
            mine = np.flatnonzero(self.owners == owner)
            if len(mine):
                yield mine, part.subset(_as_run(self.part_indices[mine]))

    def rows(self) -> list[Element]:
        elements: list[Element] = [None] * len(self)
        for where, piece in self._pieces():
            for index, row in zip(where.tolist(), piece.rows(), strict=True):
                elements[index] = row
        return elements

    @property
    def has_tuples(self) -> bool | None:
        kinds = {part.has_tuples for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else None

    def columns(self) -> Columns:
        pieces = list(self._pieces())
        try:
            whole = join([piece.columns() for _, piece in pieces])
        except Exception:  # noqa: BLE001 - an element's own methods may raise anything
            whole = Rows([])
        if not isinstance(whole, Columns) or not whole.keys_in_order:
            return Rows(self.rows()).columns()  # what differs in shape or dtype is stacked, or refused, one by one
        order = np.empty(len(self), dtype=np.int64)
        order[np.concatenate([where for where, _ in pieces])] = np.arange(len(self))
        return whole.subset(order)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)


def _as_run(part_indices: np.ndarray) -> Indices:
    """Returns the indices as a range if they are one: a slice copies nothing."""
    first, last = int(part_indices[0]), int(part_indices[-1])
    run = last - first + 1 == len(part_indices) and bool((np.diff(part_indices) == 1).all())
    return range(first, last + 1) if run else part_indices
