"""The stage of elements that were saved."""

from __future__ import annotations

from headrace.blocks.cursor import State
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.sources import IndexedStage
from headrace.plan.storing import Stored
from headrace.semantics.sources import index_source

__all__: list[str] = []


@lower.register
def _stored(node: Stored, state: State | None, context: StageContext) -> Stage:
    source, length = index_source(node, context)
    return IndexedStage(source, length, context.meter(node), state)
