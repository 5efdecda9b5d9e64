"""The access to operations that hold elements, to settings, and to what says how many elements there are."""

from __future__ import annotations

import dataclasses

from headrace.backends.access.dispatch import Access, access_of, no_access
from headrace.backends.reference.stream import Given
from headrace.caching.store import CachedEpoch, Store
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.stateful import AssertCardinality
from headrace.semantics.run_context import RunContext
from headrace.semantics.storing import StoredSource

__all__: list[str] = []


class CacheAccess:
    """What is kept of an epoch, once one was whole; what would be cached until then. It fills no cache itself."""

    def __init__(self, store: Store, read: Access) -> None:
        self.store = store
        self.input = read
        self.length = read.length
        self.kept: KeptAccess | None = None

    def at(self, index: int) -> Given:
        if self.kept is None and (kept := self.store.cached) is not None:
            self.kept = KeptAccess(kept)
        return (self.kept or self.input).at(index)


class KeptAccess:
    """The elements of an epoch that is kept."""

    def __init__(self, kept: CachedEpoch) -> None:
        self.kept = kept
        self.length = len(kept.source if kept.file is None else kept.file)

    def at(self, index: int) -> Given:
        kept, place = self.kept, range(index, index + 1)
        if kept.file is not None:
            (row,) = StoredSource(kept.file).rows(place)
            return row, kept.file.origin(index)
        assert kept.origin is not None  # it is of some element
        (row,) = kept.source.rows(place)
        return row, kept.origin.describe(index)


@access_of.register
def _cache(node: Cache, context: RunContext) -> Access:
    return CacheAccess(node.store, access_of(node.input, dataclasses.replace(context, epoch=context.iterator_epoch)))


@access_of.register(Prefetch)
@access_of.register(WithOptions)
def _transparent(node: Prefetch | WithOptions, context: RunContext) -> Access:
    return access_of(node.input, context)


@access_of.register
def _assert_cardinality(node: AssertCardinality, context: RunContext) -> Access:
    read = access_of(node.input, context)
    length = float("inf") if read.length is None else read.length
    if node.wanted not in (None, length):
        raise no_access(node, f"the dataset was expected to have {node.wanted} elements, and has {length}")
    return read
