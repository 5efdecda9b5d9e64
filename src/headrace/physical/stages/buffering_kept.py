"""The stage of what a cache keeps: its elements by index, as often as it is read.

Its state is that of the stage that fills the cache, so that a run may begin in the one and go on in the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State
from headrace.blocks.origin import Indices, Origin, subset
from headrace.blocks.payload import Indexed, IndexSource
from headrace.caching.store import CachedEpoch
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.semantics.buffering import cache_state
from headrace.semantics.cache_fillings import Pin
from headrace.semantics.failures import input_changed
from headrace.semantics.held_bytes import Holding
from headrace.semantics.storing import StoredSource

if TYPE_CHECKING:
    from headrace.io.elements.file import ElementFile

__all__ = ["CacheCursor", "KeptStage", "kept_stage"]


@frozen
class CacheCursor:
    """In a kept epoch: the index of the element, and which filling it is."""

    index: int
    pin: Pin
    failures: int = 0
    is_unkept: bool = False

    def advance(self, count: int) -> CacheCursor:
        return CacheCursor(self.index + count, self.pin, self.failures, self.is_unkept)

    def state(self) -> State:
        return cache_state(self.index, self.pin, self.failures, is_unkept=self.is_unkept)


@frozen
class _StoredOrigin:
    """Elements of a file, which notes where they came from."""

    file: ElementFile
    indices: Indices

    def subset(self, indices: Indices) -> _StoredOrigin:
        return _StoredOrigin(self.file, subset(self.indices, indices))

    def describe(self, index: int) -> str:
        return self.file.origin(int(self.indices[index]))


class KeptStage(Stage):
    """The elements that a cache keeps, in order; reads none of them itself."""

    by_index = True

    def __init__(
        self,
        source: IndexSource,
        length: int,
        origin: Origin | None,
        meter: Meter,
        position: CacheCursor,
        *,
        stage: str,
        holding: Holding,
        hold: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(meter, (), position)
        self._hold = hold  # says what lies in memory: with the first pull, where too much is an error of the run
        self._source = source
        self._length = length
        self._origin = origin
        self._next = position
        self._stage = stage
        self._holding = holding
        self._is_lost = False

    def _is_spent(self) -> bool:
        return self._next.index == self._length

    def _pull(self, limit: int) -> Item:
        hold, self._hold = self._hold, None
        if hold is not None:
            hold()
        before = self._next
        if before.index >= self._length or self._origin is None:
            return self._told_if_lost()
        indices = range(before.index, min(before.index + limit, self._length))
        self._next = before.advance(len(indices))
        return Block(Indexed(self._source, indices), before, self._origin.subset(indices))

    def _told_if_lost(self) -> Failure | None:
        """Returns the error of an end before what was delivered already, once."""
        if self._next.index <= self._length or self._is_lost:
            return None
        self._is_lost = True
        return Failure(input_changed(self._stage), self.cursor, self.cursor)

    def close(self) -> None:
        self._holding.release()
        super().close()


def kept_stage(
    kept: CachedEpoch, pin: Pin, meter: Meter, state: State | None, *, stage: str, holding: Holding
) -> KeptStage:
    """Returns the stage that gives what is kept in memory or in a file, from a state of the cache on.

    Args:
        kept: the epoch.
        pin: which filling of the cache it is.
        meter: the counters of the cache.
        state: where the run stood.
        stage: what the user called for.
        holding: is told what lies in memory.
    """
    position = CacheCursor(state["index"], pin, state["failures"]) if state else CacheCursor(0, pin)
    file = kept.file
    if file is not None:
        origin = _StoredOrigin(file, range(len(file)))
        return KeptStage(StoredSource(file), len(file), origin, meter, position, stage=stage, holding=holding)
    source, count = kept.source, len(kept.source)

    def hold() -> None:
        if count:
            holding.hold(source.payload.nbytes, lambda: source.rows(range(count)), count=count)

    return KeptStage(source, count, kept.origin, meter, position, stage=stage, holding=holding, hold=hold)
