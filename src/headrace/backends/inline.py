"""The reference: what a plan means, element by element, in the caller's thread.

Each operation is one small class in this folder's ``reference_*`` files, and reads as its specification. Every
other way of running a plan must give the same elements in the same order, and must take and give the same states.
Nothing here is fast, and nothing here is optimised.
"""

from __future__ import annotations

import dataclasses

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


def stream_of(node: Node, state: State | None, context: Context) -> Stream:
    """The stream of a node, where the state says."""
    above = state["input"] if state and "input" in state else None

    def read(child: Node, saved: State | None = above) -> Stream:
        return stream_of(child, saved, context)

    match node:
        case FromTensors() | FromTensorSlices() | Range() | RandomSource():
            return IndexedStream(node, state, context)
        case FromGenerator():
            return GeneratorStream(node, state)
        case Files():
            return FilesStream(node, state)
        case Map():
            if state and "delivered" in state:
                return MapStream(node, UndeliveredStream(read(node.input), state["delivered"]))
            return MapStream(node, read(node.input, state))
        case Filter():
            return FilterStream(node, read(node.input, state))
        case Enumerate():
            return EnumerateStream(node, read(node.input), state)
        case Batch():
            return BatchStream(node, read(node.input, state))
        case Unbatch():
            return UnbatchStream(node, read(node.input), state)
        case Take():
            return read(node.input, state) if node.count < 0 else TakeStream(node.count, read(node.input), state)
        case Skip():
            if node.count < 0:
                return TakeStream(0, read(node.input), None)
            return SkipStream(node.count, read(node.input), state)
        case Shard():
            return ShardStream(node, read(node.input), state)
        case Repeat():
            if node.count == 0:
                return TakeStream(0, read(node.input, None), None)
            return TurnsStream(
                "turn",
                lambda turn, saved: stream_of(node.input, saved, context.turn(turn)),
                lambda turn, empty: not empty if node.count is None else turn + 1 < node.count,
                state,
            )
        case Concatenate():
            return TurnsStream(
                "part", lambda part, saved: read(node.inputs[part], saved), lambda part, _: part == 0, state
            )
        case Zip():
            states = state["inputs"] if state else [None] * len(node.inputs)
            return ZipStream(node, [read(child, saved) for child, saved in zip(node.inputs, states, strict=True)])
        case Shuffle():
            return ShuffleStream(node, shuffle_key(node, context), read(node.input), state)
        case Cache():
            return CacheStream(
                node,
                lambda epoch: stream_of(node.input, None, dataclasses.replace(context, epoch=epoch)),
                state,
                context,
            )
        case FlatMap():
            return InterleaveStream(node, lambda saved: read(node.input, saved), _opener(node, context), state)
        case Prefetch() | WithOptions():
            return read(node.input, state)
        case _:
            raise InternalError(f"no reference is known for {type(node).__name__}")


def _opener(node: FlatMap, context: Context) -> Open:
    def open_plan(element: Element, number: int, saved: State | None) -> Stream:
        plan, inside = inner_plan(node, element, number, context)
        return stream_of(plan, saved, inside)

    return open_plan
