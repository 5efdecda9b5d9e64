"""The access to batches."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.backends.access.dispatch import Access, access_of, no_access
from headrace.backends.reference.stream import Given, called
from headrace.blocks.origin import grouped
from headrace.blocks.payload import Rows
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.plan.dealing_batch import DistributedBatch
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.semantics.grouping import padded_batch, ragged_batch, stacked
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


class BatchAccess:
    """Runs of elements made one; a failure takes its whole batch with it."""

    def __init__(self, node: Batch, combine: Callable[[list[Element]], Element], read: Access) -> None:
        self.node = node
        self.combine = combine
        self.input = read
        size = node.batch_size
        if read.length is None:
            self.length = None
        else:
            self.length = read.length // size if node.drop_remainder else -(-read.length // size)

    def at(self, index: int) -> Given:
        start = index * self.node.batch_size
        stop = start + self.node.batch_size
        given, failure = [], None
        for inside in range(start, stop if self.input.length is None else min(stop, self.input.length)):
            try:
                given.append(self.input.at(inside))
            except HeadraceError as error:
                failure = error if failure is None else failure
        if failure is not None:
            raise failure
        elements = [element for element, _ in given]
        origin = grouped(given[0][1], given[-1][1], len(given))
        return called(self.node.label, origin, lambda: self.combine(elements)), origin


@access_of.register
def _batch(node: Batch, context: RunContext) -> Access:
    return BatchAccess(node, lambda rows: stacked(Rows(rows)), access_of(node.input, context))


@access_of.register
def _padded_batch(node: PaddedBatch, context: RunContext) -> Access:
    return BatchAccess(node, functools.partial(padded_batch, node), access_of(node.input, context))


@access_of.register
def _ragged_batch(node: RaggedBatch, context: RunContext) -> Access:
    return BatchAccess(node, functools.partial(ragged_batch, node), access_of(node.input, context))


@access_of.register
def _distributed_batch(node: DistributedBatch, context: RunContext) -> Access:
    raise no_access(
        node,
        "each rank has its own part of a global batch. Look elements up before it, or batch them instead; give a DataLoader what "
        "to_torch() returns",
    )
