"""Stages that call a user's function on each element, in the thread of their driver: map and filter; and enumerate, which counts.

The functions that apply a user's function to a block are pure: the block in, the pieces out, in order. So the
parallel map does in a worker exactly what the serial one does in its driver.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from headrace.arguments import AUTOTUNE
from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.cursor import CountedCursor, OffsetCursor, State, input_state
from headrace.blocks.handing_out import protected
from headrace.blocks.origin import GroupedOrigin
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.errors import InvalidArgumentError
from headrace.observe.frames import Locals, counts, holds, since
from headrace.observe.meter import Meter
from headrace.ownership import FIXED, owned
from headrace.physical.context import StageContext
from headrace.physical.lower import is_ordered, lower
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.skipping import BoundedSkipFailuresStage
from headrace.physical.workers.batch_memory import BatchMemory
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.parallel_stage import ParallelStage, UndeliveredStage
from headrace.plan.elementwise import Enumerate, Filter, Map, MapChain, RandomMap
from headrace.plan.node import Node
from headrace.plan.vectorized import Vectorized
from headrace.semantics.calls import call_on, call_whole, is_true, packed
from headrace.semantics.elementwise import drawing_map, undelivered
from headrace.semantics.failures import as_element_error
from headrace.semantics.sources import RangeSource
from headrace.structure import Element, flatten, normalize_rows

__all__ = ["EnumerateStage", "PiecewiseStage", "apply_maps", "filter_block", "map_block"]


@counts("results")
@since("_since_s")
def call_each(
    function: Callable[..., Any], rows: list[Element], has_tuples: bool | None
) -> tuple[list[Any], set[type], Exception | None]:
    """Calls the function on each row up to the first failure; returns the results, their types, and the failure.

    What the function may still hold is copied before it is called again.
    """
    _since_s = time.perf_counter()  # for the report of what is held up
    results: list[Any] = []
    kinds: set[type] = set()
    fixed: type | None = None  # the type of the last result that nobody can change: the next is mostly of it, too
    # Loops, and not map() and starmap(): those take a StopIteration of the function for the end of the rows, and lose it.
    try:  # what was appended before a failure stays, so it says which call failed
        if has_tuples:
            for row in rows:
                result = function(*row)
                if type(result) is not fixed:
                    kinds.add(kind := type(result))
                    if kind in FIXED:
                        fixed = kind
                    else:
                        result = owned(result, row, lists=1)
                results.append(result)
            return results, kinds, None
        if has_tuples is None:
            function = functools.partial(call_on, function)
        for row in rows:
            result = function(row)
            if type(result) is not fixed:
                kinds.add(kind := type(result))
                if kind in FIXED:
                    fixed = kind
                else:
                    result = owned(result, row, lists=1)
            results.append(result)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return results, kinds, error
    return results, kinds, None


def packed_rows(results: list[Any], kinds: AbstractSet[type]) -> tuple[Rows, Exception | None]:
    """Makes elements of the results, which have these types, up to the first that cannot be one; returns its error too."""
    if list not in kinds:
        with contextlib.suppress(Exception):  # a class of the user's may raise anything; found one by one below
            rows = normalize_rows(results, kinds)
            return Rows(rows, kinds if rows is results else None), None
    elements: list[Element] = []
    try:
        for result in results:
            elements.append(packed(result))  # noqa: PERF401 - what was packed before a failure stays
    except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything
        return Rows(elements), error
    return Rows(elements), None


def _at_element(at: Locals, done: int) -> tuple[str, str]:
    """Returns the operation and the element at which a loop over a block is."""
    return at["node"].label, at["block"].origin.describe(at["start"] + done)


def _at_block(at: Locals, _: int) -> tuple[str, str]:
    block = at["block"]
    return at["node"].label, GroupedOrigin(block.origin, ((0, len(block)),)).describe(0)


@holds(_at_element)
def map_block(node: Map, block: Block) -> list[BlockOrFailure]:
    """Maps a block: returns blocks, and a failure for each element on which the function failed."""
    if isinstance(node.function, Vectorized):
        return _map_whole(node, node.function, block)
    rows = block.payload.rows()
    pieces: list[BlockOrFailure] = []
    start = 0
    while start < len(rows):
        results, kinds, error = call_each(node.function, rows[start:] if start else rows, block.payload.has_tuples)
        made, unpackable = packed_rows(results, kinds)
        error = error if unpackable is None else unpackable
        if len(made):
            part = range(start, start + len(made))
            pieces.append(Block(made, block.cursor.advance(start), block.origin.subset(part)))
        start += len(made)
        if error is not None:
            pieces.append(_instead(node, error, block, start))
            start += 1
    return pieces


@holds(_at_block)
def _map_whole(node: Map, function: Vectorized, block: Block) -> list[BlockOrFailure]:
    """Maps a block with one call; if that fails, with a call for each element, to find those on which it fails."""
    try:
        return [Block(call_whole(function, block.payload), block.cursor, block.origin)]
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        if len(block) == 1:
            return [_instead(node, error, block, 0)]
    parts = (block.slice(index, index + 1) for index in range(len(block)))
    return [piece for part in parts for piece in _map_whole(node, function, part)]


def _judge(predicate: Callable[..., Any], payload: Payload, start: int) -> tuple[list[Any], Exception | None]:
    """Returns the predicate's answers to the elements from ``start`` on, up to the first on which it fails, and that error."""
    payload = protected(payload)  # what the predicate does to an element, nobody after it sees
    rows = payload.rows()
    if not isinstance(predicate, Vectorized):
        judged, _, error = call_each(predicate, rows[start:] if start else rows, payload.has_tuples)
        return judged, error
    rest = payload.subset(range(start, len(rows))) if start else payload
    try:
        return _answers(predicate, rest), None
    except Exception:  # noqa: BLE001 - a user's function may raise anything; found one by one below
        answers: list[Any] = []
    try:
        for index in range(len(rest)):
            answers += _answers(predicate, rest.subset(range(index, index + 1)))
    except Exception as error:  # noqa: BLE001 - as above
        return answers, error
    return answers, None


