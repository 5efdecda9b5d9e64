"""The stages of sources."""

from __future__ import annotations

from typing import Any

from headrace.blocks.cursor import State
from headrace.errors import InternalError
from headrace.physical.forgiving import BoundedForgivingStage
from headrace.physical.generator_runs import GeneratorStage
from headrace.physical.index_sources import ArraysSource, IndexedStage, OneSource, RandomNumbers, RangeSource
from headrace.physical.lowering.dispatch import input_state, lower
from headrace.physical.record_files import FilesStage
from headrace.physical.run_context import Context
from headrace.physical.stage import Stage
from headrace.physical.stored import StoredSource
from headrace.plan.node import Node
from headrace.plan.sources import Files, FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range
from headrace.plan.storing import Stored

__all__ = ["index_source"]


@lower.register(FromTensors)
@lower.register(FromTensorSlices)
@lower.register(Range)
@lower.register(RandomSource)
@lower.register(Stored)
def _indexed(node: Node, state: State | None, context: Context) -> Stage:
    source, length = index_source(node, context)
    return IndexedStage(source, length, context.meter(node), state)


@lower.register
def _generator(node: FromGenerator, state: State | None, context: Context) -> Stage:
    return GeneratorStage(node, context.meter(node), state)


@lower.register
def _files(node: Files, state: State | None, context: Context) -> Stage:
    if not node.skips:
        return FilesStage(node, context.meter(node), state)
    files = FilesStage(node, context.meter(node), input_state(state))
    return BoundedForgivingStage(
        files, context.meter(node), state, is_forgiven=lambda _: True, most=context.max_failures
    )


def index_source(node: Node, context: Context) -> tuple[Any, int | None]:
    """The indexed source of a node that has one, and its length, None if it never ends."""
    match node:
        case FromTensors():
            return OneSource(node.element), 1
        case FromTensorSlices():
            return ArraysSource(node.treedef, node.columns), len(node.columns[0])
        case Range():
            return RangeSource(node.start, node.stop, node.step, node.dtype), (
                None if node.stop is None else node.cardinality()
            )
        case RandomSource():
            key = context.key(node.randomness, each_epoch=node.rerandomize_each_iteration)
            return RandomNumbers(key), None
        case Stored():
            return StoredSource(node.file), len(node.file)
    raise InternalError(f"{type(node).__name__} is not read by index")
