"""The stages of operations that hold elements, and settings."""

from __future__ import annotations

from headrace.arguments import AUTOTUNE
from headrace.blocks.cursor import State
from headrace.caching.kept import Filled
from headrace.caching.memory import MemoryCache
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.buffering import CacheStage
from headrace.physical.workers.prefetch import PrefetchStage
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.semantics.buffering import CACHE_REMEDY

__all__: list[str] = []


@lower.register
def _cache(node: Cache, state: State | None, context: StageContext) -> Stage:
    def build(filled: Filled) -> Stage:
        return lower(node.input, None, context.filling(node, filled))

    return CacheStage(
        node.store,
        build,
        context.meter(node),
        state,
        pin=context.pin(node, state),
        whole_at=node.whole_at(),
        holding=context.holding(node, CACHE_REMEDY),
        in_memory=isinstance(node.store, MemoryCache),
    )


@lower.register
def _prefetch(node: Prefetch, state: State | None, context: StageContext) -> Stage:
    above = lower(node.input, state, context)
    if context.gates is None or node.buffer_size == 0:
        return above
    size = None if node.buffer_size == AUTOTUNE else node.buffer_size
    return PrefetchStage(above, context.meter(node), buffer_size=size, budget=context.budget)


@lower.register
def _with_options(node: WithOptions, state: State | None, context: StageContext) -> Stage:
    return lower(node.input, state, context)
