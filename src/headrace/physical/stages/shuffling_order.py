"""What both stages of a shuffle share: their positions, and the order of what comes out, a run of places at a time."""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.blocks.cursor import Cursor, State
from headrace.frozen import frozen
from headrace.semantics.shuffling import Order, emitted_state

__all__ = ["OrderInRuns", "ShuffleCursor"]

# To compute some thousand places costs hardly more than to compute one.
_COMPUTED_AT_ONCE: Final = 4096
_MOST_AT_ONCE: Final = 1 << 16


class OrderInRuns:
    """An order that is read from one place on."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._first = 0  # the place of the first of the run
        self._run: np.ndarray | None = order if isinstance(order, np.ndarray) else None

    def __len__(self) -> int:
        return len(self._order)

    def after(self, place: int, limit: int) -> np.ndarray:
        """Returns what is in at most ``limit`` places from this one on, none only at the end (int64)."""
        if self._run is None or not self._first <= place < self._first + len(self._run):
            self._first = place
            self._run = self._order[place : place + min(max(limit, _COMPUTED_AT_ONCE), _MOST_AT_ONCE)]
        start = place - self._first
        return self._run[start : start + limit]


@frozen
class ShuffleCursor:
    """In a shuffle: how many came out, and a position not after the oldest element that it holds."""

    emitted: int
    read: int
    input: Cursor
    total: int | None
    computed: bool

    def advance(self, count: int) -> ShuffleCursor:
        return ShuffleCursor(self.emitted + count, self.read, self.input, self.total, self.computed)

    def state(self) -> State:
        return emitted_state(self.emitted, self.read, self.input.state(), self.total, computed=self.computed)
