"""The reference of shuffle."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.sources import IndexedStream
from headrace.backends.reference.stream import Given, Stream, Unary
from headrace.blocks.cursor import State, input_state
from headrace.elements.structure import Element, nbytes_of
from headrace.errors import HeadraceError
from headrace.plan.shuffling import Shuffle
from headrace.semantics.failures import input_changed
from headrace.semantics.held_bytes import Holding
from headrace.semantics.random_streams import Key
from headrace.semantics.run_context import RunContext
from headrace.semantics.shuffling import (
    SHUFFLE_REMEDY,
    Order,
    buffer_needs,
    buffer_slots,
    content,
    drain_order,
    draws,
    emitted_state,
    is_computed,
    shuffle_key,
)

__all__: list[str] = []


# A position in the input is noted once for this many elements: to note each would be the dearest part of a shuffle.
_NOTED_EVERY = 16


def weight(item: Given | HeadraceError) -> int:
    """Returns about how many bytes an element holds."""
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
        self.index = state["read"] if state else 0  # of the next input element
        self.total = state.get("total") if state else None
        self.input_ended = False
        self.notes = [(self.index, input_stream.state())]
        self.slots: dict[int, tuple[int, Given | HeadraceError]] = {}
        self.order: Order | None = None
        self.filled = False
        self.label = node.label
        self.saved = state
        self.is_changed = False  # the elements are not those that were shuffled

    def read(self) -> Given | HeadraceError | None:
        """Returns the next input element, or its failure; None at the end."""
        if self.input_ended:
            return None
        if self.index % _NOTED_EVERY == 0:
            self.notes.append((self.index, self.input.state()))
        try:
            item: Given | HeadraceError = self.input.next()
        except StopIteration:
            self.input_ended, self.total = True, self.index
            return None
        except HeadraceError as error:
            item = error
        self.index += 1
        return item

    def fill(self) -> None:
        """Fills the slots as they were before the next output."""
        steady = self.emitted if self.total is None else max(0, self.total - self.size)
        slot_of = {index: slot for slot, index in enumerate(content(self.key, steady, self.size))} if steady else None
        total = self.total
        while self.index < steady + self.size:
            item = self.read()
            if item is None:
                break
            index = self.index - 1
            slot = index if slot_of is None else slot_of.get(index)
            if slot is not None:
                self.put(slot, index, item)
        self.filled = True
        if total is not None:
            self.read()  # nothing, or there are more than were drawn from
        needed = self.emitted + self.size if total is None else total
        if self.emitted and (self.index < needed or (total is not None and self.index > total)):
            self.is_changed = True
            raise input_changed(self.label)

    def put(self, slot: int, index: int, item: Given | HeadraceError) -> None:
        """Lays an element into a slot, in place of the one that lay there."""
        before = self.slots.get(slot)
        self.held_bytes += weight(item) - (weight(before[1]) if before is not None else 0)
        self.slots[slot] = (index, item)
        count = len(self.slots)
        self.holding.hold(
            self.held_bytes, self.elements, count=count, needs=lambda held: buffer_needs(held, count, self.size)
        )

    def elements(self) -> Iterator[Element]:
        """Yields the elements in the slots."""
        return (item[0] for _, item in self.slots.values() if not isinstance(item, HeadraceError))

    def next(self) -> Given:
        if not self.filled:
            self.fill()
        if self.is_changed:
            raise StopIteration
        if self.order is None:
            item = self.read()
            if item is not None:
                slot = int(draws(self.key, self.emitted, 1, self.size)[0])
                chosen = self.slots[slot]
                self.put(slot, self.index - 1, item)
                return self.out(chosen[1])
            assert self.total is not None  # the input has ended
            self.order = drain_order(self.key, min(self.total, self.size), self.saved)
        assert self.total is not None  # as above
        drained = self.emitted - max(0, self.total - self.size)
        if drained == len(self.order):
            raise StopIteration
        return self.out(self.slots[int(self.order[drained])][1])

    def out(self, item: Given | HeadraceError) -> Given:
        self.emitted += 1
        if isinstance(item, HeadraceError):
            raise item
        return item

    def state(self) -> State:
        if self.is_changed and self.saved is not None:
            return self.saved
        oldest = min((index for index, _ in self.slots.values()), default=self.notes[0][0])
        self.notes = [note for note in self.notes if note[0] <= oldest][-1:] + [
            note for note in self.notes if note[0] > oldest
        ]
        read, position = self.notes[0]
        computed = self.total is not None and is_computed(min(self.total, self.size), self.saved)
        return emitted_state(self.emitted, read, position, self.total, computed=computed)

    def close(self) -> None:
        self.holding.release()
        self.input.close()


class ComputedShuffleStream(Unary):
    """A shuffle of so many numbers that nobody could hold them: each is looked up in its place."""

    input: IndexedStream

    def __init__(self, order: Order, input_stream: IndexedStream, state: State | None) -> None:
        super().__init__(input_stream)
        self.order = order
        self.emitted = state["emitted"] if state else 0

    def next(self) -> Given:
        if self.emitted == len(self.order):
            raise StopIteration
        self.input.index = int(self.order[self.emitted])
        self.emitted += 1
        return self.input.next()

    def state(self) -> State:
        total = len(self.order) if self.emitted else None
        return emitted_state(self.emitted, 0, {"index": 0}, total, computed=True)


@stream_of.register
def _shuffle(node: Shuffle, state: State | None, context: RunContext) -> Stream:
    upstream = stream_of(node.input, input_state(state), context)
    key = shuffle_key(node, context)
    if isinstance(upstream, IndexedStream) and upstream.length is not None and upstream.length <= buffer_slots(node):
        is_as_saved = state is None or state.get("total", upstream.length) == upstream.length
        if is_computed(upstream.length, state) and is_as_saved:
            return ComputedShuffleStream(drain_order(key, upstream.length, state), upstream, state)
    return ShuffleStream(node, key, upstream, state, context.holding(node, SHUFFLE_REMEDY))
