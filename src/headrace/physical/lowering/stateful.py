"""The stages of operations that go through elements with something in mind."""

from __future__ import annotations

from headrace.blocks.cursor import State
from headrace.physical.forgiving import ForgivingStage
from headrace.physical.lowering.dispatch import input_state, lower
from headrace.physical.recalling import UNIQUE_REMEDY, RecallingStage
from headrace.physical.run_context import Context
from headrace.physical.sequential import SequentialStage
from headrace.physical.stage import Stage
from headrace.physical.stepping import AssertSteps, ScanSteps, TakeWhileSteps
from headrace.plan.stateful import AssertCardinality, IgnoreErrors, Scan, TakeWhile, Unique

__all__: list[str] = []


@lower.register
def _take_while(node: TakeWhile, state: State | None, context: Context) -> Stage:
    steps = TakeWhileSteps(node, state)
    above = lower(node.input, input_state(state), context)
    return SequentialStage(steps, node.label, above, context.meter(node), ended=steps.ended)


@lower.register
def _scan(node: Scan, state: State | None, context: Context) -> Stage:
    above = lower(node.input, input_state(state), context)
    return SequentialStage(ScanSteps(node, state), node.label, above, context.meter(node))


@lower.register
def _assert_cardinality(node: AssertCardinality, state: State | None, context: Context) -> Stage:
    above = lower(node.input, input_state(state), context)
    return SequentialStage(AssertSteps(node, state), node.label, above, context.meter(node))


@lower.register
def _ignore_errors(node: IgnoreErrors, state: State | None, context: Context) -> Stage:
    return ForgivingStage(lower(node.input, state, context), context.meter(node), log=node.log_warning)


@lower.register
def _unique(node: Unique, state: State | None, context: Context) -> Stage:
    # What was seen is read again from the beginning, so it must come in the same order.
    above = lower(node.input, input_state(state), context.replaying())
    holding = context.holding(node, UNIQUE_REMEDY)
    return RecallingStage(node.label, above, context.meter(node), state, holding=holding)
