"""The stage of sample_from_datasets and choose_from_datasets: many choices at once, then one gather.

A pull makes or reads the choices of a whole block, asks each dataset for as many elements as it was chosen, and puts
them in the order of the choices. Where a dataset has fewer, or a failure, the block ends before that choice, and what
the others gave beyond it waits for the next pull. So all that a state needs is the position in each dataset, the number
of draws, and which datasets have ended.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.gathered import GatheredPayload
from headrace.blocks.joining import join
from headrace.blocks.origin import JoinedOrigin, Origin
from headrace.blocks.payload import Payload, Rows
from headrace.errors import HeadraceError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lookahead import StageLookahead
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.mixing import ChooseFromDatasets, Mixture, SampleFromDatasets
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding
from headrace.semantics.mixing import (
    IDLE_LIMIT,
    NO_CHOICE,
    choice_of,
    idle_error,
    sample_key,
    selector_context,
    uniforms,
    weights_of,
)
from headrace.semantics.random_streams import Key

__all__ = ["DrawnChoices", "MixStage", "ReadChoices"]


def choices(drawn: np.ndarray, weights: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """Returns the dataset that each uniform number chooses (int64), or NO_CHOICE.

    Args:
        drawn: float64, (n,).
        weights: float64, (datasets,), or (n, datasets) where each draw has its own.
        is_open: bool, (datasets,): those that have not ended.
    """
    bounds = np.cumsum(np.where(is_open, weights, 0.0), axis=-1)
    totals = bounds[..., -1]
    places = drawn * totals
    if bounds.ndim == 1:
        chosen = np.searchsorted(bounds, places, side="right")
    else:
        chosen = (bounds <= places[:, None]).sum(axis=1)
    # Rounding may carry a number up to the total itself: the last dataset with a weight has it.
    last = np.argmax(bounds == totals[..., None], axis=-1)
    return np.where(totals > 0, np.minimum(chosen, last), NO_CHOICE).astype(np.int64)


class DrawnChoices:
    """Choices that are drawn with constant weights."""

    # Making a generator costs as much as some thousand numbers.
    AT_ONCE = 1024

    def __init__(self, node: SampleFromDatasets, key: Key, state: State | None) -> None:
        self.draws: int = state["draws"] if state else 0
        self.stage: Stage | None = None
        self._key = key
        self._weights = np.array(node.weights, dtype=np.float64)
        self._start = self.draws
        self._uniforms = np.empty(0)

    def peek(self, limit: int, is_open: np.ndarray) -> np.ndarray | Failure | None:
        """Returns the next choices, at most ``limit``."""
        offset = self.draws - self._start
        if offset + limit > len(self._uniforms):
            self._start, offset = self.draws, 0
            self._uniforms = uniforms(self._key, self.draws, max(limit, self.AT_ONCE))
        return choices(self._uniforms[offset : offset + limit], self._weights, is_open)

    def drop(self, count: int) -> None:
        """Goes on after that many choices."""
        self.draws += count

    @property
    def cursor(self) -> Cursor | None:
        """The position in the dataset that decides: there is none."""
        return None


class ReadChoices:
    """Choices, or the weights of each draw, that are read from a dataset."""

    def __init__(self, node: Mixture, key: Key | None, stage: Stage, state: State | None) -> None:
        self.draws: int = state["draws"] if state else 0
        self.stage = stage
        self._label = node.label
        self._count = len(node.datasets)
        self._key = key
        self._ahead = StageLookahead(stage)

    def peek(self, limit: int, is_open: np.ndarray) -> np.ndarray | Failure | None:
        """Returns the next choices, at most ``limit``; a failure in place of an invalid one; None at the end."""
        if not self._ahead.fill(limit):
            if self._ahead.head is None:
                return None
            self.draws += 1
            return self._ahead.drop_failure()
        block = self._ahead.first(limit)
        made, error = self._named(block) if self._key is None else self._drawn(self._key, block, is_open)
        if len(made) or error is None:
            return made
        self.drop(1)
        placed = as_element_error(error, stage=self._label, origin=block.origin.describe(0))
        return Failure(placed, block.cursor, block.cursor.advance(1))

    def _named(self, block: Block) -> tuple[np.ndarray, Exception | None]:
        """Returns the choices of a block up to the first invalid one, and its error."""
        rows = block.payload.rows()
        if set(map(type, rows)) == {int} and min(rows) >= 0 and max(rows) < self._count:
            return np.fromiter(rows, dtype=np.int64, count=len(rows)), None
        made: list[Any] = []
        error: Exception | None = None
        try:
            for element in rows:
                made.append(choice_of(element, self._count))  # noqa: PERF401 - those before a wrong one count
        except Exception as wrong:  # noqa: BLE001 - an element's own methods may raise anything
            error = wrong
        return np.array(made, dtype=np.int64), error

    def _drawn(self, key: Key, block: Block, is_open: np.ndarray) -> tuple[np.ndarray, Exception | None]:
        """Draws a choice for each element of weights in a block, up to the first invalid one, and its error."""
        made: list[Any] = []
        error: Exception | None = None
        try:
            for element in block.payload.rows():
                made.append(weights_of(element, self._count, stage=self._label))  # noqa: PERF401 - as above
        except Exception as wrong:  # noqa: BLE001 - an element's own methods may raise anything
            error = wrong
        drawn = uniforms(key, self.draws, len(made))
        return choices(drawn, np.array(made).reshape(-1, self._count), is_open), error

    def drop(self, count: int) -> None:
        """Goes on after that many choices."""
        self.draws += count
        self._ahead.take(count)

    @property
    def cursor(self) -> Cursor | None:
        """The position of the next choice."""
        return self._ahead.cursor


@frozen
class _MixCursor:
    """A position within a block: how many draws and how many elements of each dataset lie before it."""

    draws: int
    selector: Cursor | None
    inputs: tuple[Cursor, ...]
    ended: tuple[int, ...]
    sources: np.ndarray  # of each element of the block
    drawn: np.ndarray  # how many draws were made up to and with each element
    count: int = 0

    def advance(self, count: int) -> _MixCursor:
        return dataclasses.replace(self, count=self.count + count) if count else self

    def state(self) -> State:
        taken = np.bincount(self.sources[: self.count], minlength=len(self.inputs)).tolist()
        # A batch of fewer elements than its size counts as a whole one, so the end is clamped, not passed.
        draws = int(self.drawn[min(self.count, len(self.drawn)) - 1]) if self.count and len(self.drawn) else 0
        state: State = {
            "draws": self.draws + draws,
            "ended": list(self.ended),
            "inputs": [position.advance(count).state() for position, count in zip(self.inputs, taken, strict=True)],
        }
        return state if self.selector is None else {**state, "selector": self.selector.advance(draws).state()}


_NONE = np.empty(0, dtype=np.int64)
# Choices that are looked through together where they give nothing: one by one, each costs a block.
_LOOKED_AT_ONCE = 4096


class MixStage(Stage):
    """Elements of several datasets, each from the one that was chosen for it."""

    def __init__(
        self,
        node: Mixture,
        selection: DrawnChoices | ReadChoices,
        inputs: Sequence[Stage],
        meter: Meter,
        state: State | None,
        holding: Holding,
    ) -> None:
        self._label = node.label
        self._holding = holding
        self._stops = node.stop_on_empty_dataset
        self._selection = selection
        self._ahead = [StageLookahead(stage, self._weak_read(), holding) for stage in inputs]
        self._is_open = np.ones(len(inputs), dtype=bool)
        self._is_open[state["ended"] if state else []] = False
        self._idle = 0
        self._stopped = False
        super().__init__(meter, (*inputs, *([selection.stage] if selection.stage else ())), self._here())
        meter.draws_from(node.source_names)

    def _here(self, sources: np.ndarray = _NONE, drawn: np.ndarray = _NONE) -> _MixCursor:
        ended = tuple(np.flatnonzero(~self._is_open).tolist())
        positions = tuple(ahead.cursor for ahead in self._ahead)
        return _MixCursor(self._selection.draws, self._selection.cursor, positions, ended, sources, drawn)

    def stop(self) -> None:
        self._stopped = True
        super().stop()

    def close(self) -> None:
        self._holding.release()
        super().close()

    def _pull(self, limit: int) -> Item:
        looked = limit
        while not (self._stopped or self._is_over()):
            here = self._here()
            chosen = self._peek(looked)
            if chosen is None:
                return None
            if isinstance(chosen, Failure):
                return self._failed(chosen.error, here)
            indices = np.flatnonzero(self._may_give(chosen))[:limit]
            idle = int(indices[0]) if len(indices) else len(chosen)
            if self._idle + idle >= IDLE_LIMIT:
                self._selection.drop(IDLE_LIMIT - self._idle)
                return self._failed(idle_error(self._label), here)
            if not len(indices):
                self._skip(idle)
                looked = min(2 * looked, max(limit, _LOOKED_AT_ONCE))
            elif (item := self._gather(chosen, indices)) is not None:
                return item
        return None

    def _peek(self, limit: int) -> np.ndarray | Failure | None:
        """Returns the next choices; the time that reading them took is not this stage's own."""
        start = time.perf_counter()
        chosen = self._selection.peek(limit, self._is_open)
        if self._selection.stage is not None:
            self._inside_s += time.perf_counter() - start
        return chosen

    def _is_over(self) -> bool:
        return not self._is_open.any() or (self._stops and not self._is_open.all())

    def _may_give(self, chosen: np.ndarray) -> np.ndarray:
        """Returns which choices name a dataset that has not ended."""
        given: np.ndarray = (chosen >= 0) & self._is_open[chosen]
        return given

    def _failed(self, error: HeadraceError, before: _MixCursor) -> Failure:
        self._idle = 0
        return Failure(error, before, self._here())

    def _skip(self, count: int) -> None:
        self._idle += count
        self._selection.drop(count)

    def _gather(self, chosen: np.ndarray, indices: np.ndarray) -> Item:
        """Gathers the elements that were chosen, up to the first that its dataset has not."""
        sources = chosen[indices]
        order = np.argsort(sources, kind="stable")
        wanted = np.bincount(sources, minlength=len(self._ahead))
        starts = np.cumsum(wanted) - wanted
        cut = len(sources)
        for source in np.flatnonzero(wanted).tolist():
            available = self._ahead[source].fill(int(wanted[source]))
            if available < wanted[source]:
                cut = min(cut, int(order[starts[source] + available]))
        if cut == 0:
            return self._without(int(sources[0]), int(indices[0]))
        return self._block(sources[:cut], order[order < cut], indices[:cut] + 1)

    def _without(self, source: int, index: int) -> Item:
        """Handles a choice whose dataset has no element: returns its failure, or None and closes the dataset."""
        ahead = self._ahead[source]
        if ahead.head is None:
            self._skip(index + 1)
            self._is_open[source] = False
            return None
        before = self._here()
        failure = ahead.drop_failure()
        self._selection.drop(index + 1)
        return self._failed(failure.error, before)

    def _block(self, sources: np.ndarray, order: np.ndarray, drawn: np.ndarray) -> Block:
        cursor = self._here(sources, drawn)
        given = np.bincount(sources, minlength=len(self._ahead))
        parts = [self._ahead[source].take(count) for source, count in enumerate(given.tolist()) if count]
        self._selection.drop(int(drawn[-1]))
        self._idle = 0
        self.meter.drew(given.tolist())
        if len(parts) == 1:
            return Block(parts[0].payload, cursor, parts[0].origin)
        return Block(*self._mixed(parts, order, cursor))

    def _mixed(self, parts: list[Block], order: np.ndarray, cursor: Cursor) -> tuple[Payload, Cursor, Origin]:
        """Puts the elements of the parts where they were chosen: ``order`` lists, part by part, the choice of each."""
        lengths = [len(part) for part in parts]
        where = np.empty(len(order), dtype=np.int64)
        where[order] = np.arange(len(order))
        origin = JoinedOrigin.of(lengths, [part.origin for part in parts]).subset(where)
        payloads = [part.payload for part in parts]
        if all(isinstance(payload, Rows) for payload in payloads):
            return join(payloads).subset(where), cursor, origin
        owners = np.repeat(np.arange(len(parts)), lengths)[where]
        return GatheredPayload(payloads, owners, where - (np.cumsum(lengths) - lengths)[owners]), cursor, origin


@lower.register(SampleFromDatasets)
@lower.register(ChooseFromDatasets)
def _mixture(node: Mixture, state: State | None, context: StageContext) -> Stage:
    saved = state["inputs"] if state else [None] * len(node.datasets)
    inputs = [
        lower(child, position, context.for_input(node.inputs, part))
        for part, (child, position) in enumerate(zip(node.datasets, saved, strict=True))
    ]
    selection, holding = _selection(node, state, context), context.gathering(node, "")
    return MixStage(node, selection, inputs, context.meter(node), state, holding)


def _selection(node: Mixture, state: State | None, context: StageContext) -> DrawnChoices | ReadChoices:
    key = sample_key(node, context) if isinstance(node, SampleFromDatasets) else None
    if node.selector is None:
        assert isinstance(node, SampleFromDatasets)  # the other always has a dataset of choices
        assert key is not None
        return DrawnChoices(node, key, state)
    saved = state["selector"] if state else None
    return ReadChoices(node, key, lower(node.selector, saved, selector_context(node, context)), state)
