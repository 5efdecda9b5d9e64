"""The reference of operations that put elements together, or take them apart."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary, called
from headrace.blocks.cursor import State, input_state
from headrace.blocks.origin import grouped, slice_of
from headrace.blocks.payload import Rows
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.plan.grouping import Batch, CyclingBatch, PaddedBatch, RaggedBatch, Unbatch
from headrace.semantics.failures import input_changed
from headrace.semantics.grouping import (
    element_like,
    emptied,
    padded_batch,
    ragged_batch,
    sliced,
    specified,
    stacked,
    turn_after,
    turn_state,
)
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class BatchStream(Unary):
    """Elements made one; a failure takes its whole batch with it."""

    def __init__(self, node: Batch, combine: Callable[[list[Element]], Element], input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.node = node
        self.combine = combine

    def next(self) -> Given:
        elements, origins, error, places = self.gathered()
        if places < self.node.batch_size and self.node.drop_remainder and self.node.drops_failed:
            raise StopIteration
        if error is not None:
            raise error
        if not elements or (self.node.drop_remainder and len(elements) < self.node.batch_size):
            raise StopIteration
        origin = grouped(origins[0], origins[-1], len(origins))
        return called(self.node.label, origin, lambda: self.combine(elements)), origin

    def gathered(self) -> tuple[list[Element], list[str], HeadraceError | None, int]:
        """Reads the next batch; returns its elements, the error of the first that failed, and how many there were with these."""
        elements, origins, failure = [], [], None
        places = 0
        for _ in range(self.node.batch_size):
            try:
                element, origin = self.input.next()
            except StopIteration:
                break
            except HeadraceError as error:
                failure = error if failure is None else failure
            else:
                elements.append(element)
                origins.append(origin)
            places += 1
        return elements, origins, failure, places


@stream_of.register
def _batch(node: Batch, state: State | None, context: RunContext) -> Stream:
    return BatchStream(node, lambda rows: stacked(Rows(rows)), stream_of(node.input, state, context))


@stream_of.register
def _padded_batch(node: PaddedBatch, state: State | None, context: RunContext) -> Stream:
    return BatchStream(node, functools.partial(padded_batch, node), stream_of(node.input, state, context))


@stream_of.register
def _ragged_batch(node: RaggedBatch, state: State | None, context: RunContext) -> Stream:
    return BatchStream(node, functools.partial(ragged_batch, node), stream_of(node.input, state, context))


class CyclingBatchStream(Unary):
    """Batches whose sizes come in turn; one of size 0 is like its neighbours."""

    def __init__(self, node: CyclingBatch, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.node = node
        self.turn = state["turn"] if state else 0
        self.peeked: tuple[Given, State] | None = None
        like = element_like(state)
        self.specified = specified(node)
        self.last: list[Element] = [] if like is None else [like]

    def take(self) -> Given:
        if self.peeked is not None:
            given, self.peeked = self.peeked[0], None
            return given
        given = self.input.next()
        if self.specified is None:
            self.last = [given[0]]
        return given

    def next(self) -> Given:
        size = self.node.batch_sizes[self.turn]
        if not size:
            return self.empty(), "no element"
        elements, origins, failure = [], [], None
        count = 0
        for _ in range(size):
            try:
                element, origin = self.take()
            except StopIteration:
                break
            except HeadraceError as error:
                failure = error if failure is None else failure
            else:
                elements.append(element)
                origins.append(origin)
            count += 1
        if not count or (failure is None and count < size and self.node.drop_remainder):
            raise StopIteration
        self.advance(short=count < size)
        if failure is not None:
            raise failure
        origin = grouped(origins[0], origins[-1], len(origins))
        return called(self.node.label, origin, lambda: stacked(Rows(elements))), origin

    def empty(self) -> Element:
        if self.specified is None and not self.last:
            before = self.input.state()
            self.peeked = (self.take(), before)
        self.advance(short=False)
        return emptied(self.last[0] if self.specified is None else self.specified)

    def advance(self, *, short: bool) -> None:
        self.turn = turn_after(self.node.batch_sizes, self.turn, short=short)

    def state(self) -> State:
        position = self.input.state() if self.peeked is None else self.peeked[1]
        return turn_state(self.node.batch_sizes, self.turn, position, self.last[0] if self.last else None)


@stream_of.register
def _rebatch(node: CyclingBatch, state: State | None, context: RunContext) -> Stream:
    return CyclingBatchStream(node, stream_of(node.input, input_state(state), context), state)


class UnbatchStream(Unary):
    """The slices of each element."""

    def __init__(self, node: Unbatch, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.node = node
        self.rows: list[Element] = []
        self.given = 0
        self.skip = state["given"] if state else 0  # slices of the next element that were given before
        self.before = input_stream.state()
        # The position as it was written down last, until it moves: streams of deep chains ask each other.
        self.position: State | None = None
        self.from_where = ""

    def open(self) -> None:
        """Slices the next element; what takes its place takes that of all its slices."""
        self.before = self.input.state()
        skip, self.skip = self.skip, 0
        self.rows, self.given = [], 0
        try:
            element, origin = self.input.next()
        except StopIteration:
            if skip:
                raise input_changed(self.node.label) from None
            raise
        self.from_where = slice_of(origin)
        rows = called(self.node.label, origin, lambda: sliced(element)).rows()
        if skip > len(rows):
            raise input_changed(self.node.label, origin)
        self.rows, self.given = rows, skip

    def next(self) -> Given:
        self.position = None
        while self.given == len(self.rows):
            self.open()
        self.given += 1
        return self.rows[self.given - 1], self.from_where

    def state(self) -> State:
        if self.position is None:
            is_between = self.given == len(self.rows)
            given, before = (self.skip, self.input.state()) if is_between else (self.given, self.before)
            self.position = {"given": given, "input": before}
        return self.position


@stream_of.register
def _unbatch(node: Unbatch, state: State | None, context: RunContext) -> Stream:
    return UnbatchStream(node, stream_of(node.input, input_state(state), context), state)
