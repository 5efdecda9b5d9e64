"""How a prefetch becomes a stage, and options none."""

from __future__ import annotations

import functools
from typing import Any

from headrace.arguments import AUTOTUNE
from headrace.blocks.cursor import State
from headrace.physical.context import StageContext
from headrace.physical.lasting_paces import begun_like_latest
from headrace.physical.lower import lower
from headrace.physical.pace import Pace
from headrace.physical.stage import Stage
from headrace.physical.workers.depth_tuner import depth_of
from headrace.physical.workers.overlap_tuner import OverlapTuner, overlap_of
from headrace.physical.workers.prefetch import PrefetchStage
from headrace.plan.buffering import Prefetch, WithOptions


@lower.register
def _prefetch(node: Prefetch, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, state, context)
    if context.gates is None or node.buffer_size == 0:
        return upstream
    size = None if node.buffer_size == AUTOTUNE else node.buffer_size
    return PrefetchStage(
        upstream,
        context.meter(node),
        buffer_size=size,
        ahead=context.ahead(node),
        pace=functools.partial(_pace, context, node.operations),
        tuner=_tuner(node, context),
        depth=(context.policy.depth or depth_of)(node.operations),
        clock=context.policy.clock,
        decisions=context.decisions,
    )


def _pace(context: StageContext, operations: tuple[object, ...], **bounds: Any) -> Pace:
    return begun_like_latest(context.policy.pace(**bounds), context.policy, operations, Prefetch)


def _tuner(node: Prefetch, context: StageContext) -> OverlapTuner:
    policy = context.policy
    if policy.overlap is not None:
        return policy.overlap(node.operations)
    return overlap_of(node.operations, is_pulled_on=policy.shared is not None)


@lower.register
def _with_options(node: WithOptions, state: State | None, context: StageContext) -> Stage:
    return lower(node.input, state, context)
