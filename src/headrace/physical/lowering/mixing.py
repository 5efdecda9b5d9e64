"""The stages of operations that choose which dataset, or which copy of it, the next element comes from."""

from __future__ import annotations

from headrace.blocks.cursor import State
from headrace.physical.draws import Key
from headrace.physical.lowering.dispatch import lower
from headrace.physical.mixing import DrawnChoices, MixStage, ReadChoices
from headrace.physical.resampling import ResampleStage
from headrace.physical.run_context import Context
from headrace.physical.stage import Stage
from headrace.plan.mixing import ChooseFromDatasets, Mixture, RejectionResample, SampleFromDatasets
from headrace.plan.node import nodes_of
from headrace.plan.sources import RandomSource

__all__ = ["readings", "sample_key", "selector_context"]


def sample_key(node: SampleFromDatasets, context: Context) -> Key:
    """The random numbers of the draws: the same in every epoch, unless it is asked for others."""
    context.expect_one_order(node)
    return context.key(node.randomness, each_epoch=node.rerandomize_each_iteration)


def selector_context(node: Mixture, context: Context) -> Context:
    """The context of the dataset that decides."""
    for drawing in nodes_of(node.inputs[-1]):
        if isinstance(drawing, RandomSource):  # elsewhere its numbers are elements, and each process may have its own
            context.expect_one_order(drawing)
    return context.among(node.inputs, len(node.datasets))


def readings(node: RejectionResample, context: Context) -> tuple[Context, Context]:
    """The contexts in which the input is read: as it comes, and judged.

    The input may be shuffled in one order and in the other. Elements are read again, so they must come in order.
    """
    context.expect_one_order(node)
    replayed = context.replaying()
    return replayed, replayed.among((node.input, node.input), 1)


@lower.register(SampleFromDatasets)
@lower.register(ChooseFromDatasets)
def _mixture(node: Mixture, state: State | None, context: Context) -> Stage:
    saved = state["inputs"] if state else [None] * len(node.datasets)
    inputs = [
        lower(child, place, context.among(node.inputs, part))
        for part, (child, place) in enumerate(zip(node.datasets, saved, strict=True))
    ]
    return MixStage(node, _selection(node, state, context), inputs, context.meter(node), state)


def _selection(node: Mixture, state: State | None, context: Context) -> DrawnChoices | ReadChoices:
    key = sample_key(node, context) if isinstance(node, SampleFromDatasets) else None
    if node.selector is None:
        assert isinstance(node, SampleFromDatasets)  # the other always has a dataset of choices
        assert key is not None
        return DrawnChoices(node, key, state)
    saved = state["selector"] if state else None
    return ReadChoices(node, key, lower(node.selector, saved, selector_context(node, context)), state)


@lower.register
def _resample(node: RejectionResample, state: State | None, context: Context) -> Stage:
    original, judged = readings(node, context)
    return ResampleStage(
        node,
        context.key(node.randomness),
        lower(node.input, state["original"] if state else None, original),
        lower(node.input, state["input"] if state else None, judged),
        context.meter(node),
        state,
    )
