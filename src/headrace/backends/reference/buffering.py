"""The reference of operations that hold elements, and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream
from headrace.blocks.cursor import State
from headrace.blocks.origin import WordedOrigin
from headrace.blocks.payload import Rows
from headrace.caching.memory import MemoryCache
from headrace.caching.store import CachedEpoch, CannotKeep, RefusedElement
from headrace.coordination.closing import close_all
from headrace.elements.ownership import read_only
from headrace.elements.structure import Element, nbytes_of
from headrace.errors import HeadraceError
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.semantics.buffering import CACHE_REMEDY, cache_state, keeping, tell_unkept
from headrace.semantics.cache_fillings import Pin
from headrace.semantics.failures import input_changed
from headrace.semantics.run_context import RunContext

if TYPE_CHECKING:
    from headrace.io.elements.file import ElementFile

__all__: list[str] = []


class CacheStream:
    """The first whole epoch, kept. An epoch with a failure is not whole."""

    def __init__(
        self,
        node: Cache,
        pin: Pin,
        kept: CachedEpoch | None,
        input_stream: Stream | None,
        state: State | None,
        context: RunContext,
    ) -> None:
        self.node = node
        self.meter = context.meter(node)
        self.tells = context.tells_of_unkept
        self.index = state["index"] if state else 0
        self.failures = state["failures"] if state else 0
        self.pin = pin
        self.writer = None
        self.rows: list[Element] = []
        self.origins: list[str] = []
        self.file: ElementFile | None = None
        self.input = input_stream
        self.count = 0  # of the elements that were read
        self.is_lost = False  # what was delivered is not there any more
        self.is_unkept = kept is None and state is not None and bool(state.get("unkept"))
        if kept is not None:
            self.recall(kept)
        else:
            # What could not be kept before cannot be kept now, and was told then.
            self.writer = None if self.is_unkept else node.store.begin_write(self.pin.filled, self.pin.content)
            if self.writer is not None:
                self.pin.content = self.writer.content
        self.failed = 0
        self.holding = context.holding(node, CACHE_REMEDY)
        self.held_bytes = sum(map(nbytes_of, self.rows))
        self.hold()

    def hold(self) -> None:
        """Says how much lies in memory."""
        if isinstance(self.node.store, MemoryCache):
            self.holding.hold(self.held_bytes, lambda: self.rows, count=len(self.rows))

    def recall(self, kept: CachedEpoch) -> None:
        """Reads the elements that are kept, and where they came from."""
        self.file = kept.file  # each is read when it is asked for
        count = len(kept.source)
        self.rows = kept.source.rows(range(count))
        self.origins = [] if kept.origin is None else [kept.origin.describe(index) for index in range(count)]

    def next(self) -> Given:
        if self.input is None:
            return self.recalled()
        while True:
            try:
                taken = self.taken(self.input)
            except StopIteration:
                raise self.end(self.count) from None
            if taken is not None and self.count > self.index:
                self.index += 1
                return read_only(taken[0]), taken[1]

    def recalled(self) -> Given:
        """Returns the next element that is kept."""
        count = len(self.rows) if self.file is None else len(self.file)
        index = self.index
        if index >= count:
            raise self.end(count)
        self.index += 1  # also where it cannot be read: the next call goes on with the one after it
        if self.file is None:
            return read_only(self.rows[index]), self.origins[index]
        (element,) = self.file.rows(range(index, index + 1))
        return read_only(element), self.file.origin(index)

    def end(self, count: int) -> Exception:
        """Returns the end, or first the error that it comes before what was delivered already."""
        if count >= self.index or self.is_lost:
            return StopIteration()
        self.is_lost = True
        return input_changed(self.node.store.stage)

    def taken(self, stream: Stream) -> Given | None:
        """Takes the next element in; returns None for a failure that was delivered before the state was saved."""
        try:
            element, origin = stream.next()
        except StopIteration:
            self.keep(self.complete)
            raise
        except HeadraceError as error:
            self.fail(error)
            return None
        self.count += 1
        try:
            self.keep(lambda: self.add(read_only(element), origin))
        except RefusedElement as refused:
            self.count -= 1
            self.fail(refused.error)
            return None
        return element, origin

    def fail(self, error: HeadraceError) -> None:
        """Raises an error of what is above, unless it was delivered before the state was saved."""
        self.failed += 1
        if self.failed > self.failures:
            self.failures = self.failed
            raise error

    def keep(self, act: Callable[[], None]) -> None:
        """Does something to what is written; where it cannot be done, the error takes the place of the element."""
        if self.writer is None:
            return
        try:
            with keeping(self.writer, self.node.store.stage):
                act()
        except CannotKeep as cannot:
            self.writer = None
            self.meter.count_unkept()
            self.rows, self.origins, self.held_bytes = [], [], 0
            self.hold()
            self.is_unkept = True
            self.index = max(self.index, self.count)  # that of an element which was delivered before stays delivered
            raise cannot.error from cannot.error.__cause__

    def add(self, element: Element, origin: str) -> None:
        """Takes the element in."""
        assert self.writer is not None  # it is asked before
        self.writer.add(Rows([element]), WordedOrigin([origin]))
        self.rows.append(element)
        self.origins.append(origin)
        self.held_bytes += nbytes_of(element)
        self.hold()
        if self.count == self.node.whole_at():
            self.complete()

    def complete(self) -> None:
        """Keeps a whole epoch; one with failures is not whole."""
        assert self.writer is not None  # it is asked before
        if self.failed:
            self.meter.count_unkept()
            self.writer.abandon()
        else:
            self.pin.own = self.writer.complete()
        self.writer = None

    def state(self) -> State:
        return cache_state(self.index, self.pin, self.failures, is_unkept=self.is_unkept)

    def close(self) -> None:
        self.holding.release()
        writer, self.writer = self.writer, None
        if writer is not None and self.rows:
            self.meter.count_unkept()
            if self.tells:
                tell_unkept(self.node.store, len(self.rows))
        closing = [one.close for one in (self.input,) if one is not None]
        close_all([*([] if writer is None else [writer.abandon]), *closing])


@stream_of.register
def _cache(node: Cache, state: State | None, context: RunContext) -> Stream:
    pin = context.pin(node, state)
    kept = pin.kept_in(node.store)
    above = stream_of(node.input, None, context.for_cache(node, pin.filled)) if kept is None else None
    return CacheStream(node, pin, kept, above, state, context)


@stream_of.register(Prefetch)
@stream_of.register(WithOptions)
def _transparent(node: Prefetch | WithOptions, state: State | None, context: RunContext) -> Stream:
    return stream_of(node.input, state, context)
