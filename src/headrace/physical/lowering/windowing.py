"""The stages of operations that make datasets of runs and of groups of elements."""

from __future__ import annotations

from headrace.physical.context import Context
from headrace.physical.cursor import State
from headrace.physical.holding import HeldStage
from headrace.physical.lowering.dispatch import lower
from headrace.physical.stage import Stage
from headrace.physical.windowing import WindowStage
from headrace.plan.windowing import Held, Window

__all__: list[str] = []


@lower.register
def _held(node: Held, state: State | None, context: Context) -> Stage:
    return HeldStage(node.elements, context.meter(node), state["index"] if state else 0)


@lower.register
def _window(node: Window, state: State | None, context: Context) -> Stage:
    # What a window holds is read again.
    return WindowStage(node, lower(node.input, state, context.replaying()), context.meter(node))