def _answers(predicate: Vectorized, payload: Payload) -> list[Any]:
    return list(call_whole(predicate, payload).rows())


@holds(lambda at, _: (at["node"].label, at["block"].origin.describe(at["index"])))
def _instead(node: Map, error: Exception, block: Block, index: int) -> BlockOrFailure:
    """Returns what takes the place of an element on which a map failed: its failure, or what ``on_error`` makes of that."""
    failure = _failure(error, node, block, index)
    if not callable(node.on_error):
        return failure
    try:
        instead = node.on_error(failure.error)
        instead = owned(instead)
        rows = Rows([packed(instead)])
    except Exception as another:  # noqa: BLE001 - a user's function may raise anything
        return _failure(another, node, block, index)
    one = range(index, index + 1)
    return Block(rows, failure.cursor, block.origin.subset(one))


def _failure(error: Exception, node: Map | Filter, block: Block, index: int) -> Failure:
    placed = as_element_error(error, stage=node.label, origin=block.origin.describe(index))
    return Failure(placed, block.cursor.advance(index), block.cursor.advance(index + 1), node)


def apply_maps(maps: tuple[Map, ...], block: Block) -> list[BlockOrFailure]:
    """Applies several maps in a row to a block."""
    pieces: list[BlockOrFailure] = [block]
    for node in maps:
        pieces = [
            made for piece in pieces for made in (map_block(node, piece) if isinstance(piece, Block) else [piece])
        ]
    return pieces


def _truths(answers: list[Any]) -> tuple[np.ndarray, Exception | None]:
    """Returns the truth of each answer, up to the first that is no bool, and that error."""
    if set(map(type, answers)) <= {bool, np.bool_}:
        return np.fromiter(answers, dtype=bool, count=len(answers)), None
    truths: list[bool] = []
    try:
        truths.extend(map(is_true, answers))
    except InvalidArgumentError as error:
        return np.array(truths, dtype=bool), error
    return np.array(truths, dtype=bool), None


@holds(_at_element)
def filter_block(node: Filter, block: Block) -> list[BlockOrFailure]:
    """Filters a block: returns blocks, and a failure for each element on which the predicate failed."""
    rows = block.payload.rows()
    pieces: list[BlockOrFailure] = []
    start = 0
    while start < len(rows):
        answers, error = _judge(node.predicate, block.payload, start)
        truths, unclear = _truths(answers)
        error = error if unclear is None else unclear
        judged = len(truths)
        kept = (np.flatnonzero(truths) + start).tolist()
        end = start + judged
        if kept:
            # After the last one kept lies what was judged: it need not be judged again.
            cursor = OffsetCursor(block.cursor, [*kept, end])
            indices = np.array(kept, dtype=np.int64)
            pieces.append(Block(block.payload.subset(indices), cursor, block.origin.subset(indices)))
        if error is not None:
            pieces.append(_failure(error, node, block, end))
        start = end + (error is not None)
    return pieces


