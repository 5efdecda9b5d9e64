"""How batches make all elements of a small plan at once.

Where a failure lies among the elements, or they become no array, the stage does it, over what was made.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import OffsetCursor
from headrace.blocks.origin import GroupedOrigin
from headrace.blocks.payload import Rows
from headrace.elements.structure import LEAF, Element, may_refuse
from headrace.physical.at_once import MOST_ELEMENTS, Making, makes_at_once, only_block
from headrace.physical.given import as_stage
from headrace.physical.made import MOST_BYTES, Pieces
from headrace.physical.stages.grouping_batches import BatchStage, CombinedBatchStage, owned_batch, stacked_batches
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.semantics.grouping import padded_batch, ragged_batch


@makes_at_once(Batch)
def _batch(node: Batch, making: Making, room: int) -> Pieces | None:
    pieces = making.of(node.input, MOST_ELEMENTS)
    if not pieces:
        return pieces
    block = only_block(pieces)
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
    try:
        columns = block.payload.columns()
        arrays = [owned_batch(array)[None] for array in columns.arrays] if columns.matrix is None else []
        is_plain = bool(arrays) and (columns.treedef is LEAF or not may_refuse(columns.treedef))
    except Exception:  # noqa: BLE001 - an element's own methods may raise anything
        return stacked_batches(block, count, of=node)  # where it fails in the batch's place
    if not is_plain:
        return stacked_batches(block, count, of=node)
    cursor = OffsetCursor(block.cursor, (0, count))
    return [Block(Columns(columns.treedef, arrays), cursor, GroupedOrigin(block.origin, ((0, count),)))]


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
