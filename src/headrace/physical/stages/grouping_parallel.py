"""Batches that are stacked in workers, or by the thread that reads them while that is quicker."""

from __future__ import annotations

import functools
import time

from headrace.arguments import AUTOTUNE
from headrace.blocks.block import Block, Failure
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.learned_together import task_paces, tuned_calls
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.grouping_batches import BatchStage, stacked_batches
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.parallel_stage import ParallelStage
from headrace.physical.workers.tuned_calls import TunedCalls
from headrace.physical.workers.tuned_stage import TunedStage
from headrace.plan.grouping import Batch
from headrace.semantics.held_bytes import Holding

__all__ = ["parallel_batch"]


class ChunkStage(BatchStage):
    """The elements of whole batches, not stacked yet: a worker does that."""

    is_first_part = True

    def __init__(self, node: Batch, input_stage: Stage, meter: Meter, holding: Holding) -> None:
        super().__init__(node, input_stage, meter, holding=holding)
        self.granularity = node.batch_size

    def _pull(self, limit: int) -> Item:
        self.part_cpu_s = 0.0
        return super()._pull(max(1, limit // self._size))

    def _whole(self, blocks: list[Block], have: int) -> list[Block | Failure]:
        start_cpu_s = time.thread_time()
        chunks = super()._whole(blocks, have)  # joined, which of columns is all that there is to do
        self.part_cpu_s += time.thread_time() - start_cpu_s
        return chunks

    def _stacked(self, block: Block, size: int) -> list[Block | Failure]:
        return [block]


def stacked_chunk(node: Batch, block: Block) -> list[Block | Failure]:
    """Stacks a chunk into batches, in a worker; its length is that of whole batches, or it is the rest."""
    size = node.batch_size
    size = size if len(block) % size == 0 else len(block)
    return stacked_batches(block, size, of=node)


def parallel_batch(
    node: Batch, upstream: Stage, memory: BatchMemory, holding: Holding, *, gate: Gate, context: StageContext
) -> Stage:
    """Makes the stage of a batch that asked for workers, over what it reads."""
    beside = functools.partial(_stacked_in_workers, node, context=context, gate=gate, holding=holding)
    is_asked_for = node.num_parallel_calls != AUTOTUNE
    if is_asked_for and gate.calls == 1:
        return beside(upstream)
    meter = context.meter(node)
    tuner = tuned_calls(
        context, gate, meter, node.operations, elements_a_call=node.batch_size, is_asked_for=is_asked_for
    )
    return TunedStage(
        upstream,
        meter,
        here=lambda source: BatchStage(node, source, meter, memory, holding),
        beside=lambda source, _: beside(source, tuner=tuner),
        tuner=tuner,
        paces=task_paces(context, meter, node.operations),
        inputs_each=node.batch_size,
    )


def _stacked_in_workers(
    node: Batch,
    source: Stage,
    *,
    context: StageContext,
    gate: Gate,
    holding: Holding,
    tuner: TunedCalls | None = None,
) -> ParallelStage:
    meter = context.meter(node)
    # Batches keep their order whatever ``deterministic`` says: in another one the state would be larger, and nothing faster.
    return ParallelStage(
        functools.partial(stacked_chunk, node),
        ChunkStage(node, source, meter, holding),
        meter,
        gate=gate,
        ahead=context.ahead(node),
        paces=task_paces(context, meter, node.operations),
        tuner=tuner,
        owns_input=True,
    )
