"""The stage of queries."""

from __future__ import annotations

from headrace.blocks.cursor import State
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.querying import QueryStage
from headrace.plan.querying import QueryRows

__all__: list[str] = []


@lower.register
def _query(node: QueryRows, state: State | None, context: StageContext) -> Stage:
    return QueryStage(node, context.meter(node), state)
