"""How operations that stack elements along a new axis become stages."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.blocks.cursor import State
from headrace.elements.structure import Element
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.grouping_batches import BatchStage, CombinedBatchStage
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.semantics.grouping import BATCH_REMEDY, padded_batch, ragged_batch


@lower.register
def _batch(node: Batch, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, state, context)
    upstream.is_stacked = True
    memory = BatchMemory(node.batch_size, context.budget.share_bytes, shared=context.policy.shared)
    holding = context.gathering(node, BATCH_REMEDY)
    gate = context.gate(node)
    if gate is None:
        return BatchStage(node, upstream, context.meter(node), memory, holding)
    from headrace.physical.stages.grouping_parallel import parallel_batch  # what plans without workers do not need

    return parallel_batch(node, upstream, memory, holding, gate=gate, context=context)


@lower.register
def _padded_batch(node: PaddedBatch, state: State | None, context: StageContext) -> Stage:
    from headrace.physical.stages.grouping_runs import padded_together  # what other batches do not need

    combine, together = functools.partial(padded_batch, node), functools.partial(padded_together, node)
    return _combined(node, combine, state, context, together)


@lower.register
def _ragged_batch(node: RaggedBatch, state: State | None, context: StageContext) -> Stage:
    from headrace.physical.stages.grouping_runs import ragged_together  # as above

    combine, together = functools.partial(ragged_batch, node), functools.partial(ragged_together, node)
    return _combined(node, combine, state, context, together)


def _combined(
    node: Batch,
    combine: Callable[[list[Element]], Element],
    state: State | None,
    context: StageContext,
    together: Callable[[list[Element], int], list[Element] | None],
) -> Stage:
    upstream = lower(node.input, state, context)
    holding = context.gathering(node, BATCH_REMEDY)
    return CombinedBatchStage(node, combine, upstream, context.meter(node), holding, together)
