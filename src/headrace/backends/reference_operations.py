"""The reference streams of operations that pass elements on; what they promise stands in ``reference_stream``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

from headrace.backends.reference_stream import Given, Stream, Unary, called
from headrace.errors import HeadraceError
from headrace.physical.batching import sliced, stacked
from headrace.physical.block import Rows
from headrace.physical.cursor import State
from headrace.physical.mapping import call_on, is_true, packed
from headrace.physical.origin import grouped
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.grouping import Batch, Unbatch
from headrace.plan.sequencing import Shard
from headrace.structure import Element, unflatten

__all__ = [
    "BatchStream",
    "EnumerateStream",
    "FilterStream",
    "MapStream",
    "ShardStream",
    "SkipStream",
    "TakeStream",
    "TurnsStream",
    "UnbatchStream",
    "UndeliveredStream",
    "ZipStream",
]


class MapStream(Unary):
    """What the function makes of each element."""

    def __init__(self, node: Map, input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.node = node

    def next(self) -> Given:
        element, origin = self.input.next()
        return called(self.node.label, origin, lambda: packed(call_on(self.node.function, element))), origin


class FilterStream(Unary):
    """The elements for which the predicate is true."""

    def __init__(self, node: Filter, input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.node = node

    def next(self) -> Given:
        while True:
            element, origin = self.input.next()
            if called(self.node.label, origin, functools.partial(self.judge, element)):
                return element, origin

    def judge(self, element: Element) -> bool:
        return is_true(call_on(self.node.predicate, element))


class EnumerateStream(Unary):
    """Each element with its number; a failure has one too."""

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


class BatchStream(Unary):
    """Elements stacked; a failure takes its whole batch with it."""

    def __init__(self, node: Batch, input_stream: Stream) -> None:
        super().__init__(input_stream)
        self.node = node

    def next(self) -> Given:
        elements, origins, error = self.gathered()
        if error is not None:
            raise error
        if not elements or (self.node.drop_remainder and len(elements) < self.node.batch_size):
            raise StopIteration
        origin = grouped(origins[0], origins[-1], len(origins))
        return called(self.node.label, origin, lambda: stacked(Rows(elements))), origin

    def gathered(self) -> tuple[list[Element], list[str], HeadraceError | None]:
        """The elements of the next batch; if one fails, its error, and the batch's other elements are passed over."""
        elements, origins, failure = [], [], None
        for _ in range(self.node.batch_size):
            try:
                element, origin = self.input.next()
            except StopIteration:
                break
            except HeadraceError as error:
                failure = failure or error
            else:
                elements.append(element)
                origins.append(origin)
        return elements, origins, failure


class UnbatchStream(Unary):
    """The slices of each element."""

    def __init__(self, node: Unbatch, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.node = node
        self.rows: list[Element] = []
        self.given = state["given"] if state else 0
        self.before = input_stream.state()
        self.from_where = ""
        if self.given:
            self.open()

    def open(self) -> None:
        self.before = self.input.state()
        element, origin = self.input.next()
        self.from_where = f"a slice of {origin}"
        self.rows = called(self.node.label, origin, lambda: sliced(element)).rows()

    def next(self) -> Given:
        while self.given == len(self.rows):
            self.rows, self.given = [], 0
            self.open()
        self.given += 1
        return self.rows[self.given - 1], self.from_where

    def state(self) -> State:
        if self.given == len(self.rows):
            return {"given": 0, "input": self.input.state()}
        return {"given": self.given, "input": self.before}


class TakeStream(Unary):
    """The first elements; a failure does not count."""

    def __init__(self, count: int, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.count = count
        self.taken = state["taken"] if state else 0

    def next(self) -> Given:
        if self.taken == self.count:
            raise StopIteration
        given = self.input.next()
        self.taken += 1
        return given

    def state(self) -> State:
        return {"taken": self.taken, "input": self.input.state()}


class SkipStream(Unary):
    """All but the first elements; a failure comes through, and does not count."""

    def __init__(self, count: int, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.count = count
        self.skipped = state["skipped"] if state else 0

    def next(self) -> Given:
        while self.skipped < self.count:
            self.input.next()
            self.skipped += 1
        return self.input.next()

    def state(self) -> State:
        return {"skipped": self.skipped, "input": self.input.state()}


class ShardStream(Unary):
    """Every n-th element; a failure does not count."""

    def __init__(self, node: Shard, input_stream: Stream, state: State | None) -> None:
        super().__init__(input_stream)
        self.node = node
        self.seen = state["seen"] if state else 0

    def next(self) -> Given:
        while True:
            given = self.input.next()
            self.seen += 1
            if (self.seen - 1) % self.node.num_shards == self.node.index:
                return given

    def state(self) -> State:
        return {"seen": self.seen, "input": self.input.state()}


class TurnsStream(Unary):
    """One stream after the other: the turns of repeat, the parts of concatenate."""

    def __init__(
        self,
        key: str,
        build: Callable[[int, State | None], Stream],
        has_next_turn: Callable[[int, bool], bool],
        state: State | None,
    ) -> None:
        self.key = key
        self.turn = state[key] if state else 0
        self.empty = state["empty"] if state else True
        super().__init__(build(self.turn, state["input"] if state else None))
        self.build = build
        self.has_next_turn = has_next_turn

    def next(self) -> Given:
        while True:
            try:
                given = self.input.next()
            except StopIteration:
                if not self.has_next_turn(self.turn, self.empty):
                    raise
                self.input.close()
                self.turn, self.empty = self.turn + 1, True
                self.input = self.build(self.turn, None)
            else:
                self.empty = False
                return given

    def state(self) -> State:
        return {self.key: self.turn, "empty": self.empty, "input": self.input.state()}


class ZipStream:
    """One element of each input; a failure of one takes the others' elements with it."""

    def __init__(self, node: Zip, inputs: list[Stream]) -> None:
        self.node = node
        self.inputs = inputs
        self.ended = False

    def next(self) -> Given:
        if self.ended:
            raise StopIteration
        elements, origins, failure = [], [], None
        for stream in self.inputs:
            try:
                element, origin = stream.next()
            except StopIteration:
                self.ended = True
                raise
            except HeadraceError as error:
                failure = failure or error
            else:
                elements.append(element)
                origins.append(origin)
        if failure is not None:
            raise failure
        return unflatten(self.node.treedef, elements), origins[0]

    def state(self) -> State:
        return {"inputs": [stream.state() for stream in self.inputs]}

    def close(self) -> None:
        for stream in self.inputs:
            stream.close()


class UndeliveredStream(Unary):
    """What an unordered parallel map had not delivered when its state was saved."""

    def __init__(self, input_stream: Stream, delivered: list[tuple[int, int]], map_number: int) -> None:
        super().__init__(input_stream)
        self.runs = delivered
        self.map_number = map_number
        self.number = 0

    def next(self) -> Given:
        while any(start <= self.number < end for start, end in self.runs):
            self.number += 1
            with contextlib.suppress(HeadraceError):  # it was delivered as well
                self.input.next()
        self.number += 1
        return self.input.next()

    def state(self) -> State:
        ahead = [[start - self.number, end - self.number] for start, end in self.runs if end > self.number]
        if not ahead:
            return self.input.state()
        runs = [[max(0, start), end] for start, end in ahead]
        return {"map": self.map_number, "delivered": runs, "input": self.input.state()}
