"""The stages of operations that go through elements with something in mind."""

from __future__ import annotations

from headrace.blocks.cursor import State, input_state
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.skipping import ForgivingStage
from headrace.physical.stages.stateful import SequentialStage
from headrace.physical.stages.stateful_unique import RecallingStage
from headrace.plan.stateful import AssertCardinality, IgnoreErrors, Scan, TakeWhile, Unique
from headrace.semantics.stateful import UNIQUE_REMEDY, AssertSteps, ScanSteps, TakeWhileSteps

__all__: list[str] = []


@lower.register
def _take_while(node: TakeWhile, state: State | None, context: StageContext) -> Stage:
    steps = TakeWhileSteps(node, state)
    above = lower(node.input, input_state(state), context)
    return SequentialStage(steps, node.label, above, context.meter(node), ended=steps.ended)


@lower.register
def _scan(node: Scan, state: State | None, context: StageContext) -> Stage:
    above = lower(node.input, input_state(state), context)
    return SequentialStage(ScanSteps(node, state), node.label, above, context.meter(node))


@lower.register
def _assert_cardinality(node: AssertCardinality, state: State | None, context: StageContext) -> Stage:
    above = lower(node.input, input_state(state), context)
    return SequentialStage(AssertSteps(node, state), node.label, above, context.meter(node))


@lower.register
def _ignore_errors(node: IgnoreErrors, state: State | None, context: StageContext) -> Stage:
    return ForgivingStage(lower(node.input, state, context), context.meter(node), log=node.log_warning)


@lower.register
def _unique(node: Unique, state: State | None, context: StageContext) -> Stage:
    # What was seen is read again from the beginning, so it must come in the same order.
    above = lower(node.input, input_state(state), context.replaying())
    holding = context.holding(node, UNIQUE_REMEDY)
    return RecallingStage(node.label, above, context.meter(node), state, holding=holding)
