"""How operations make all elements of a small plan at once: a case for each, which gives what its stage would.

Where a failure lies among the elements, or an operation has more to it than one block shows, its stage does it, over what was made.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np

from headrace.blocks.block import Block, BlockOrFailure, Failure
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import CountedCursor, Cursor, IndexCursor, OffsetCursor, State
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import GroupedOrigin, IndexOrigin, Indices
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.elements.ownership import FIXED, read_only
from headrace.elements.structure import LEAF, Element, TreeDef, flatten, may_refuse
from headrace.frozen import frozen
from headrace.physical.at_once import MOST_ELEMENTS, Making, SmallPlans, TakesLong, as_stage, makes_at_once
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.alone import filtered_alone, mapped_alone
from headrace.physical.loops.whole import filter_whole, map_whole
from headrace.physical.made import MOST_BYTES, Pieces
from headrace.physical.stages.combining import ZipCursor, ZipStage
from headrace.physical.stages.elementwise import EnumerateStage
from headrace.physical.stages.grouping_batches import BatchStage, CombinedBatchStage, owned_batch, stacked_batches
from headrace.physical.stages.sequencing import SkippedCursor, SkipStage, TakeStage
from headrace.physical.stages.windowing import WindowOrigin
from headrace.plan.combining import Zip
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.plan.sequencing import Repeat, Skip, Take
from headrace.plan.sources import FromTensors, FromTensorSlices, Range
from headrace.plan.vectorized import Vectorized
from headrace.plan.windowing import WindowContents
from headrace.semantics.grouping import padded_batch, ragged_batch
from headrace.semantics.sources import ArraysSource, RangeSource
from headrace.semantics.window_contents import WindowBlock

# SmallPlans knows the cases that stand here, so it is imported from here.
__all__ = ["RepeatedCursor", "SmallPlans", "side_by_side"]

N = TypeVar("N", Map, Filter)

_START: Final = IndexCursor(0)
_INT64: Final = np.dtype(np.int64)
_INDICES: Final = np.arange(MOST_ELEMENTS, dtype=np.int64)
_INDICES.flags.writeable = False
_PAIR: Final = flatten((0, 0))[1]


@makes_at_once(Range)
def _range(node: Range, _: Making, room: int) -> Pieces | None:
    count = room + 1 if node.stop is None else len(range(node.start, node.stop, node.step))
    if not 0 < count <= room:
        return [] if count == 0 else None
    payload: Payload
    if node.dtype is _INT64:
        steps = _INDICES[:count] if node.step == 1 else _INDICES[:count] * node.step
        payload = Columns(LEAF, [steps + node.start])
    else:
        payload = RangeSource(node.start, node.stop, node.step, node.dtype).columns(range(count))
    return [Block(payload, _START, IndexOrigin(range(count)))]


@makes_at_once(FromTensorSlices)
def _slices(node: FromTensorSlices, _: Making, room: int) -> Pieces | None:
    count = len(node.columns[0])
    if not 0 < count <= room:
        return [] if count == 0 else None
    if any(column.dtype.hasobject for column in node.columns):
        source = ArraysSource(node.treedef, node.columns)
        payload: Payload = source.columns(range(count)) if source.is_columnar else Indexed(source, range(count))
    else:
        payload = Columns(node.treedef, node.columns)  # which nobody can write to
    return [Block(payload, _START, IndexOrigin(range(count)))]


@makes_at_once(FromTensors)
def _one(node: FromTensors, _: Making, room: int) -> Pieces | None:
    return [Block(Rows([read_only(node.element)]), _START, IndexOrigin(range(1)))] if room else None


@makes_at_once(WindowContents)
def _held(node: WindowContents, _: Making, room: int) -> Pieces | None:
    held = node.elements
    count = len(held)
    if not 0 < count <= room:
        return [] if count == 0 else None
    payload = held.payload if isinstance(held, WindowBlock) else Rows(list(held.rows()))
    return [Block(handed_out(payload), _START, WindowOrigin(held, range(count)))]


@makes_at_once(Map)
def _map(node: Map, making: Making, room: int) -> Pieces | None:
    if node.on_error != "raise" or node.timeout_s is not None:
        return None
    pieces = making.to_call_on(node.input, room)
    return None if pieces is None else _called_on(node, pieces, _map_block, making)


@makes_at_once(Filter)
def _filter(node: Filter, making: Making, room: int) -> Pieces | None:
    pieces = making.to_call_on(node.input, room)
    return None if pieces is None else _called_on(node, pieces, _filter_block, making)


def _map_block(node: Map, block: Block, patience: Patience) -> tuple[list[BlockOrFailure], int]:
    """Maps a block: returns blocks, and a failure for each element on which the function failed; and of how many elements."""
    if isinstance(node.function, Vectorized):
        return map_whole(node, block), len(block)
    return mapped_alone(node, block, patience)


def _filter_block(node: Filter, block: Block, patience: Patience) -> tuple[list[BlockOrFailure], int]:
    """Filters a block: returns blocks, and a failure for each element on which the predicate failed; and of how many elements."""
    if isinstance(node.predicate, Vectorized):
        return filter_whole(node, block), len(block)
    return filtered_alone(node, block, patience)


def _called_on(
    node: N, pieces: Pieces, call: Callable[[N, Block, Patience], tuple[Pieces, int]], making: Making
) -> Pieces:
    """Returns what becomes of pieces when a function is called on their elements."""
    if len(pieces) == 1 and type(pieces[0]) is Block:
        made, done = call(node, pieces[0], making.patience)
        if done == len(pieces[0].payload):
            return made
        raise TakesLong(node, made, [pieces[0].slice(done, len(pieces[0]))])
    made = []
    left: Pieces = pieces[::-1]  # the next one is last
    while left:
        piece = left.pop()
        if isinstance(piece, Failure):
            made.append(piece)
            continue
        some, done = call(node, piece, making.patience)
        made += some
        if done < len(piece):
            raise TakesLong(node, made, [piece.slice(done, len(piece)), *left[::-1]])
    return made


@makes_at_once(Enumerate)
def _enumerate(node: Enumerate, making: Making, room: int) -> Pieces | None:
    pieces = making.of(node.input, room)
    if not pieces:
        return pieces
    block = _only_block(pieces)
    if block is None:
        return as_stage([pieces], lambda inputs, meter: EnumerateStage(node, inputs[0], meter, None))
    numbers = RangeSource(node.start, None, 1, _INT64).columns(range(len(block)))
    payload = side_by_side(_PAIR, [numbers, block.payload])
    return [Block(payload, CountedCursor("index", 0, block.cursor), block.origin)]


@makes_at_once(Take)
def _take(node: Take, making: Making, room: int) -> Pieces | None:
    pieces = making.unread(node.input, room)
    if not pieces or node.count < 0:
        return pieces
    block = _only_block(pieces)
    if block is None:
        return as_stage([pieces], lambda inputs, meter: TakeStage(node.count, inputs[0], meter, None))
    if node.count == 0:
        return []
    taken = block.slice(0, node.count)
    return [Block(taken.payload, CountedCursor("taken", 0, block.cursor), taken.origin)]


@makes_at_once(Skip)
def _skip(node: Skip, making: Making, room: int) -> Pieces | None:
    pieces = making.unread(node.input, room)
    if not pieces or node.count < 0:
        return None if pieces is None else []
    block = _only_block(pieces)
    if block is None:
        return as_stage([pieces], lambda inputs, meter: SkipStage(node.count, inputs[0], meter, None))
    if node.count >= len(block):
        return []
    left = block.slice(node.count, len(block))
    return [Block(left.payload, SkippedCursor(node.count, left.cursor), left.origin)]


@frozen
class RepeatedCursor:
    """So many elements after the first of turns of one length, which all begin at the same position."""

    turn: Cursor
    length: int
    count: int

    def advance(self, count: int) -> RepeatedCursor:
        return RepeatedCursor(self.turn, self.length, self.count + count)

    def state(self) -> State:
        turn = max(self.count - 1, 0) // self.length
        count = self.count - turn * self.length
        return {"turn": turn, "empty": not count, "input": self.turn.advance(count).state()}


@makes_at_once(Repeat)
def _repeat(node: Repeat, making: Making, room: int) -> Pieces | None:
    if node.count is None or node.count == 0:
        return None if node.count is None else []
    before = len(making.done)
    pieces = making.unread(node.input, room // node.count)  # its functions would be called in each turn
    if not pieces:
        return pieces
    block = _only_block(pieces)
    if block is None or (type(block.payload) is Rows and not FIXED.issuperset(block.payload.kinds)):
        return None  # each turn has elements of its own
    making.passed_again(before, node.count)
    length = len(block)
    turns: Indices = np.tile(_INDICES[:length], node.count)
    return [Block(block.payload.subset(turns), RepeatedCursor(block.cursor, length, 0), block.origin.subset(turns))]


@makes_at_once(Zip)
def _zip(node: Zip, making: Making, room: int) -> Pieces | None:
    inputs: list[Pieces] = []
    for dataset in node.datasets:
        pieces = making.unread(dataset, room)
        if pieces is None:
            return None
        inputs.append(pieces)
    if not all(inputs):
        return [] if _is_plain(inputs) else None
    blocks = [_only_block(pieces) for pieces in inputs]
    if not all(blocks):
        return as_stage(inputs, lambda stages, meter: ZipStage(node.treedef, stages, meter))
    count = min(map(len, blocks))  # type: ignore[arg-type]  # none is None
    cut = [block.slice(0, count) for block in blocks if block is not None]
    payload = side_by_side(node.treedef, [block.payload for block in cut])
    return [Block(payload, ZipCursor(tuple([block.cursor for block in cut])), cut[0].origin)]


@makes_at_once(Batch)
def _batch(node: Batch, making: Making, room: int) -> Pieces | None:
    pieces = making.of(node.input, MOST_ELEMENTS)
    if not pieces:
        return pieces
    block = _only_block(pieces)
    if block is None:
        return as_stage([pieces], lambda inputs, meter: BatchStage(node, inputs[0], meter))
    size, count = node.batch_size, len(block)
    if count > size and not making.has_called and block.payload.nbytes > MOST_BYTES:
        return None  # one batch after the other
    if count <= size:
        return [] if count < size and node.drop_remainder else _one_batch(node, block)
    rest = count % size
    if not rest:
        return stacked_batches(block, size, of=node)
    if node.drop_remainder:
        return stacked_batches(block.slice(0, count - rest), size, of=node)
    return _cut(block, size) or as_stage([pieces], lambda inputs, meter: BatchStage(node, inputs[0], meter))


@makes_at_once(PaddedBatch)
def _padded_batch(node: PaddedBatch, making: Making, _: int) -> Pieces | None:
    return _combined(node, functools.partial(padded_batch, node), making)


@makes_at_once(RaggedBatch)
def _ragged_batch(node: RaggedBatch, making: Making, _: int) -> Pieces | None:
    return _combined(node, functools.partial(ragged_batch, node), making)


def _combined(node: Batch, combine: Callable[[list[Element]], Element], making: Making) -> Pieces | None:
    pieces = making.of(node.input, MOST_ELEMENTS)
    if not pieces:
        return pieces
    count, is_large = sum(map(_length, pieces)), any(_nbytes(piece) > MOST_BYTES for piece in pieces)
    if count > node.batch_size and not making.has_called and is_large:
        return None  # one batch after the other
    return as_stage([pieces], lambda inputs, meter: CombinedBatchStage(node, combine, inputs[0], meter))


def _length(piece: BlockOrFailure) -> int:
    return len(piece) if isinstance(piece, Block) else 1


def _nbytes(piece: BlockOrFailure) -> int:
    return piece.payload.nbytes if isinstance(piece, Block) else 0


def _one_batch(node: Batch, block: Block) -> Pieces:
    """Returns all elements as one batch."""
    count = len(block)
    with contextlib.suppress(
        Exception
    ):  # an element's own methods may raise anything: below it fails in the batch's place
        columns = block.payload.columns()
        arrays = [owned_batch(array)[None] for array in columns.arrays] if columns.matrix is None else []
        if arrays and (columns.treedef is LEAF or not may_refuse(columns.treedef)):
            cursor = OffsetCursor(block.cursor, (0, count))
            return [Block(Columns(columns.treedef, arrays), cursor, GroupedOrigin(block.origin, ((0, count),)))]
    return stacked_batches(block, count, of=node)


def _cut(block: Block, size: int) -> Pieces | None:
    """Returns batches of which the last one is short, where the elements become one array; else None."""
    try:
        columns = block.payload.columns()
    except Exception:  # noqa: BLE001 - an element's own methods may raise anything; the stage finds out which of them
        return None
    if not columns.treedef.is_leaf():
        return None
    array = owned_batch(columns.arrays[0])
    bounds = [*range(0, len(array), size), len(array)]
    rows = Rows([array[start:stop] for start, stop in itertools.pairwise(bounds)])
    origin = GroupedOrigin(block.origin, tuple(itertools.pairwise(bounds)))
    return [Block(rows, OffsetCursor(block.cursor, bounds), origin)]


def _only_block(pieces: Pieces) -> Block | None:
    """Returns the block, where there is nothing else."""
    return pieces[0] if len(pieces) == 1 and type(pieces[0]) is Block else None


def _is_plain(inputs: list[Pieces]) -> bool:
    return all(type(piece) is Block for pieces in inputs for piece in pieces)


def side_by_side(treedef: TreeDef, parts: list[Payload]) -> Payload:
    """Returns payloads as the leaves of a structure: as columns, which can be joined to others, where each is one."""
    columns = [part for part in parts if type(part) is Columns and part.treedef.is_leaf()]
    if len(columns) < len(parts):
        return Zipped(treedef, parts)
    return Columns(treedef, [part.arrays[0] for part in columns], locked=[part.locked[0] for part in columns])
