"""The stages of operations that make one dataset of several."""

from __future__ import annotations

from headrace.blocks.cursor import State
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.combining import ZipStage
from headrace.plan.combining import Zip

__all__: list[str] = []


@lower.register
def _zip(node: Zip, state: State | None, context: StageContext) -> Stage:
    # A turn for each, as in tf.data: the same shuffle twice in a plan gives two orders.
    parts = zip(node.inputs, state["inputs"] if state else [None] * len(node.inputs), strict=True)
    inputs = [lower(child, saved, context.among(node.inputs, part)) for part, (child, saved) in enumerate(parts)]
    return ZipStage(node.treedef, inputs, context.meter(node), ended=bool(state and state.get("ended")))
