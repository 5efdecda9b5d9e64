"""The reference of operations that remember something from element to element.

What take_while, scan, unique and assert_cardinality mean is written here once more, without a look at the stages: only
the words of errors, the check of a scan's state and the keys of saved states are shared (``semantics.stateful``).
"""

from __future__ import annotations

from typing import Any

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary, called
from headrace.blocks.cursor import State, input_state
from headrace.elements.ownership import copied, read_only
from headrace.elements.structure import Element, nbytes_of
from headrace.errors import HeadraceError
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile, Unique
from headrace.semantics.calls import call_on, is_true, packed
from headrace.semantics.failures import as_element_error, input_changed
from headrace.semantics.held_bytes import Holding
from headrace.semantics.run_context import RunContext
from headrace.semantics.stateful import (
    UNIQUE_REMEDY,
    StateCheck,
    check_distinguishable,
    check_pair,
    restored_scan_state,
    saved_scan_state,
    too_few_elements,
    too_many_elements,
    with_failure,
)

__all__: list[str] = []


class TakeWhileStream(Unary):
    """The elements before the first for which the predicate is false."""

    def __init__(self, node: TakeWhile, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.node = node
        self.ended = state["ended"] if state else False

    def next(self) -> Given:
        if self.ended:
            raise StopIteration
        element, origin = self.input.next()
        answer = called(self.node.label, origin, lambda: is_true(call_on(self.node.predicate, read_only(element))))
        if answer:
            return element, origin
        self.ended = True
        raise StopIteration

    def state(self) -> State:
        return {"ended": self.ended, "input": self.input.state()}


@stream_of.register
def _take_while(node: TakeWhile, state: State | None, context: RunContext) -> Stream:
    return TakeWhileStream(node, stream_of(node.input, input_state(state), context), state)


class ScanStream(Unary):
    """What the function makes of each element and of the state that it made of the elements before."""

    def __init__(self, node: Scan, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.node = node
        self.check = StateCheck(node.initial_state)
        self.held = restored_scan_state(node, state)

    def next(self) -> Given:
        element, origin = self.input.next()
        new_state, output = called(self.node.label, origin, lambda: self.step(element))
        self.held = new_state
        return output, origin

    def step(self, element: Element) -> tuple[Element, Element]:
        result = self.node.function(read_only(self.held), element)
        check_pair(result)
        new_state, output = (packed(copied(part)) for part in result)
        self.check(new_state)
        return new_state, output

    def state(self) -> State:
        return {"state": saved_scan_state(self.held), "input": self.input.state()}


@stream_of.register
def _scan(node: Scan, state: State | None, context: RunContext) -> Stream:
    return ScanStream(node, stream_of(node.input, input_state(state), context), state)


class AssertCardinalityStream(Unary):
    """The elements as they come; an error for each beyond the expected ones, and one at an end that comes too soon."""

    def __init__(self, node: AssertCardinality, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.label = node.label
        self.wanted = node.wanted
        self.seen = state["seen"] if state else 0
        self.told = state["told"] if state else False  # that there are too few

    def next(self) -> Given:
        try:
            element, origin = self.input.next()
        except StopIteration:
            if self.wanted is not None and self.seen < self.wanted and not self.told:
                self.told = True
                error = too_few_elements(self.wanted, self.seen)
                raise as_element_error(error, stage=self.label, origin=None) from error
            raise
        self.seen += 1
        if self.wanted is not None and self.seen > self.wanted:
            raise as_element_error(too_many_elements(self.wanted, self.seen), stage=self.label, origin=origin)
        return element, origin

    def state(self) -> State:
        return {"seen": self.seen, "told": self.told, "input": self.input.state()}


@stream_of.register
def _assert_cardinality(node: AssertCardinality, state: State | None, context: RunContext) -> Stream:
    return AssertCardinalityStream(node, stream_of(node.input, input_state(state), context), state)


class UniqueStream(Unary):
    """Each element when it comes for the first time; what was seen is read again."""

    def __init__(self, node: Unique, input_stream: Stream, state: State | None, holding: Holding) -> None:
        super().__init__(input_stream)
        self.label = node.label
        self.holding = holding
        self.seen: set[Any] = set()
        self.seen_bytes = 0
        self.start = input_stream.state()
        self.read = self.failed = 0
        self.is_changed = False  # what was seen is not there to be seen again
        self.loss: HeadraceError | None = None
        last_failure: HeadraceError | None = None
        for _ in range(state["read"] if state else 0):
            try:
                self.is_new(*self.read_next())
            except StopIteration:
                self.is_changed = True
                self.read += 1
            except HeadraceError as error:  # it was an error then, too
                last_failure = error
        if state and self.failed != state.get("failed", self.failed):
            self.is_changed = True
            self.failed = state["failed"]
        if self.is_changed:
            self.loss = input_changed(self.label, failure=last_failure)

    def next(self) -> Given:
        if self.loss is not None:
            loss, self.loss = self.loss, None
            raise loss
        if self.is_changed:
            raise StopIteration
        while True:
            element, origin = self.read_next()
            if self.is_new(element, origin):
                return element, origin

    def read_next(self) -> Given:
        """Returns the next element of the input, and counts it."""
        try:
            given = self.input.next()
        except HeadraceError:
            self.failed = with_failure(self.failed, self.read)
            self.read += 1
            raise
        self.read += 1
        return given

    def is_new(self, element: Element, origin: str) -> bool:
        """Returns whether no element that is equal came before; it is remembered."""
        called(self.label, origin, lambda: check_distinguishable(element))
        if element in self.seen:
            return False
        self.seen.add(element)
        self.seen_bytes += nbytes_of(element)
        self.holding.hold(self.seen_bytes, lambda: self.seen, count=len(self.seen))
        return True

    def state(self) -> State:
        return {"read": self.read, "failed": self.failed, "input": self.start}

    def close(self) -> None:
        self.holding.release()
        super().close()


@stream_of.register
def _unique(node: Unique, state: State | None, context: RunContext) -> Stream:
    upstream = stream_of(node.input, input_state(state), context)
    return UniqueStream(node, upstream, state, context.holding(node, UNIQUE_REMEDY))
