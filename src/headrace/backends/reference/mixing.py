"""The reference of operations that choose which dataset, or which copy of it, the next element comes from.

How a draw becomes a choice, and how likely an element is accepted, are written here once more, for one draw at a time; the
draws themselves and the shape of a saved state are shared with the stages.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from headrace.backends.reference.dispatch import stream_of
from headrace.backends.reference.stream import Given, Stream, called
from headrace.blocks.cursor import State
from headrace.coordination.closing import close_all
from headrace.elements.ownership import read_only
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.observe.meter import Meter
from headrace.plan.mixing import ChooseFromDatasets, Mixture, RejectionResample, SampleFromDatasets
from headrace.semantics.calls import call_on
from headrace.semantics.mixing import (
    CLASSES_AT_ONCE,
    IDLE_LIMIT,
    NO_CHOICE,
    SMOOTHING,
    TINY,
    choice_of,
    class_of,
    idle_error,
    readings,
    resample_keys,
    sample_key,
    selector_context,
    uniforms,
    weights_of,
)
from headrace.semantics.random_streams import Key
from headrace.semantics.run_context import RunContext

__all__: list[str] = []


def uniform(key: Key, draw: int) -> float:
    """Returns the number from 0 to below 1 that is drawn for one choice."""
    return float(uniforms(key, draw, 1)[0])


class MixStream:
    """Each element from the dataset that was chosen for it; a failure takes the choice's place."""

    def __init__(
        self,
        node: Mixture,
        key: Key | None,
        inputs: list[Stream],
        selector: Stream | None,
        meter: Meter,
        state: State | None,
    ) -> None:
        self.node = node
        self.key = key
        self.inputs = inputs
        self.selector = selector
        self.meter = meter
        self.draws = state["draws"] if state else 0
        self.is_open = np.ones(len(inputs), dtype=bool)
        self.is_open[state["ended"] if state else []] = False
        meter.draws_from(node.source_names)

    def next(self) -> Given:
        idle = 0
        while self.is_open.any() and (self.is_open.all() or not self.node.stop_on_empty_dataset):
            chosen = self.choice()
            if chosen != NO_CHOICE and self.is_open[chosen]:
                try:
                    given = self.inputs[chosen].next()
                except StopIteration:
                    self.is_open[chosen] = False
                else:
                    self.meter.drew([int(chosen == source) for source in range(len(self.inputs))])
                    return given
            idle += 1
            if idle == IDLE_LIMIT:
                raise idle_error(self.node.label)
        raise StopIteration

    def choice(self) -> int:
        """Makes the next draw: a dataset, or NO_CHOICE."""
        if self.selector is None:
            assert isinstance(self.node, SampleFromDatasets)
            weights: Sequence[float] = self.node.weights
        else:
            try:
                element, origin = self.selector.next()
            except HeadraceError:
                self.draws += 1
                raise
            if self.key is None:
                self.draws += 1
                named: int = called(self.node.label, origin, lambda: choice_of(element, len(self.inputs)))
                return named
            weights = self.weights(element, origin)
        self.draws += 1
        assert self.key is not None  # only who draws has weights
        return self.drawn(uniform(self.key, self.draws - 1), weights)

    def drawn(self, uniform: float, weights: Sequence[float]) -> int:
        """Returns the open dataset in whose part of the weights the number lies, if they stand end to end from 0 to 1."""
        ends = list(
            itertools.accumulate(weight * is_open for weight, is_open in zip(weights, self.is_open, strict=True))
        )
        if not ends[-1]:
            return NO_CHOICE
        inside = (source for source, end in enumerate(ends) if uniform * ends[-1] < end)
        return next(inside, ends.index(ends[-1]))  # rounding may carry the number up to the last end itself

    def weights(self, element: Element, origin: str) -> Sequence[float]:
        """Returns the weights of one draw."""
        label, count = self.node.label, len(self.inputs)
        try:
            weights: Sequence[float] = called(label, origin, lambda: weights_of(element, count, stage=label).tolist())
        except HeadraceError:
            self.draws += 1
            raise
        return weights

    def state(self) -> State:
        state = {
            "draws": self.draws,
            "ended": np.flatnonzero(~self.is_open).tolist(),
            "inputs": [stream.state() for stream in self.inputs],
        }
        return state if self.selector is None else {**state, "selector": self.selector.state()}

    def close(self) -> None:
        selector = [] if self.selector is None else [self.selector.close]
        close_all([*(stream.close for stream in self.inputs), *selector])


