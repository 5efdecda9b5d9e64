"""The stages of operations that choose which dataset, or which copy of it, the next element comes from."""

from __future__ import annotations

from headrace.blocks.cursor import State
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.mixing import DrawnChoices, MixStage, ReadChoices
from headrace.physical.stages.mixing_resample import ResampleStage
from headrace.plan.mixing import ChooseFromDatasets, Mixture, RejectionResample, SampleFromDatasets
from headrace.semantics.mixing import readings, sample_key, selector_context

__all__: list[str] = []


@lower.register(SampleFromDatasets)
@lower.register(ChooseFromDatasets)
def _mixture(node: Mixture, state: State | None, context: StageContext) -> Stage:
    saved = state["inputs"] if state else [None] * len(node.datasets)
    inputs = [
        lower(child, place, context.among(node.inputs, part))
        for part, (child, place) in enumerate(zip(node.datasets, saved, strict=True))
    ]
    return MixStage(node, _selection(node, state, context), inputs, context.meter(node), state)


def _selection(node: Mixture, state: State | None, context: StageContext) -> DrawnChoices | ReadChoices:
    key = sample_key(node, context) if isinstance(node, SampleFromDatasets) else None
    if node.selector is None:
        assert isinstance(node, SampleFromDatasets)  # the other always has a dataset of choices
        assert key is not None
        return DrawnChoices(node, key, state)
    saved = state["selector"] if state else None
    return ReadChoices(node, key, lower(node.selector, saved, selector_context(node, context)), state)


@lower.register
def _resample(node: RejectionResample, state: State | None, context: StageContext) -> Stage:
    original, judged = readings(node, context.replaying())  # elements are read again, so they must come in order
    return ResampleStage(
        node,
        context.key(node.randomness),
        lower(node.input, state["original"] if state else None, original),
        lower(node.input, state["input"] if state else None, judged),
        context.meter(node),
        state,
    )
