"""The reference of operations that choose which elements come."""

from __future__ import annotations

from collections.abc import Callable

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, Unary
from headrace.blocks.cursor import State, input_state
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


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


@stream_of.register
def _take(node: Take, state: State | None, context: RunContext) -> Stream:
    if node.count < 0:
        return stream_of(node.input, state, context)
    return TakeStream(node.count, stream_of(node.input, input_state(state), context), state)


def _nothing(node: Skip | Repeat, context: RunContext) -> Stream:
    return TakeStream(0, stream_of(node.input, None, context), None)


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


@stream_of.register
def _skip(node: Skip, state: State | None, context: RunContext) -> Stream:
    if node.count < 0:
        return _nothing(node, context)
    return SkipStream(node.count, stream_of(node.input, input_state(state), context), state)


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


@stream_of.register
def _shard(node: Shard, state: State | None, context: RunContext) -> Stream:
    return ShardStream(node, stream_of(node.input, input_state(state), context.upstream_of_shard(node)), state)


class TurnsStream(Unary):
    """One stream after the other: the turns of repeat, the parts of concatenate."""

    def __init__(
        self,
        key: str,
        build: Callable[[int, State | None], Stream],
        current: Stream,
        has_next_turn: Callable[[int, bool], bool],
        state: State | None,
    ) -> None:
        self.key = key
        self.turn = state[key] if state else 0
        self.empty = state["empty"] if state else True
        super().__init__(current)
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


@stream_of.register
def _repeat(node: Repeat, state: State | None, context: RunContext) -> Stream:
    if node.count == 0:
        return _nothing(node, context)
    count = node.count

    def build(turn: int, saved: State | None) -> Stream:
        return stream_of(node.input, saved, context.for_repeat(turn))

    def has_next_turn(turn: int, empty: bool) -> bool:
        return not empty if count is None else turn + 1 < count

    current = build(state["turn"], state["input"]) if state else build(0, None)
    return TurnsStream("turn", build, current, has_next_turn, state)


@stream_of.register
def _concatenate(node: Concatenate, state: State | None, context: RunContext) -> Stream:
    def build(part: int, saved: State | None) -> Stream:
        return stream_of(node.inputs[part], saved, context.for_input(node.inputs, part))

    current = build(state["part"], state["input"]) if state else build(0, None)
    return TurnsStream("part", build, current, lambda part, _: part + 1 < len(node.inputs), state)
