"""Stages that stack elements along a new axis."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from headrace.blocks.block import Block, Failure, joined_block
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import Cursor, OffsetCursor, StridedCursor
from headrace.blocks.origin import GroupedOrigin
from headrace.blocks.payload import Payload, Rows
from headrace.elements.leaf_arrays import native
from headrace.elements.structure import Element, may_refuse, unflatten
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.plan.grouping import Batch
from headrace.semantics.failures import as_element_error
from headrace.semantics.held_bytes import Holding

if TYPE_CHECKING:
    from headrace.physical.workers.batch_memory import BatchMemory

__all__ = ["BatchStage", "CombinedBatchStage", "owned_batch", "stacked_batches", "stacked_payload"]

# A block of this many batches is cut into them where it lies: a piece more costs about what copying two batches does.
_LONG_BATCHES: Final = 4
# Elements of so many bytes are copied to where they will lie in their batch as they come, and their memory is free for the next one: together
# they are more than a processor's cache holds. Batches of fewer are stacked as quickly when they are whole.
_HEAVY_BYTES: Final = 1 << 18
_FEW_ELEMENTS: Final = 4
# So many views of batches are made within a millisecond.
_VIEWS_AT_ONCE: Final = 64


class BatchStage(Stage):
    """Runs of consecutive elements, stacked.

    Several batches are stacked as one array where their elements are alike, and cut afterwards: one gather, one
    reshape, and each batch is a view. A failure takes its whole batch with it, as in tf.data: the batches after
    it are the same as without it.

    Args:
        node: the operation.
        input_stage: what is read.
        meter: its own.
        memory: where large elements are put as they come.
        holding: is told how much is gathered, and how much is ready.
    """

    def __init__(
        self,
        node: Batch,
        input_stage: Stage,
        meter: Meter,
        memory: BatchMemory | None = None,
        holding: Holding | None = None,
    ) -> None:
        super().__init__(meter, (input_stage,), StridedCursor(input_stage.cursor, node.batch_size))
        self._size = node.batch_size
        self._drop_remainder = node.drop_remainder
        self._node = node
        self._drops_failed = node.drop_remainder and node.drops_failed
        self._ready: list[Block | Failure] = []  # reversed: the next one is last
        self._begun: list[Block] = []  # what was read of a batch that is not whole yet
        self._memory = memory if self._size >= _FEW_ELEMENTS else None
        self._holding = holding

    def _pull(self, limit: int) -> Item:
        if not self._ready:
            self._ready = self._batches(limit)[::-1]
        item = self._ready.pop() if self._ready else None
        if self._holding is not None and (self._ready or self._begun or self._holding.nbytes):
            blocks = [*self._begun, *(one for one in self._ready if isinstance(one, Block))]
            self._holds(blocks, _nbytes_of(blocks), sum(map(len, blocks)))
        return item

    @property
    def made_elements(self) -> int:  # type: ignore[override]  # where nobody makes any it is a number
        """How many batches are views of what its input holds ready."""
        return min(self.inputs[0].ready_elements // self._size, _VIEWS_AT_ONCE)

    def _holds(self, blocks: list[Block], nbytes: int, count: int) -> None:
        """Says what it has: of batches that are not whole yet, and of those that are ready."""
        if self._holding is not None:
            rows = (row for block in blocks for row in block.payload.rows())
            self._holding.hold(nbytes, lambda: rows, count=count)

    def _is_spent(self) -> bool:
        return not self._ready and not self._begun and self.inputs[0].is_spent

    def _holds_elements(self) -> bool:
        return bool(self._ready or self._begun)

    def _batches(self, limit: int) -> list[Block | Failure]:
        """Reads up to ``limit`` batches, in pieces; the last one may be a failure.

        Those that are whole do not wait where the input gave less than was asked for: it has no more at hand, or the next batch would have
        to be copied to the side of one that lies in its memory already.
        """
        self._let_go()  # where each call begins anew, what one leaves over is never written to by another
        wanted = limit * self._size
        blocks, self._begun = self._begun, []
        have = sum(map(len, blocks))
        nbytes = counted = 0
        while have < wanted:
            asked = wanted - have
            item = self._read(self.inputs[0], asked)
            if item is None:
                break
            if isinstance(item, Failure):
                failed = self._failed(item, blocks, have)
                return [*self._whole(blocks, have), *([] if failed is None else [failed])]
            count = len(item)
            blocks.append(self._in_place(item, have))
            del item  # its memory is for the next one
            have += count
            if have >= self._size and count < asked:
                return self._whole_ones(blocks, have)
            if have < wanted and self._holding is not None:  # else it is handed on at once
                # Those that came since: to add up all of them at each takes the longer, the more a batch has.
                nbytes, counted = nbytes + _nbytes_of(blocks[counted:]), len(blocks)
                self._holds(blocks, nbytes, have)
        made = self._whole(blocks, have)
        rest = have % self._size
        if rest and not self._drop_remainder:
            made += self._stacked(_last(blocks, rest), rest)
        return made

    def _in_place(self, block: Block, have: int) -> Block:
        """Returns the same elements where they will lie in their batch, if they are large; so many others came before them."""
        payload = block.payload
        if self._memory is None or type(payload) is not Rows:
            return block
        # In memory that another process reads they need no other copy.
        if not self._memory.is_shared and payload.nbytes < _HEAVY_BYTES * len(payload):
            return block
        if have % self._size + len(payload) > self._size:
            return block
        (placed,) = self._memory.place(have, [block])
        return placed if isinstance(placed, Block) else block

    def _whole_ones(self, blocks: list[Block], have: int) -> list[Block | Failure]:
        """Returns the batches that are whole; what was read of the next one waits for the rest of it."""
        rest = have % self._size
        if rest:
            self._begun = [_last(blocks, rest)]
        return self._whole(blocks, have)

    def _whole(self, blocks: list[Block], have: int) -> list[Block | Failure]:
        whole = have - have % self._size
        if not whole:
            return []
        return [made for run in self._runs(blocks, whole) for made in self._stacked(run, self._size)]

    def _runs(self, blocks: list[Block], whole: int) -> Iterator[Block]:
        """Yields the first elements of blocks in pieces of whole batches; a long block is not joined, which would copy it."""
        seam: list[Block] = []
        left = whole
        for block in blocks:
            start, stop = 0, min(left, len(block))
            left -= stop
            if stop >= self._size * _LONG_BATCHES:
                start = -sum(map(len, seam)) % self._size
                if seam:
                    yield joined_block([*seam, block.slice(0, start)] if start else seam)
                begun = (stop - start) % self._size
                yield block.slice(start, stop - begun)
                seam, start = [], stop - begun
            if start < stop:
                seam.append(block.slice(start, stop))
        if seam:
            yield joined_block(seam)

    def _failed(self, failure: Failure, blocks: list[Block], have: int) -> Failure | None:
        """Makes the failure of a batch, if it is given; what is left of the batch is read and dropped."""
        begun = have % self._size
        before = _last(blocks, begun).cursor if begun else failure.cursor
        after = failure.after
        left = self._size - begun - 1
        while left:
            item = self._read(self.inputs[0], left)
            if item is None:
                break
            left -= len(item) if isinstance(item, Block) else 1
            after = item.after
        if left and self._drops_failed:
            return None
        return Failure(failure.error, StridedCursor(before, self._size), StridedCursor(after, self._size))

    def _stacked(self, block: Block, size: int) -> list[Block | Failure]:
        """Stacks a block whose length is a multiple of ``size`` into batches."""
        return stacked_batches(block, size, of=self._node)

    def _let_go(self) -> None:
        """Forgets the memory of batches that others have now, or that will not become whole."""
        if self._memory is not None:
            self._memory.close()

    def close(self) -> None:
        self._let_go()
        if self._holding is not None:
            self._holding.release()
        super().close()


def _nbytes_of(blocks: list[Block]) -> int:
    return sum(block.payload.nbytes for block in blocks)


def _last(blocks: list[Block], count: int) -> Block:
    """Returns the last elements of consecutive blocks, of which only those are joined that have some of them."""
    parts: list[Block] = []
    left = count
    for block in reversed(blocks):
        parts.append(block.slice(max(0, len(block) - left), len(block)))
        left -= len(parts[-1])
        if not left:
            break
    return joined_block(parts[::-1])


def stacked_batches(block: Block, size: int, *, of: Batch) -> list[Block | Failure]:
    """Stacks a block whose length is a multiple of ``size`` into batches of an operation, also where those have more elements."""
    with contextlib.suppress(Exception):  # an element's own methods may raise anything, and memory may not suffice
        columns = block.payload.columns()
        if columns.keys_in_order or len(block) <= size:  # a batch has its keys in the order of its first element
            return [_view(block, columns, size)]
    parts = [block.slice(start, start + size) for start in range(0, len(block), size)]
    return [_one(part, of) for part in parts]


def _view(block: Block, columns: Columns, size: int) -> Block:
    count = len(block) // size
    bounds = tuple((start, start + size) for start in range(0, len(block), size))
    origin = GroupedOrigin(block.origin, bounds)
    payload = stacked_payload(columns, count, size)
    if may_refuse(columns.treedef):
        payload = Rows(payload.rows())  # now, where what one of them raises has its place
    return Block(payload, _positions(block, size), origin)


def stacked_payload(columns: Columns, count: int, size: int) -> Payload:
    """Returns so many batches of so many elements each, as arrays of their own."""
    if columns.matrix is not None:
        matrix = native(columns.matrix)
        matrix = matrix.reshape(count, size, *matrix.shape[1:]).swapaxes(1, 2).copy()  # each leaf contiguous
        return Columns(columns.treedef, None, matrix)
    arrays = [owned_batch(array).reshape(count, size, *array.shape[1:]) for array in columns.arrays]
    return Columns(columns.treedef, arrays) if arrays else Rows([unflatten(columns.treedef, ())] * count)


def _positions(block: Block, size: int) -> Cursor:
    """Returns the positions before each batch of a block, and that at its end, also where the block is short."""
    return OffsetCursor(block.cursor, range(0, len(block) + 1, size) if len(block) % size == 0 else [0, len(block)])


def _one(block: Block, of: Batch) -> Block | Failure:
    try:
        return _view(block, block.payload.columns(), len(block))
    except Exception as error:  # noqa: BLE001 - as above
        origin = GroupedOrigin(block.origin, ((0, len(block)),)).describe(0)
        placed = as_element_error(error, stage=of.label, origin=origin)
        return Failure(placed, StridedCursor(block.cursor, of.batch_size), StridedCursor(block.after, of.batch_size))


class CombinedBatchStage(BatchStage):
    """Runs of consecutive elements, made one in a way of their own, a batch at a time.

    Args:
        node: the operation.
        combine: makes one of elements.
        input_stage: what is read.
        meter: its own.
        holding: is told how much is gathered, and how much is ready.
        together: makes one of each so many elements; None where it cannot.
    """

    def __init__(
        self,
        node: Batch,
        combine: Callable[[list[Element]], Element],
        input_stage: Stage,
        meter: Meter,
        holding: Holding | None = None,
        together: Callable[[list[Element], int], list[Element] | None] | None = None,
    ) -> None:
        super().__init__(node, input_stage, meter, holding=holding)
        self._combine = combine
        self._made_together = together

    def _stacked(self, block: Block, size: int) -> list[Block | Failure]:
        rows = block.payload.rows()
        whole = self._made_together(rows, size) if self._made_together is not None else None
        if whole is not None:
            return self._together(block, size, whole)
        made: list[Block | Failure] = []
        batches: list[Element] = []
        for start in range(0, len(block), size):
            try:
                batches.append(self._combine(rows[start : start + size]))
            except Exception as error:  # noqa: BLE001 - as above
                made += self._together(block.slice(0, start), size, batches)
                made.append(self._failed_batch(block.slice(start, start + size), error))
                batches = []
        return made + self._together(block, size, batches)

    def _together(self, block: Block, size: int, batches: list[Element]) -> list[Block | Failure]:
        """Returns a block of the batches that were made of the end of a block."""
        if not batches:
            return []
        part = block.slice(len(block) - len(batches) * size, len(block))
        bounds = tuple((start, start + size) for start in range(0, len(part), size))
        return [Block(Rows(batches), _positions(part, size), GroupedOrigin(part.origin, bounds))]

    def _failed_batch(self, block: Block, error: Exception) -> Failure:
        origin = GroupedOrigin(block.origin, ((0, len(block)),)).describe(0)
        placed = as_element_error(error, stage=self._node.label, origin=origin)
        return Failure(placed, StridedCursor(block.cursor, self._size), StridedCursor(block.after, self._size))


def owned_batch(array: np.ndarray) -> np.ndarray:
    """Returns the array, or a copy of it if it is a view of a source: a batch belongs to its receiver."""
    if not array.dtype.isnative:
        return native(array)
    return array if array.flags.writeable and array.flags.c_contiguous else array.copy()
