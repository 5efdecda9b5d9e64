"""The access to operations that hold elements, to settings, and to what says how many elements there are."""

from __future__ import annotations

import bisect
import dataclasses
from itertools import accumulate

from headrace.backends.access.dispatch import Access, access_of, no_access
from headrace.backends.reference.stream import Given
from headrace.caching.store import CachedEpoch, Store
from headrace.ownership import read_only
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
        self.ends = list(accumulate(len(payload) for payload, _ in kept.pieces))
        self.length = self.ends[-1] if self.ends else 0

    def at(self, index: int) -> Given:
        file = self.kept.file
        if file is not None and index < len(file):
            (row,) = StoredSource(file).rows(range(index, index + 1))
            return row, file.origin(index)
        index -= len(file) if file is not None else 0
        piece = bisect.bisect_right(self.ends, index)
        payload, origin = self.kept.pieces[piece]
        inside = index - (self.ends[piece - 1] if piece else 0)
        (row,) = payload.subset(range(inside, inside + 1)).rows()
        return read_only(row), origin.describe(inside)


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
