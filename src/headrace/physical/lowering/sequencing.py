"""The stages of operations that choose elements, or put them in another order."""

from __future__ import annotations

from headrace.blocks.cursor import State, input_state
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.sequencing import ConcatenateStage, RepeatStage, ShardStage, SkipStage, TakeStage
from headrace.physical.stages.shuffling import ShuffleStage
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Shuffle, Skip, Take
from headrace.semantics.shuffling import SHUFFLE_REMEDY, shuffle_key

__all__: list[str] = []


@lower.register
def _take(node: Take, state: State | None, context: StageContext) -> Stage:
    if node.count < 0:
        return lower(node.input, state, context)
    return TakeStage(node.count, lower(node.input, input_state(state), context), context.meter(node), state)


def _nothing(node: Take | Skip | Repeat, context: StageContext) -> Stage:
    """No element at all; what would be read is not."""
    return TakeStage(0, lower(node.input, None, context), context.meter(node), None)


@lower.register
def _skip(node: Skip, state: State | None, context: StageContext) -> Stage:
    if node.count < 0:
        return _nothing(node, context)
    return SkipStage(node.count, lower(node.input, input_state(state), context), context.meter(node), state)


@lower.register
def _shard(node: Shard, state: State | None, context: StageContext) -> Stage:
    above = lower(node.input, input_state(state), context.above_shard(node))
    return ShardStage(node, above, context.meter(node), state)


@lower.register
def _concatenate(node: Concatenate, state: State | None, context: StageContext) -> Stage:
    return ConcatenateStage(
        lambda part, saved: lower(node.inputs[part], saved, context.among(node.inputs, part)),
        context.meter(node),
        state,
    )


@lower.register
def _repeat(node: Repeat, state: State | None, context: StageContext) -> Stage:
    if node.count == 0:
        return _nothing(node, context)
    return RepeatStage(
        node.count,
        lambda turn, saved: lower(node.input, saved, context.turn(turn)),
        context.meter(node),
        state,
    )


@lower.register
def _shuffle(node: Shuffle, state: State | None, context: StageContext) -> Stage:
    above = lower(node.input, input_state(state), context.replaying())
    holding = context.holding(node, SHUFFLE_REMEDY)
    return ShuffleStage(node, shuffle_key(node, context), above, context.meter(node), state, holding=holding)
