"""The reference of operations that go through elements with something in mind."""

from __future__ import annotations

import contextlib
import functools

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary, called
from headrace.blocks.cursor import State, input_state
from headrace.errors import HeadraceError
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile, Unique
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.run_context import RunContext
from headrace.semantics.stateful import (
    DROPPED,
    END,
    UNIQUE_REMEDY,
    AssertCardinalityOp,
    ScanOp,
    StatefulOp,
    TakeWhileOp,
    UniqueOp,
)
from headrace.structure import nbytes_of

__all__: list[str] = []


class StatefulStream(Unary):
    """Elements one after the other."""

    def __init__(self, steps: StatefulOp, label: str, input_stream: Stream, *, ended: bool = False) -> None:
        super().__init__(input_stream)
        self.steps = steps
        self.label = label
        self.ended = ended

    def next(self) -> Given:
        while not self.ended:
            try:
                element, origin = self.input.next()
            except StopIteration:
                self.ended = True
                self.finish()
                raise
            output = called(self.label, origin, functools.partial(self.steps.step, element))
            if output is END:
                self.ended = True
            elif output is not DROPPED:
                return output, origin
        raise StopIteration

    def finish(self) -> None:
        try:
            self.steps.end()
        except HeadraceError as error:
            raise as_element_error(error, stage=self.label, origin=None) from error

    def state(self) -> State:
        return {**self.steps.state_of(self.steps.snapshot()), "input": self.input.state()}


@stream_of.register
def _take_while(node: TakeWhile, state: State | None, context: RunContext) -> Stream:
    steps = TakeWhileOp(node, state)
    return StatefulStream(steps, node.label, stream_of(node.input, input_state(state), context), ended=steps.ended)


@stream_of.register
def _scan(node: Scan, state: State | None, context: RunContext) -> Stream:
    return StatefulStream(ScanOp(node, state), node.label, stream_of(node.input, input_state(state), context))


@stream_of.register
def _assert_cardinality(node: AssertCardinality, state: State | None, context: RunContext) -> Stream:
    return StatefulStream(
        AssertCardinalityOp(node, state), node.label, stream_of(node.input, input_state(state), context)
    )


class UniqueStream(Unary):
    """Each element when it comes for the first time; what was seen is read again."""

    def __init__(self, node: Unique, input_stream: Stream, state: State | None, holding: Holding) -> None:
        super().__init__(input_stream)
        self.holding = holding
        self.seen_bytes = 0
        self.label = node.label
        self.steps = UniqueOp()
        self.start = input_stream.state()
        self.read = 0
        for _ in range(state["read"] if state else 0):
            with contextlib.suppress(HeadraceError, StopIteration, TypeError):
                self.steps.step(self.input.next()[0])
            self.read += 1

    def next(self) -> Given:
        while True:
            try:
                element, origin = self.input.next()
            except HeadraceError:
                self.read += 1
                raise
            self.read += 1
            output = called(self.label, origin, functools.partial(self.steps.step, element))
            if output is not DROPPED:
                self.seen_bytes += nbytes_of(output)
                self.hold()
                return output, origin

    def hold(self) -> None:
        """Says how much is kept in mind."""
        self.holding.hold(self.seen_bytes, lambda: self.steps.seen, count=len(self.steps.seen))

    def state(self) -> State:
        return {"read": self.read, "input": self.start}

    def close(self) -> None:
        self.holding.release()
        super().close()


@stream_of.register
def _unique(node: Unique, state: State | None, context: RunContext) -> Stream:
    upstream = stream_of(node.input, input_state(state), context)
    return UniqueStream(node, upstream, state, context.holding(node, UNIQUE_REMEDY))
