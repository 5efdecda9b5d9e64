"""The stages of sources."""

from __future__ import annotations

from headrace.blocks.cursor import State, input_state
from headrace.physical.context import StageContext
from headrace.physical.indexed import IndexedStage
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.files import FilesStage
from headrace.physical.stages.skipping import BoundedForgivingStage
from headrace.physical.stages.sources import GeneratorStage
from headrace.plan.node import Node
from headrace.plan.sources import Files, FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.plan.storing import Stored
from headrace.semantics.sources import index_source

__all__: list[str] = []


@lower.register(FromTensors)
@lower.register(FromTensorSlices)
@lower.register(Range)
@lower.register(RandomSource)
@lower.register(Stored)
def _indexed(node: Node, state: State | None, context: StageContext) -> Stage:
    source, length = index_source(node, context)
    return IndexedStage(source, length, context.meter(node), state)


@lower.register
def _generator(node: FromGenerator, state: State | None, context: StageContext) -> Stage:
    return GeneratorStage(node, context.meter(node), state)


@lower.register
def _files(node: Files, state: State | None, context: StageContext) -> Stage:
    if not node.skips:
        return FilesStage(node, context.meter(node), state)
    files = FilesStage(node, context.meter(node), input_state(state))
    return BoundedForgivingStage(
        files, context.meter(node), state, is_forgiven=lambda _: True, most=context.max_failures
    )
