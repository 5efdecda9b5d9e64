"""The stages of operations that put elements together, or take them apart."""

from __future__ import annotations

from headrace.physical.batching import BatchStage, UnbatchStage
from headrace.physical.context import Context
from headrace.physical.cursor import State
from headrace.physical.lowering.dispatch import input_state, lower
from headrace.physical.stage import Stage
from headrace.plan.grouping import Batch, Unbatch

__all__: list[str] = []


@lower.register
def _batch(node: Batch, state: State | None, context: Context) -> Stage:
    return BatchStage(node, lower(node.input, state, context), context.meter(node))


@lower.register
def _unbatch(node: Unbatch, state: State | None, context: Context) -> Stage:
    # An element of which some slices were given is read again.
    above = lower(node.input, input_state(state), context.replaying())
    return UnbatchStage(node.label, above, context.meter(node), state)
