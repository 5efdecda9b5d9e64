"""The reference of operations that hold elements, and settings."""

from __future__ import annotations

from collections.abc import Callable

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, log
from headrace.blocks.cursor import State
from headrace.blocks.origin import WordedOrigin
from headrace.blocks.payload import Rows
from headrace.caching.kept import Filled, KeptEpoch, RefusedElement
from headrace.caching.memory import MemoryCache
from headrace.coordination.closing import close_all
from headrace.errors import HeadraceError
from headrace.ownership import read_only
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.semantics.buffering import CACHE_REMEDY, cache_state, located_in_cache
from headrace.semantics.run_context import RunContext
from headrace.structure import Element, nbytes_of

__all__: list[str] = []


class CacheStream:
    """The first whole epoch, kept. An epoch with a failure is not whole."""

    def __init__(
        self, node: Cache, build: Callable[[Filled], Stream], state: State | None, context: RunContext
    ) -> None:
        self.node = node
        self.index = state["index"] if state else 0
        self.failures = state["failures"] if state else 0
        self.pin = context.pin(node, state)
        self.filling = None
        self.rows: list[Element] = []
        self.origins: list[str] = []
        self.input = None
        kept = self.pin.kept_in(node.store)
        if kept is not None:
            self.recall(kept)
        else:
            self.filling = node.store.filling(self.pin.filled, self.pin.content)
            if self.filling is not None:
                self.pin.content = self.filling.content
            self.input = build(self.pin.filled)
        self.failed = 0
        self.holding = context.holding(node, CACHE_REMEDY)
        self.held_bytes = sum(map(nbytes_of, self.rows))
        self.hold()

    def hold(self) -> None:
        """Says how much lies in memory."""
        if isinstance(self.node.store, MemoryCache):
            self.holding.hold(self.held_bytes, lambda: self.rows, count=len(self.rows))

    def recall(self, kept: KeptEpoch) -> None:
        """The elements that are kept, and where they came from."""
        if kept.file is not None:
            self.rows = kept.file.rows(range(len(kept.file)))
            self.origins = [kept.file.origin(number) for number in range(len(self.rows))]
        for payload, origin in kept.pieces:
            self.rows += payload.rows()
            self.origins += [origin.describe(number) for number in range(len(payload))]

    def next(self) -> Given:
        if self.input is None:
            if self.index == len(self.rows):
                raise StopIteration
            self.index += 1
            return read_only(self.rows[self.index - 1]), self.origins[self.index - 1]
        while True:
            taken = self.taken(self.input)
            if len(self.rows) == self.node.whole_at():
                self.complete()
            if taken is not None and len(self.rows) > self.index:
                self.index += 1
                return read_only(self.rows[-1]), taken[1]

    def taken(self, stream: Stream) -> Given | None:
        """The next element, taken in; None for a failure that was delivered before the state was saved."""
        try:
            element, origin = stream.next()
        except StopIteration:
            self.complete()
            raise
        except HeadraceError as error:
            failure = error
        else:
            refusal = self.refusal(read_only(element), origin)
            if refusal is None:
                return element, origin
            failure = refusal
        self.failed += 1
        if self.failed > self.failures:
            self.failures = self.failed
            raise failure
        return None

    def refusal(self, element: Element, origin: str) -> HeadraceError | None:
        """Takes the element in; or the error that a function of the user's raised for it."""
        if self.filling is not None:
            try:
                with located_in_cache(self.filling):
                    self.filling.add(Rows([element]), WordedOrigin([origin]))
            except RefusedElement as refused:
                return refused.error
        self.rows.append(element)
        self.held_bytes += nbytes_of(element)
        self.hold()
        self.origins.append(origin)
        return None

    def complete(self) -> None:
        filling, self.filling = self.filling, None
        if filling is None:
            return
        with located_in_cache(filling):
            if self.failed:
                filling.abandon()
            else:
                self.pin.own = filling.complete()

    def state(self) -> State:
        return cache_state(self.index, self.pin, self.failures)

    def close(self) -> None:
        self.holding.release()
        filling, self.filling = self.filling, None
        if filling is not None and self.rows:
            log.warning("cache: an epoch was left after %d elements, so nothing is kept", len(self.rows))
        closing = [one.close for one in (self.input,) if one is not None]
        close_all([*([] if filling is None else [filling.abandon]), *closing])


@stream_of.register
def _cache(node: Cache, state: State | None, context: RunContext) -> Stream:
    return CacheStream(
        node,
        lambda filled: stream_of(node.input, None, context.for_cache(node, filled)),
        state,
        context,
    )


@stream_of.register(Prefetch)
@stream_of.register(WithOptions)
def _transparent(node: Prefetch | WithOptions, state: State | None, context: RunContext) -> Stream:
    return stream_of(node.input, state, context)
