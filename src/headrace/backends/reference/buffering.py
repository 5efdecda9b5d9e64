"""The reference of operations that hold elements, and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, log
from headrace.blocks.cursor import State, input_state
from headrace.blocks.origin import WordedOrigin
from headrace.blocks.payload import Rows
from headrace.caching.kept import Filled, KeptEpoch, RefusedElement
from headrace.caching.memory import MemoryCache
from headrace.coordination.closing import close_all
from headrace.errors import HeadraceError
from headrace.ownership import read_only
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.sequencing import Shuffle
from headrace.semantics.budget import Holding
from headrace.semantics.buffering import CACHE_REMEDY, cache_state, located_in_cache
from headrace.semantics.random_streams import Key
from headrace.semantics.run_context import RunContext
from headrace.semantics.shuffling import (
    SHUFFLE_REMEDY,
    buffer_needs,
    buffer_slots,
    content,
    drain_order,
    draws,
    shuffle_key,
)
from headrace.structure import Element, nbytes_of

__all__: list[str] = []

# A place in the input is noted once for so many elements: to note each would be the dearest part of a shuffle.
_NOTED_EVERY = 16


def weight(item: Given | HeadraceError) -> int:
    """About how many bytes an element holds."""
    return 8 if isinstance(item, HeadraceError) else nbytes_of(item[0])


class ShuffleStream:
    """The order is ``semantics.shuffling``'s. A failure lies in a slot as an element does."""

    def __init__(self, node: Shuffle, key: Key, input_stream: Stream, state: State | None, holding: Holding) -> None:
        self.input = input_stream
        self.holding = holding
        self.held_bytes = 0
        self.size = buffer_slots(node)
        self.key = key
        self.emitted = state["emitted"] if state else 0
        self.number = state["read"] if state else 0  # of the next input element
        self.total = state.get("total") if state else None
        self.input_ended = False
        self.notes = [(self.number, input_stream.state())]
        self.slots: dict[int, tuple[int, Given | HeadraceError]] = {}
        self.order: list[int] | None = None
        self.filled = False

    def read(self) -> Given | HeadraceError | None:
        """The next input element, or its failure; None at the end."""
        if self.input_ended:
            return None
        if self.number % _NOTED_EVERY == 0:
            self.notes.append((self.number, self.input.state()))
        try:
            item: Given | HeadraceError = self.input.next()
        except StopIteration:
            self.input_ended, self.total = True, self.number
            return None
        except HeadraceError as error:
            item = error
        self.number += 1
        return item

    def fill(self) -> None:
        """The slots as they were before the next output."""
        steady = self.emitted if self.total is None else max(0, self.total - self.size)
        slot_of = {number: slot for slot, number in enumerate(content(self.key, steady, self.size))} if steady else None
        while self.number < steady + self.size:
            item = self.read()
            if item is None:
                break
            number = self.number - 1
            slot = number if slot_of is None else slot_of.get(number)
            if slot is not None:
                self.put(slot, number, item)
        self.filled = True

    def put(self, slot: int, number: int, item: Given | HeadraceError) -> None:
        """Lays an element into a slot, in place of the one that lay there."""
        before = self.slots.get(slot)
        self.held_bytes += weight(item) - (weight(before[1]) if before is not None else 0)
        self.slots[slot] = (number, item)
        count = len(self.slots)
        self.holding.hold(
            self.held_bytes, self.elements, count=count, needs=lambda held: buffer_needs(held, count, self.size)
        )

    def elements(self) -> Iterator[Element]:
        """The elements in the slots."""
        return (item[0] for _, item in self.slots.values() if not isinstance(item, HeadraceError))

    def next(self) -> Given:
        if not self.filled:
            self.fill()
        if self.order is None:
            item = self.read()
            if item is not None:
                slot = int(draws(self.key, self.emitted, 1, self.size)[0])
                chosen = self.slots[slot]
                self.put(slot, self.number - 1, item)
                return self.out(chosen[1])
            assert self.total is not None  # the input has ended
            self.order = drain_order(self.key, min(self.total, self.size)).tolist()
        assert self.total is not None  # as above
        drained = self.emitted - max(0, self.total - self.size)
        if drained == len(self.order):
            raise StopIteration
        return self.out(self.slots[self.order[drained]][1])

    def out(self, item: Given | HeadraceError) -> Given:
        self.emitted += 1
        if isinstance(item, HeadraceError):
            raise item
        return item

    def state(self) -> State:
        oldest = min((number for number, _ in self.slots.values()), default=self.notes[0][0])
        self.notes = [note for note in self.notes if note[0] <= oldest][-1:] + [
            note for note in self.notes if note[0] > oldest
        ]
        read, place = self.notes[0]
        state = {"emitted": self.emitted, "read": read, "input": place}
        return state if self.total is None else {**state, "total": self.total}

    def close(self) -> None:
        self.holding.release()
        self.input.close()


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
def _shuffle(node: Shuffle, state: State | None, context: RunContext) -> Stream:
    above = stream_of(node.input, input_state(state), context)
    return ShuffleStream(node, shuffle_key(node, context), above, state, context.holding(node, SHUFFLE_REMEDY))


@stream_of.register
def _cache(node: Cache, state: State | None, context: RunContext) -> Stream:
    return CacheStream(
        node,
        lambda filled: stream_of(node.input, None, context.filling(node, filled)),
        state,
        context,
    )


@stream_of.register(Prefetch)
@stream_of.register(WithOptions)
def _transparent(node: Prefetch | WithOptions, state: State | None, context: RunContext) -> Stream:
    return stream_of(node.input, state, context)