class PiecewiseStage(Stage):
    """A stage that makes some pieces of each block that it reads, in the thread of its driver."""

    def __init__(self, make: Callable[[Block], list[BlockOrFailure]], input_stage: Stage, meter: Meter) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._make = make
        self._ready: list[BlockOrFailure] = []  # reversed: the next one is last

    def _pull(self, limit: int) -> Item:
        while not self._ready:
            item = self._read(self.inputs[0], limit)
            if not isinstance(item, Block):
                return item
            self._ready = self._make(item)[::-1]
        piece = self._ready.pop()
        if isinstance(piece, Block) and len(piece) > limit:
            self._ready.append(piece.slice(limit, len(piece)))
            return piece.slice(0, limit)
        return piece


class EnumerateStage(Stage):
    """Each element with its index."""

    def __init__(self, node: Enumerate, input_stage: Stage, meter: Meter, state: State | None) -> None:
        self._index: int = state["index"] if state else 0
        super().__init__(meter, (input_stage,), CountedCursor("index", self._index, input_stage.cursor))
        self._numbers = RangeSource(node.start, None, 1, np.dtype(np.int64))
        self._treedef = flatten((0, 0))[1]
        self.by_index = input_stage.by_index

    def _pull(self, limit: int) -> Item:
        item = self._read(self.inputs[0], limit)
        if item is None:
            return None
        cursor = CountedCursor("index", self._index, item.cursor)
        first = self._index
        if isinstance(item, Failure):
            self._index += 1
            return Failure(item.error, cursor, CountedCursor("index", self._index, item.after))
        self._index += len(item)
        numbers = Indexed(self._numbers, range(first, self._index))
        return Block(Zipped(self._treedef, (numbers, item.payload)), cursor, item.origin)


@lower.register
def _filter(node: Filter, state: State | None, context: StageContext) -> Stage:
    upstream = lower(node.input, state, context)
    return PiecewiseStage(functools.partial(filter_block, node), upstream, context.meter(node))


@lower.register
def _enumerate(node: Enumerate, state: State | None, context: StageContext) -> Stage:
    return EnumerateStage(node, lower(node.input, input_state(state), context), context.meter(node), state)


@lower.register(Map)
@lower.register(MapChain)
def _map(node: Map | MapChain, state: State | None, context: StageContext) -> Stage:
    """Makes the stages of a map; it has a state of its own only after unordered delivery, or where it skips failures."""
    if isinstance(node, MapChain):
        return _map_stage(node, node.maps, node.input, state, context)
    if not node.skips:
        return _map_stage(node, (node,), node.input, state, context)
    made = _map_stage(node, (node,), node.input, input_state(state), context)
    return BoundedSkipFailuresStage(
        made,
        context.meter(node),
        state,
        is_skipped=lambda failure: failure.by is node,
        most=context.max_failures,
    )


@lower.register
def _random_map(node: RandomMap, state: State | None, context: StageContext) -> Stage:
    numbered = Enumerate(input=node.input)
    return _map_stage(node, (drawing_map(node, numbered, context),), numbered, state, context)


def _map_stage(
    node: Map | MapChain | RandomMap, maps: tuple[Map, ...], source: Node, state: State | None, context: StageContext
) -> Stage:
    meter = context.meter(node)
    gate = context.gate(node)
    ordered = gate is None or is_ordered(node.deterministic, context)
    map_index = context.downstream_maps + len(maps) - 1
    delivered, saved = undelivered(state, range(context.downstream_maps, map_index + 1))
    inside = context.upstream_of_maps(len(maps))
    # What is missing is known by its index, so what comes in must come in the same order again.
    upstream = lower(source, saved, inside if ordered else inside.replaying())
    if delivered:
        upstream = UndeliveredStage(upstream, meter, delivered, map_index)
    if gate is None:
        for link in maps:
            upstream = PiecewiseStage(functools.partial(map_block, link), upstream, meter)
        return upstream
    return ParallelStage(
        functools.partial(apply_maps, maps),
        upstream,
        meter,
        gate=gate,
        ordered=ordered,
        map_index=map_index,
        budget=context.budget,
        pace=context.policy.pace,
        ready_order=context.policy.ready_order,
        memory=BatchMemory(node.stacked, context.budget.share_bytes) if ordered and node.stacked else None,
        tuned=ConcurrencyTuner(gate.calls, maps[0].function) if node.num_parallel_calls == AUTOTUNE else None,
    )
