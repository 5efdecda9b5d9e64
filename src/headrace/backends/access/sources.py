"""The access to sources that read by index."""

from __future__ import annotations

import numpy as np

from headrace.backends.access.dispatch import Access, access_of, no_access
from headrace.backends.reference.stream import Given
from headrace.plan.files import Files
from headrace.plan.node import Node
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.plan.storing import Stored
from headrace.plan.windowing import WindowContents
from headrace.semantics.run_context import RunContext
from headrace.semantics.sources import index_source

__all__: list[str] = []


class IndexedAccess:
    """The elements of an indexed source."""

    def __init__(self, node: Node, context: RunContext) -> None:
        self.source, self.length = index_source(node, context)

    def at(self, index: int) -> Given:
        (row,) = self.source.rows(np.array([index]))
        return row, f"element {index}"


class WindowContentsAccess:
    """The elements of a window."""

    def __init__(self, node: WindowContents) -> None:
        self.elements = node.elements
        self.length = len(node.elements)

    def at(self, index: int) -> Given:
        return self.elements.rows()[index], self.elements.origin(index)


@access_of.register(FromTensors)
@access_of.register(FromTensorSlices)
@access_of.register(Range)
@access_of.register(RandomSource)
@access_of.register(Stored)
def _indexed(node: Node, context: RunContext) -> Access:
    return IndexedAccess(node, context)


@access_of.register
def _held(node: WindowContents, context: RunContext) -> Access:
    return WindowContentsAccess(node)


@access_of.register
def _files(node: Files, context: RunContext) -> Access:
    raise no_access(node, "its records are read in order. Formats with random_access=True read them by index")


@access_of.register
def _generator(node: FromGenerator, context: RunContext) -> Access:
    raise no_access(node, "a generator gives elements in order. Dataset.source takes objects that give them by index")
