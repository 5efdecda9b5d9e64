"""The reference of operations that look at one element at a time."""

from __future__ import annotations

import contextlib
import functools

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary, called, log_skipped
from headrace.blocks.cursor import State, input_state
from headrace.elements.ownership import copied, read_only
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.plan.elementwise import Enumerate, Filter, Map, RandomMap
from headrace.plan.node import Node
from headrace.semantics.calls import call_function, is_true, packed
from headrace.semantics.elementwise import drawing_map, undelivered
from headrace.semantics.failures import input_changed
from headrace.semantics.run_context import RunContext
from headrace.semantics.timed_calls import Callers, Overtime, Progress, not_in_time

__all__ = ["made_by"]


class MapStream(Unary):
    """What the function makes of each element."""

    def __init__(self, node: Map, input_stream: Stream, callers: Callers) -> None:
        super().__init__(input_stream)
        self.node = node
        self.callers = callers

    def next(self) -> Given:
        element, origin = self.input.next()
        return made_by(self.node, element, origin, self.callers), origin


def made_by(node: Map, element: Element, origin: str, callers: Callers) -> Element:
    """Returns what a map makes of an element."""
    try:
        return called_in_time(node, element, origin, callers)
    except HeadraceError as failure:
        instead = node.on_error
        if not callable(instead):
            raise
        failed = [failure.with_traceback(None)]
    # Taken out, as it has the frames that lead to the function, and this one among them.
    return called(node.label, origin, lambda: packed(copied(instead(failed.pop()))))


def called_in_time(node: Map, element: Element, origin: str, callers: Callers) -> Element:
    """Returns what the function makes of an element, which it may have to do in so many seconds."""

    def call(progress: Progress | None = None) -> Element:
        if progress is None:
            return call_function(node.function, element)
        progress.begin(0)
        try:
            return call_function(node.function, element)
        finally:
            progress.end()

    if node.timeout_s is None:
        return called(node.label, origin, call, element, takes_parts=True)
    try:
        return callers.call(
            lambda progress: called(node.label, origin, lambda: call(progress), element, takes_parts=True),
            node.timeout_s,
        )
    except Overtime as late:
        raise not_in_time(node.timeout_s, late.stack).located(stage=node.label, origin=origin) from None


class SkippingMapStream(MapStream):
    """The same, without the elements on which it fails, up to a bound."""

    def __init__(self, node: Map, input_stream: Stream, context: RunContext, failed: int) -> None:
        super().__init__(node, input_stream, context.callers)
        self.failures = context.failures
        self.most = context.max_failures
        self.failed = failed

    def next(self) -> Given:
        while True:
            element, origin = self.input.next()
            try:
                return made_by(self.node, element, origin, self.callers), origin
            except HeadraceError as error:
                self.failed += 1
                log_skipped(error, self.failed, self.most, self.failures)

    def state(self) -> State:
        return {"failed": self.failed, "input": self.input.state()}


@stream_of.register
def _map(node: Map, state: State | None, context: RunContext) -> Stream:
    if node.skips:
        upstream = _upstream_of_map(node.input, input_state(state), context)
        failed = state["failed"] if state else 0
        return SkippingMapStream(node, upstream, context, failed)
    return MapStream(node, _upstream_of_map(node.input, state, context), context.callers)


@stream_of.register
def _random_map(node: RandomMap, state: State | None, context: RunContext) -> Stream:
    numbered = Enumerate(input=node.input)
    upstream = _upstream_of_map(numbered, state, context)
    return MapStream(drawing_map(node, numbered, context), upstream, context.callers)


def _upstream_of_map(source: Node, state: State | None, context: RunContext) -> Stream:
    """Makes the stream that a map reads: without what it had delivered out of order, if it had workers."""
    map_index = context.downstream_maps
    delivered, saved = undelivered(state, range(map_index, map_index + 1))
    upstream = stream_of(source, saved, context.upstream_of_maps(1))
    return UndeliveredStream(source.label, upstream, delivered, map_index) if delivered else upstream


class UndeliveredStream(Unary):
    """What an unordered parallel map had not delivered when its state was saved."""

    def __init__(self, label: str, input_stream: Stream, delivered: list[tuple[int, int]], map_number: int) -> None:
        super().__init__(input_stream)
        self.label = label
        self.runs = delivered
        self.map_number = map_number
        self.index = 0

    def next(self) -> Given:
        try:
            while any(start <= self.index < end for start, end in self.runs):
                with contextlib.suppress(HeadraceError):  # it was delivered as well
                    self.input.next()
                self.index += 1
            given = self.input.next()
        except HeadraceError:
            self.index += 1
            raise
        except StopIteration:
            ahead = [end for _, end in self.runs if end > self.index]
            self.runs = []
            if ahead:
                raise input_changed(self.label) from None
            raise
        self.index += 1
        return given

    def state(self) -> State:
        ahead = [[start - self.index, end - self.index] for start, end in self.runs if end > self.index]
        if not ahead:
            return self.input.state()
        runs = [[max(0, start), end] for start, end in ahead]
        return {"map": self.map_number, "delivered": runs, "input": self.input.state()}


class FilterStream(Unary):
    """The elements for which the predicate is true."""

    def __init__(self, node: Filter, input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.node = node

    def next(self) -> Given:
        while True:
            element, origin = self.input.next()
            if called(self.node.label, origin, functools.partial(self.judge, element), element, takes_parts=True):
                return element, origin

    def judge(self, element: Element) -> bool:
        return is_true(call_function(self.node.predicate, read_only(element)))


@stream_of.register
def _filter(node: Filter, state: State | None, context: RunContext) -> Stream:
    return FilterStream(node, stream_of(node.input, state, context))


class EnumerateStream(Unary):
    """Each element with its index; a failure has one too."""

    def __init__(self, node: Enumerate, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.node = node
        self.index = state["index"] if state else 0

    def next(self) -> Given:
        try:
            element, origin = self.input.next()
        except HeadraceError:
            self.index += 1
            raise
        self.index += 1
        return (self.node.start + self.index - 1, element), origin

    def state(self) -> State:
        return {"index": self.index, "input": self.input.state()}


@stream_of.register
def _enumerate(node: Enumerate, state: State | None, context: RunContext) -> Stream:
    return EnumerateStream(node, stream_of(node.input, input_state(state), context), state)
