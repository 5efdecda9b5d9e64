"""The reference: what a plan means, element by element, in the caller's thread.

Each operation is one small class in this folder's ``reference_*`` files, and reads as its specification. Every
other way of running a plan must give the same elements in the same order, and must take and give the same states.
Nothing here is fast, and nothing here is optimised.
"""

from __future__ import annotations

import dataclasses
import functools

from headrace.backends.reference_nested import InterleaveStream, Open
from headrace.backends.reference_operations import (
    BatchStream,
    EnumerateStream,
    FilterStream,
    MapStream,
    ShardStream,
    SkipStream,
    TakeStream,
    TurnsStream,
    UnbatchStream,
    UndeliveredStream,
    ZipStream,
)
from headrace.backends.reference_sources import FilesStream, GeneratorStream, IndexedStream
from headrace.backends.reference_stores import CacheStream, ShuffleStream
from headrace.backends.reference_stream import Stream
from headrace.errors import HeadraceError, InternalError
from headrace.observe.meter import Meter
from headrace.physical.block import Block, Failure, Rows
from headrace.physical.context import Context
from headrace.physical.cursor import Cursor, State
from headrace.physical.lower import inner_plan, shuffle_key
from headrace.physical.origin import Numbers
from headrace.physical.parallel import undelivered
from headrace.physical.stage import Item, Stage
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.combining import FlatMap, Zip
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.grouping import Batch, Unbatch
from headrace.plan.node import Node
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Shuffle, Skip, Take
from headrace.plan.sources import Files, FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.structure import Element

__all__ = ["InlineStage", "stream_of"]


class InlineStage(Stage):
    """A whole plan as one stage that gives one element at a time."""

    def __init__(self, plan: Node, state: State | None, context: Context) -> None:
        self._stream = stream_of(plan, state, context)
        super().__init__(Meter(plan.label), (), _Here(self._stream))

    def _pull(self, limit: int) -> Item:
        here = _Here(self._stream)
        try:
            element, origin = self._stream.next()
        except StopIteration:
            return None
        except HeadraceError as error:
            return Failure(error, here, here)
        return Block(Rows([element]), here, _Origin(origin))

    def close(self) -> None:
        self._stream.close()


@dataclasses.dataclass(frozen=True, slots=True)
class _Here:
    """Where the stream stands now; it never gives an element before it is asked, so that is the place behind the last."""

    stream: Stream

    def advance(self, count: int) -> Cursor:
        return self

    def state(self) -> State:
        return self.stream.state()


@dataclasses.dataclass(frozen=True, slots=True)
class _Origin:
    text: str

    def subset(self, indices: Numbers) -> _Origin:
        return self

    def describe(self, index: int) -> str:
        return self.text


@functools.singledispatch
def stream_of(node: Node, state: State | None, context: Context) -> Stream:
    """The stream of a node, where the state says."""
    raise InternalError(f"no reference is known for {type(node).__name__}")


def _input(state: State | None) -> State | None:
    return state["input"] if state else None


@stream_of.register(FromTensors)
@stream_of.register(FromTensorSlices)
@stream_of.register(Range)
@stream_of.register(RandomSource)
def _indexed(node: Node, state: State | None, context: Context) -> Stream:
    return IndexedStream(node, state, context)


@stream_of.register
def _generator(node: FromGenerator, state: State | None, context: Context) -> Stream:
    return GeneratorStream(node, state)


@stream_of.register
def _files(node: Files, state: State | None, context: Context) -> Stream:
    return FilesStream(node, state)


@stream_of.register
def _map(node: Map, state: State | None, context: Context) -> Stream:
    number = context.maps_behind
    delivered, saved = undelivered(state, range(number, number + 1))
    above = stream_of(node.input, saved, context.above_maps(1))
    if delivered:
        above = UndeliveredStream(above, delivered, number)
    return MapStream(node, above)


@stream_of.register
def _filter(node: Filter, state: State | None, context: Context) -> Stream:
    return FilterStream(node, stream_of(node.input, state, context))


@stream_of.register
def _enumerate(node: Enumerate, state: State | None, context: Context) -> Stream:
    return EnumerateStream(node, stream_of(node.input, _input(state), context), state)


@stream_of.register
def _batch(node: Batch, state: State | None, context: Context) -> Stream:
    return BatchStream(node, stream_of(node.input, state, context))


@stream_of.register
def _unbatch(node: Unbatch, state: State | None, context: Context) -> Stream:
    return UnbatchStream(node, stream_of(node.input, _input(state), context), state)


@stream_of.register
def _take(node: Take, state: State | None, context: Context) -> Stream:
    if node.count < 0:
        return stream_of(node.input, state, context)
    return TakeStream(node.count, stream_of(node.input, _input(state), context), state)


def _nothing(node: Skip | Repeat, context: Context) -> Stream:
    return TakeStream(0, stream_of(node.input, None, context), None)


@stream_of.register
def _skip(node: Skip, state: State | None, context: Context) -> Stream:
    if node.count < 0:
        return _nothing(node, context)
    return SkipStream(node.count, stream_of(node.input, _input(state), context), state)


@stream_of.register
def _shard(node: Shard, state: State | None, context: Context) -> Stream:
    return ShardStream(node, stream_of(node.input, _input(state), context), state)


@stream_of.register
def _repeat(node: Repeat, state: State | None, context: Context) -> Stream:
    if node.count == 0:
        return _nothing(node, context)
    count = node.count

    def has_next_turn(turn: int, empty: bool) -> bool:
        return not empty if count is None else turn + 1 < count

    return TurnsStream(
        "turn", lambda turn, saved: stream_of(node.input, saved, context.turn(turn)), has_next_turn, state
    )


@stream_of.register
def _concatenate(node: Concatenate, state: State | None, context: Context) -> Stream:
    return TurnsStream(
        "part",
        lambda part, saved: stream_of(node.inputs[part], saved, context.among(node.inputs, part)),
        lambda part, _: part == 0,
        state,
    )


@stream_of.register
def _zip(node: Zip, state: State | None, context: Context) -> Stream:
    parts = zip(node.inputs, state["inputs"] if state else [None] * len(node.inputs), strict=True)
    return ZipStream(
        node, [stream_of(child, saved, context.among(node.inputs, part)) for part, (child, saved) in enumerate(parts)]
    )


@stream_of.register
def _shuffle(node: Shuffle, state: State | None, context: Context) -> Stream:
    return ShuffleStream(node, shuffle_key(node, context), stream_of(node.input, _input(state), context), state)


@stream_of.register
def _cache(node: Cache, state: State | None, context: Context) -> Stream:
    return CacheStream(
        node,
        lambda epoch: stream_of(node.input, None, dataclasses.replace(context, epoch=epoch)),
        state,
        context,
    )


@stream_of.register(Prefetch)
@stream_of.register(WithOptions)
def _transparent(node: Prefetch | WithOptions, state: State | None, context: Context) -> Stream:
    return stream_of(node.input, state, context)


@stream_of.register
def _interleave(node: FlatMap, state: State | None, context: Context) -> Stream:
    return InterleaveStream(node, lambda saved: stream_of(node.input, saved, context), _opener(node, context), state)


def _opener(node: FlatMap, context: Context) -> Open:
    def open_plan(element: Element, number: int, saved: State | None) -> Stream:
        plan, inside = inner_plan(node, element, number, context)
        return stream_of(plan, saved, inside)

    return open_plan
