"""The stage of cache: the elements of one epoch, kept and given again.

Its state is the index of the next element, and which filling was kept (``filling``): a cache that is not there any more,
or was filled in another order, is filled again from that very epoch and those seeds, so a shuffle upstream comes in the
order that was kept. Where an element could not be kept the state says so too (``unkept``), and the rest of the epoch passes
through. A cache on disk has a name for its content besides, so that a state never goes on in another one's
elements.
"""

from __future__ import annotations

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import State
from headrace.blocks.handing_out import handed_out, protected
from headrace.blocks.kept import Keeper
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.caching.memory import MemoryCache
from headrace.caching.store import CannotKeep, RefusedElement, Store
from headrace.coordination.closing import close_all
from headrace.errors import CancelledError, HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.buffering_kept import CacheCursor, kept_stage
from headrace.plan.buffering import Cache
from headrace.semantics.buffering import CACHE_REMEDY, keeping, tell_unkept
from headrace.semantics.cache_fillings import Pin
from headrace.semantics.failures import input_changed
from headrace.semantics.held_bytes import Holding

__all__ = ["CacheStage"]


# What is read only to be kept is read in blocks of this size.
_KEPT_AT_ONCE = 1024


@frozen
class _Untold:
    """An error that is to be handed on, and in place of how many elements."""

    error: HeadraceError
    passed: int


_Waiting = tuple[Payload, Origin] | _Untold


