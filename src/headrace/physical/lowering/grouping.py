"""The stages of operations that put elements together, or take them apart."""

from __future__ import annotations

import functools

from headrace.blocks.cursor import State, input_state
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.grouping import BatchStage, ChunkStage, CombinedBatchStage, UnbatchStage, stacked_chunk
from headrace.physical.stages.grouping_rebatch import CyclingBatchStage
from headrace.physical.workers.parallel_stage import ParallelMapStage
from headrace.plan.grouping import Batch, CyclingBatch, PaddedBatch, RaggedBatch, Unbatch
from headrace.semantics.grouping import padded_batch, ragged_batch

__all__: list[str] = []


@lower.register
def _batch(node: Batch, state: State | None, context: StageContext) -> Stage:
    above = lower(node.input, state, context)
    meter = context.meter(node)
    gate = context.gate(node)
    if gate is None:
        return BatchStage(node, above, meter)
    # Batches keep their order whatever ``deterministic`` says: in another one the state would be larger, and nothing faster.
    return ParallelMapStage(
        functools.partial(stacked_chunk, node),
        ChunkStage(node, above, meter),
        meter,
        gate=gate,
        ordered=True,
        number=0,
        budget=context.budget,
    )


@lower.register
def _padded_batch(node: PaddedBatch, state: State | None, context: StageContext) -> Stage:
    combine = functools.partial(padded_batch, node)
    return CombinedBatchStage(node, combine, lower(node.input, state, context), context.meter(node))


@lower.register
def _ragged_batch(node: RaggedBatch, state: State | None, context: StageContext) -> Stage:
    combine = functools.partial(ragged_batch, node)
    return CombinedBatchStage(node, combine, lower(node.input, state, context), context.meter(node))


@lower.register
def _rebatch(node: CyclingBatch, state: State | None, context: StageContext) -> Stage:
    return CyclingBatchStage(node, lower(node.input, input_state(state), context), context.meter(node), state)


@lower.register
def _unbatch(node: Unbatch, state: State | None, context: StageContext) -> Stage:
    # An element of which some slices were given is read again.
    above = lower(node.input, input_state(state), context.replaying())
    return UnbatchStage(node.label, above, context.meter(node), state)
