"""The stage of queries."""

from __future__ import annotations

from headrace.blocks.cursor import State
from headrace.physical.lowering.dispatch import lower
from headrace.physical.querying import QueryStage
from headrace.physical.run_context import Context
from headrace.physical.stage import Stage
from headrace.plan.querying import QueryRows

__all__: list[str] = []


@lower.register
def _query(node: QueryRows, state: State | None, context: Context) -> Stage:
    return QueryStage(node, context.meter(node), state)