class CacheStage(Stage):
    """What ``input_stage`` gives, kept once all of it came."""

    def __init__(
        self,
        store: Store,
        input_stage: Stage,
        meter: Meter,
        state: State | None,
        *,
        pin: Pin,
        whole_at: int,
        holding: Holding,
        in_memory: bool,
        tells: bool,
    ) -> None:
        self._store = store
        self._tells = tells
        self._holding = holding
        self._in_memory = in_memory
        self._keeper = Keeper()
        self._held: list[Payload] = []  # what is kept in memory
        self._held_bytes = self._held_count = 0
        self._index: int = state["index"] if state else 0
        self._failures: int = state["failures"] if state else 0  # how many were delivered
        self._pin = pin
        self._stage = store.stage
        self._is_unkept = state is not None and bool(state.get("unkept"))
        # What could not be kept before cannot be kept now, and was told then.
        self._writer = None if self._is_unkept else store.begin_write(pin.filled, pin.content)
        if self._writer is not None:
            pin.content = self._writer.content
        super().__init__(meter, (input_stage,), self._position())
        self._whole_at = whole_at
        self._count = 0
        self._failed = 0  # failures met in this filling
        self._waiting: list[_Waiting] = []
        self._stopped = False
        self._is_lost = False

    @property
    def reads_no_more(self) -> bool:
        """Whether it was read to its end, as what is kept is whole only then; False says nothing."""
        return False

    def _position(self) -> CacheCursor:
        return CacheCursor(self._index, self._pin, self._failures, self._is_unkept)

    def _pull(self, limit: int) -> Item:
        while True:
            if self._waiting:
                return self._next_waiting()
            lacking = self._index - self._count
            item = self._read(self.inputs[0], self._wanted(lacking, limit))
            if item is None:
                if self._stopped:  # the end may be none: what was kept as whole would be cut short for ever
                    raise CancelledError("the run was closed")
                if not self._ended_whole():
                    return self._told_if_lost(self._count)
                continue
            payload = self._collect(item, is_lacking=lacking > 0) if isinstance(item, Block) else item
            if isinstance(payload, Failure):
                self._failed += 1
                if self._failed <= self._failures:
                    continue  # it was delivered before the state was saved
                self._failures = self._failed
                return Failure(payload.error, self.cursor, self._position())
            if payload is not None and lacking <= 0 and isinstance(item, Block):
                return self._block(payload, item.origin)

    def _wanted(self, lacking: int, limit: int) -> int:
        """Returns how many elements are read at once; ``lacking`` of them are only kept."""
        if self._writer is not None and self._writer.one_by_one:
            return 1
        return min(lacking, _KEPT_AT_ONCE) if lacking > 0 else limit

    def _collect(self, block: Block, *, is_lacking: bool) -> Payload | Failure | None:
        """Keeps a block, and returns what is handed on of it: a failure if its one element is refused, None if it waits."""
        is_filling = self._writer is not None and not self._writer.one_by_one
        elements = self._keeper.kept(block.payload) if is_filling else _frozen(block.payload)
        try:
            self._keep(elements, block.origin)
        except RefusedElement as refused:
            return Failure(refused.error, block.cursor, block.after)
        except CannotKeep as cannot:
            self._give_up()
            self._count += len(elements)
            self._waiting = _in_turn(elements, block.origin, cannot, is_lacking=is_lacking)
            return None
        self._count += len(elements)
        return elements

    def _keep(self, elements: Payload, origin: Origin) -> None:
        if self._writer is None:
            return
        with keeping(self._writer, self._stage):
            self._writer.add(elements, origin)
            self._hold(elements)
        if self._count + len(elements) == self._whole_at:
            self._complete(last=len(elements) - 1)

    def _hold(self, elements: Payload) -> None:
        """Says how much more lies in memory."""
        if self._in_memory:
            self._held.append(elements)
            self._held_bytes += elements.nbytes
            self._held_count += len(elements)
            self._holding.hold(
                self._held_bytes, lambda: (row for part in self._held for row in part.rows()), count=self._held_count
            )

    def _ended_whole(self) -> bool:
        """Completes what is written at the end; returns whether an error waits that says why it cannot be."""
        try:
            self._complete(last=0)
        except CannotKeep as cannot:
            self._give_up()
            self._waiting = [_Untold(cannot.error, 0)]
        return bool(self._waiting)

    def _complete(self, last: int) -> None:
        """Keeps a whole epoch; one with failures is not whole, and would hide them from the next."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        self._held = []  # what it holds now is the writer's alone, which may join it piece by piece
        with keeping(writer, self._stage, last):
            if self._failed:
                self.meter.count_unkept()
                writer.abandon()
            else:
                self._pin.own = writer.complete()

    def _give_up(self) -> None:
        """Drops all that was kept of this epoch."""
        self._writer = None
        self.meter.count_unkept()
        self._held, self._held_bytes, self._held_count = [], 0, 0
        self._holding.hold(0, lambda: (), count=0)

    def _next_waiting(self) -> Item:
        item = self._waiting.pop(0)
        if not isinstance(item, _Untold):
            return self._block(*item)
        self._is_unkept = True
        self._index += item.passed
        return Failure(item.error, self.cursor, self._position())

    def _block(self, payload: Payload, origin: Origin) -> Block:
        cursor = self._position()
        self._index += len(payload)
        return Block(handed_out(payload), cursor, origin)

    def _told_if_lost(self, count: int) -> Failure | None:
        """Returns the error of an end before what was delivered already, once."""
        if count >= self._index or self._is_lost:
            return None
        self._is_lost = True
        return Failure(input_changed(self._stage), self.cursor, self.cursor)

    def stop(self) -> None:
        self._stopped = True  # before any upstream stage is told
        super().stop()

    def close(self) -> None:
        self._holding.release()
        writer, self._writer = self._writer, None
        if writer is not None and self._count:
            self.meter.count_unkept()
            if self._tells:
                tell_unkept(self._store, self._count)
        close_all([*([] if writer is None else [writer.abandon]), super().close])


def _in_turn(elements: Payload, origin: Origin, cannot: CannotKeep, *, is_lacking: bool) -> list[_Waiting]:
    """Returns the elements of a block in order, and the error in place of the one that cannot be kept.

    Where they were handed on before the state was saved, by a run that kept nothing, only the error is new.
    """
    if is_lacking:
        return [_Untold(cannot.error, 0)]
    waiting: list[_Waiting] = []
    for part in (range(cannot.taken), range(cannot.taken + 1, len(elements))):
        if part:
            waiting.append((elements.subset(part), origin.subset(part)))
        if part.start == 0:
            waiting.append(_Untold(cannot.error, 1))
    return waiting


def _frozen(payload: Payload) -> Payload:
    """Reads what was not read yet, and makes it read-only: who reads it changes nothing of what is written."""
    match payload:
        case Zipped():
            return Zipped(payload.treedef, [_frozen(part) for part in payload.parts])
        case Indexed() if payload.source.is_columnar:
            return protected(payload.columns())
        case Indexed():
            return Rows(payload.rows())
        case _:
            return protected(payload)


@lower.register
def _cache(node: Cache, state: State | None, context: StageContext) -> Stage:
    pin = context.pin(node, state)
    found = pin.kept_in(node.store)
    if found is not None:
        holding = context.holding(node, CACHE_REMEDY)
        return kept_stage(found, pin, context.meter(node), state, stage=node.store.stage, holding=holding)
    return CacheStage(
        node.store,
        lower(node.input, None, context.for_cache(node, pin.filled)),
        context.meter(node),
        state,
        pin=pin,
        whole_at=node.whole_at(),
        holding=context.holding(node, CACHE_REMEDY),
        in_memory=isinstance(node.store, MemoryCache),
        tells=context.tells_of_unkept,
    )
