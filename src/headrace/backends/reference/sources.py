"""The reference of sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, called
from headrace.blocks.cursor import State
from headrace.elements.ownership import copied
from headrace.elements.structure import normalize
from headrace.errors import HeadraceError
from headrace.plan.node import Node
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.semantics.generator_runs import own_state_of, started_generator
from headrace.semantics.run_context import RunContext
from headrace.semantics.signed import Signed
from headrace.semantics.sources import fewer_elements, index_source

__all__: list[str] = []

END: Final = object()


class IndexedStream:
    """The elements of an indexed source in order."""

    def __init__(self, node: Node, state: State | None, context: RunContext) -> None:
        self.source, self.length = index_source(node, context)
        self.index = state["index"] if state else 0
        self.label = node.label

    def next(self) -> Given:
        if self.length is not None and self.index > self.length:
            error, self.index = fewer_elements(self.length, self.index), self.length
            raise error.located(stage=self.label, origin=None)
        if self.index == self.length:
            raise StopIteration
        self.index += 1
        (row,) = self.source.rows(np.array([self.index - 1]))
        return row, f"element {self.index - 1}"

    def state(self) -> State:
        return {"index": self.index}

    def close(self) -> None:
        pass


class GeneratorStream:
    """What a user's generator yields, one element after the other; an error ends it."""

    def __init__(self, node: FromGenerator, state: State | None) -> None:
        self.node = node
        self.label = node.label
        self.saved = state or {"index": 0}
        self.index = self.saved["index"]
        self.iterator: Iterator[Any] | None = None  # not before the first element is asked for
        self.closed = False
        self.fitted = normalize if node.signature is None else Signed(node.signature).fitted

    def next(self) -> Given:
        origin = f"element {self.index}"
        try:
            yielded = called(self.label, origin, self.read)
        except HeadraceError:
            self.index += 1
            self.iterator = iter(())
            raise
        if yielded is END:
            raise StopIteration
        self.index += 1
        # The generator may hold what it yielded, and fill it again for the next element.
        return called(self.label, origin, lambda: self.fitted(copied(yielded))), origin

    def read(self) -> Any:
        """Returns what comes next, or END."""
        if self.iterator is None:
            self.iterator = started_generator(self.node, self.saved)
        return next(self.iterator, END)

    def state(self) -> State:
        if self.iterator is None or self.closed:
            return self.saved
        own = own_state_of(self.iterator, self.label)
        return {"index": self.index} if own is None else {"index": self.index, "own": own}

    def close(self) -> None:
        """Ends the generator, so that its ``finally`` runs."""
        if not self.closed and self.iterator is not None:
            self.saved = self.state()  # which an iterator that is gone cannot say
            self.closed = True
        closing = getattr(self.iterator, "close", None)
        if closing is not None:
            closing()
        if self.closed:  # only now: Ctrl-C may have cut it short, and it is closed again
            self.iterator = iter(())


@stream_of.register(FromTensors)
@stream_of.register(FromTensorSlices)
@stream_of.register(Range)
@stream_of.register(RandomSource)
def _indexed(node: Node, state: State | None, context: RunContext) -> Stream:
    return IndexedStream(node, state, context)


@stream_of.register
def _generator(node: FromGenerator, state: State | None, context: RunContext) -> Stream:
    return GeneratorStream(node, state)
