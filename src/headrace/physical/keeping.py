"""The stage of cache: the elements of one epoch, kept and given again.

Its state is the number of the next element, and which epoch was kept: a cache that is not there any more is
filled again from that very epoch, so a shuffle above it comes in the order that was kept.
"""

from __future__ import annotations

import bisect
import dataclasses
import logging
from collections.abc import Callable
from itertools import accumulate

import numpy as np

from headrace.caching.memory import KeptEpoch, MemoryCache
from headrace.observe.meter import Meter
from headrace.physical.block import Block, Columns, Failure, Indexed, Payload, Rows, Zipped
from headrace.physical.cursor import State
from headrace.physical.origin import Origin
from headrace.physical.sources import OneSource
from headrace.physical.stage import Item, Stage
from headrace.structure import read_only, unshared

__all__ = ["CacheStage"]

_log = logging.getLogger("headrace")

# What is read only to be kept is read in blocks of this size.
_KEPT_AT_ONCE = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class _CacheCursor:
    """In a kept epoch: the number of the element, and which epoch it is."""

    index: int
    epoch: tuple[int, ...]
    failures: int = 0

    def advance(self, count: int) -> _CacheCursor:
        return _CacheCursor(self.index + count, self.epoch, self.failures)

    def state(self) -> State:
        return {"index": self.index, "epoch": list(self.epoch), "failures": self.failures}


class CacheStage(Stage):
    """The first whole epoch, kept."""

    def __init__(
        self,
        memory: MemoryCache,
        build: Callable[[tuple[int, ...]], Stage],
        meter: Meter,
        state: State | None,
        *,
        epoch: tuple[int, ...],
        cardinality: int,
    ) -> None:
        self._index: int = state["index"] if state else 0
        self._failures: int = state["failures"] if state else 0  # how many were delivered
        filled = tuple(state["epoch"]) if state else None
        kept = memory.kept
        self._kept = kept if kept is not None and filled in (None, kept.epoch) else None
        self._epoch = self._kept.epoch if self._kept is not None else filled or epoch
        inputs = () if self._kept is not None else (build(self._epoch),)
        super().__init__(meter, inputs, _CacheCursor(self._index, self._epoch, self._failures))
        self._memory = memory
        self._cardinality = cardinality
        self._collected: list[tuple[Payload, Origin]] = []
        pieces = self._kept.pieces if self._kept is not None else ()
        self._starts = [0, *accumulate(len(payload) for payload, _ in pieces)]
        self._count = 0
        self._failed = 0  # failures met in this filling
        self._settled = False  # complete, or given up: nothing is left to be said

    def _pull(self, limit: int) -> Item:
        if self._kept is not None:
            return self._given(self._kept, limit)
        while True:
            behind = self._index - self._count
            item = self._read(self.inputs[0], min(behind, _KEPT_AT_ONCE) if behind > 0 else limit)
            if item is None:
                self._complete()
                return None
            if isinstance(item, Failure):
                self._failed += 1
                if self._failed <= self._failures:
                    continue  # it was delivered before the state was saved
                self._failures = self._failed
                after = _CacheCursor(self._index, self._epoch, self._failures)
                return Failure(item.error, self.cursor, after)
            payload = self._collect(item)
            if behind <= 0:
                return self._block(payload, item)

    def _collect(self, block: Block) -> Payload:
        kept = _frozen(block.payload)
        self._collected.append((kept, block.origin))
        self._count += len(kept)
        if self._count == self._cardinality:
            self._complete()
        return kept

    def _complete(self) -> None:
        """Keeps a whole epoch; one with failures is not whole, and would hide them from the next."""
        if not self._failed and not self._settled:
            self._memory.keep(KeptEpoch(tuple(self._collected), self._epoch))
        self._settled = True

    def _block(self, payload: Payload, item: Block) -> Block:
        cursor = _CacheCursor(self._index, self._epoch, self._failures)
        self._index += len(payload)
        return Block(_handed_out(payload), cursor, item.origin)

    def _given(self, kept: KeptEpoch, limit: int) -> Item:
        if self._index >= self._starts[-1]:
            return None
        piece = bisect.bisect_right(self._starts, self._index) - 1
        offset = self._index - self._starts[piece]
        payload, origin = kept.pieces[piece]
        part = range(offset, min(offset + limit, len(payload)))
        cursor = _CacheCursor(self._index, self._epoch)
        self._index += len(part)
        return Block(_handed_out(payload.subset(part)), cursor, origin.subset(part))

    def close(self) -> None:
        if self._count and not self._settled and self._kept is None:
            self._settled = True
            _log.warning(
                "cache: an epoch was left after %d elements, so nothing is kept; "
                "to keep a part of a dataset, write take(k).cache() instead of cache().take(k)",
                self._count,
            )
        super().close()


def _handed_out(payload: Payload) -> Payload:
    """The payload for one epoch: a function that puts something into a dict changes no other epoch's."""
    match payload:
        case Rows():
            return Rows(unshared(payload.elements))
        case Zipped():
            return Zipped(payload.treedef, [_handed_out(part) for part in payload.parts])
        case _:
            return payload


def _frozen(payload: Payload) -> Payload:
    """The payload with arrays that nobody can change: every later epoch sees them."""
    match payload:
        case Zipped():
            return Zipped(payload.treedef, [_frozen(part) for part in payload.parts])
        case Indexed() if not isinstance(payload.source, OneSource):  # one element is no column of them
            return _frozen(payload.columns())
        case Columns(matrix=matrix) if matrix is not None:
            return Columns(payload.treedef, None, _locked(matrix))
        case Columns():
            return Columns(payload.treedef, [_locked(array) for array in payload.arrays])
        case _:
            return Rows([read_only(row) for row in payload.rows()])


def _locked(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
