"""The access to shuffled elements."""

from __future__ import annotations

from headrace.backends.access.dispatch import Access, access_of, no_access
from headrace.backends.reference.stream import Given
from headrace.plan.shuffling import WHOLE_DATASET, Shuffle
from headrace.semantics.random_streams import Key
from headrace.semantics.run_context import RunContext
from headrace.semantics.shuffling import Order, buffer_slots, content, draws, shuffle_key, whole_order

__all__: list[str] = []


class ShuffleAccess:
    """The elements in the order of a shuffle."""

    def __init__(self, key: Key, size: int, read: Access) -> None:
        self.key = key
        self.size = size
        self.input = read
        self.length = read.length
        self.order: Order | None = None

    def at(self, index: int) -> Given:
        return self.input.at(self.index_of(index))

    def index_of(self, output: int) -> int:
        if self.length is None:
            (slot,) = draws(self.key, output, 1, self.size)
            return int(content(self.key, output, self.size)[slot])
        if self.order is None:
            self.order = whole_order(self.key, self.length, self.size)
        return int(self.order[output])


@access_of.register
def _shuffle(node: Shuffle, context: RunContext) -> Access:
    read = access_of(node.input, context)
    if read.length is None and node.buffer_size == WHOLE_DATASET:
        raise no_access(node, "a dataset without an end has no whole that could be shuffled")
    return ShuffleAccess(shuffle_key(node, context), buffer_slots(node), read)