@stream_of.register(SampleFromDatasets)
@stream_of.register(ChooseFromDatasets)
def _mixture(node: Mixture, state: State | None, context: RunContext) -> Stream:
    saved = state["inputs"] if state else [None] * len(node.datasets)
    inputs = [
        stream_of(child, position, context.for_input(node.inputs, part))
        for part, (child, position) in enumerate(zip(node.datasets, saved, strict=True))
    ]
    selector = None
    if node.selector is not None:
        selector = stream_of(node.selector, state and state["selector"], selector_context(node, context))
    key = sample_key(node, context) if isinstance(node, SampleFromDatasets) else None
    return MixStream(node, key, inputs, selector, context.meter(node), state)


class ResampleStream:
    """A draw takes an element as it comes, or the next one of a second reading that is accepted."""

    def __init__(
        self, node: RejectionResample, key: Key, original: Stream, judged: Stream, state: State | None
    ) -> None:
        self.node = node
        self.choosing, self.judging = resample_keys(key)
        self.original = original
        self.second = judged
        self.draws = state["draws"] if state else 0
        self.judged = state["judged"] if state else 0
        self.counts = list(state["counts"]) if state else [SMOOTHING] * len(node.target_dist)
        self.offset = state["offset"] if state else 0
        self.ended = state["ended"] if state else False
        self.group: list[tuple[int, Given] | HeadraceError] | None = None
        self.group_position = judged.state()
        self.seen = self.counts

    def next(self) -> Given:
        if self.ended:
            raise StopIteration
        if self.group is None or self.offset == len(self.group):
            self.read_group()
        lowest = min(self.wanted())
        self.draws += 1
        try:
            if uniform(self.choosing, self.draws - 1) < lowest or self.is_as_wanted():
                class_index, (element, origin) = self.classed(self.original)
            else:
                class_index, (element, origin) = self.accepted()
        except StopIteration:
            self.ended = True
            raise
        return (class_index, element), origin

    def wanted(self) -> list[float]:
        """Returns how often each class is wanted for each time that it comes."""
        given = self.node.initial_dist or [count / sum(self.seen) for count in self.seen]
        return [target / (share + TINY) for target, share in zip(self.node.target_dist, given, strict=True)]

    def is_as_wanted(self) -> bool:
        """Returns whether the input has the target's proportions already: then every element is taken as it comes."""
        return len(set(self.wanted())) == 1

    def acceptance(self, class_index: int) -> float:
        """Returns how likely a judged element of the class is accepted: never if it is wanted least, always if it is wanted most."""
        lowest, highest = min(self.wanted()), max(self.wanted())
        return (self.wanted()[class_index] - lowest) / (highest - lowest)

    def classed(self, stream: Stream) -> tuple[int, Given]:
        """Returns the next element and its class."""
        element, origin = stream.next()
        classify = functools.partial(self.classify, element)
        return called(self.node.label, origin, classify), (element, origin)

    def classify(self, element: Element) -> int:
        return class_of(call_on(self.node.class_func, read_only(element)), len(self.node.target_dist))

    def accepted(self) -> tuple[int, Given]:
        """Returns the next judged element that is not rejected."""
        while self.group:
            item = self.group[self.offset]
            self.offset += 1
            self.judged += 1
            if isinstance(item, HeadraceError):
                raise item
            if uniform(self.judging, self.judged - 1) < self.acceptance(item[0]):
                return item
            if self.offset == len(self.group):
                self.read_group()
        raise StopIteration

    def read_group(self) -> None:
        """Reads as many elements as one estimate of the proportions is used for; one if they are given."""
        if self.group is not None:
            self.counts, self.offset = self.seen, 0
        self.group, self.group_position = [], self.second.state()
        while len(self.group) < (CLASSES_AT_ONCE if self.node.initial_dist is None else 1):
            try:
                self.group.append(self.classed(self.second))
            except StopIteration:
                break
            except HeadraceError as error:
                self.group.append(error)
        self.seen = list(self.counts)
        for item in self.group:
            if self.node.initial_dist is None and not isinstance(item, HeadraceError):
                self.seen[item[0]] += 1

    def state(self) -> State:
        offset, position, counts = self.offset, self.group_position, self.counts
        if self.group is not None and offset == len(self.group):
            offset, position, counts = 0, self.second.state(), self.seen
        return {
            "draws": self.draws,
            "original": self.original.state(),
            "judged": self.judged,
            "counts": list(counts),
            "input": position,
            "offset": offset,
            "ended": self.ended,
        }

    def close(self) -> None:
        close_all([self.original.close, self.second.close])


@stream_of.register
def _resample(node: RejectionResample, state: State | None, context: RunContext) -> Stream:
    original, judged = readings(node, context)
    return ResampleStream(
        node,
        context.key(node),
        stream_of(node.input, state["original"] if state else None, original),
        stream_of(node.input, state["input"] if state else None, judged),
        state,
    )
