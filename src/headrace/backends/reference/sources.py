"""The reference of sources."""

from __future__ import annotations

import numpy as np

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream
from headrace.blocks.cursor import State
from headrace.plan.node import Node
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.semantics.failures import as_element_error
from headrace.semantics.generator_runs import GeneratorRun
from headrace.semantics.run_context import RunContext
from headrace.semantics.sources import fewer_elements, index_source

__all__: list[str] = []


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
    """What a user's generator yields."""

    def __init__(self, node: FromGenerator, state: State | None) -> None:
        self.node = node
        self.run = GeneratorRun(node, state)

    def next(self) -> Given:
        try:
            element = self.run.next()
        except StopIteration:
            raise
        except Exception as error:  # noqa: BLE001 - a user's generator may raise anything
            origin = f"element {self.run.index - 1}"
            placed = as_element_error(error, stage=self.node.label, origin=origin)
            raise placed from placed.__cause__
        return element, f"element {self.run.index - 1}"

    def state(self) -> State:
        return self.run.state()

    def close(self) -> None:
        self.run.close()


@stream_of.register(FromTensors)
@stream_of.register(FromTensorSlices)
@stream_of.register(Range)
@stream_of.register(RandomSource)
def _indexed(node: Node, state: State | None, context: RunContext) -> Stream:
    return IndexedStream(node, state, context)


@stream_of.register
def _generator(node: FromGenerator, state: State | None, context: RunContext) -> Stream:
    return GeneratorStream(node, state)
