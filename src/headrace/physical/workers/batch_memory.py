"""The memory of batches that are not complete yet: workers write what they make where it will lie in its batch.

Nothing depends on it but speed. What a worker could not place travels as it is, and a batch whose elements do not all lie
in order in one ``BatchBuffer`` is stacked as any other.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.batch_buffer import BatchBuffer, BatchBufferView
from headrace.blocks.block import Block, Failure
from headrace.blocks.columns import Columns
from headrace.blocks.payload import Payload
from headrace.elements.key_orders import looks_the_same
from headrace.elements.rows_and_columns import transpose_in_order
from headrace.elements.structure import TreeDef, stack
from headrace.frozen import mutable
from headrace.reused_memory import reused

__all__ = ["BatchMemory", "SharedMemory"]

# Below, a batch is stacked faster in one go than its elements are placed.
_FEWEST_BYTES: Final = 4096
# For a copy less a task may be so many times as long: longer, and the first batch comes later than all workers together make it.
_LONGER: Final = 2
# Batches that come in one piece have one memory, which any of them keeps: so much is more than one batch at most.
_TOGETHER_BYTES: Final = 1 << 20

# Gives so many bytes (uint8) of memory that another process is to read; None where there are none.
SharedMemory = Callable[[int], np.ndarray | None]
_Leaves = Sequence[Any] | np.ndarray  # one for each element
_Layout = tuple[TreeDef, tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]]


def _nobody_counts(_: int) -> None:
    """Does nothing."""


@mutable
class _Batch:
    """A batch of which elements are still to come."""

    buffer: BatchBuffer | None
    missing: int
    each_bytes: int  # of an element, for which memory was taken


class BatchMemory:
    """The memory of the batches that one map fills.

    Args:
        size: how many elements a batch has.
        most_bytes: how large a batch may be.
        first: how many elements of the first batch others have made.
        shared: where they lie, if another process is to read them; None is this one's own memory.
        taken: is told of how many bytes more, or less, wait for elements.
        stacked: whether pieces come stacked, as from a process: one that is a batch needs no other memory.

    Attributes:
        is_shared: whether they lie in shared memory.
    """

    def __init__(
        self,
        size: int,
        most_bytes: int,
        first: int = 0,
        *,
        shared: SharedMemory | None = None,
        taken: Callable[[int], None] = _nobody_counts,
        stacked: bool = False,
    ) -> None:
        self._size = size
        self._shared = shared
        self._most_bytes = most_bytes
        self._taken = taken
        self._lock = threading.Lock()
        self._batches: dict[int, _Batch] = {}
        self._first = first
        self.is_shared = shared is not None
        self._comes_stacked = stacked and not self.is_shared

    def count_to_end(self, start: int, count: int, most: int, each_bytes: int) -> int:
        """Returns how many elements to make at once: about ``count``, or where they come stacked as many as end with a batch."""
        if not self._comes_stacked or count * _LONGER < self._size:
            return count
        together = min(count // self._size, _TOGETHER_BYTES // max(1, self._size * each_bytes))
        fitting = max(1, together) * self._size - (start + self._first) % self._size
        return fitting if fitting <= most else count

    def place(self, start: int, pieces: Iterable[Block | Failure]) -> list[Block | Failure]:
        """Copies the pieces' elements into the memory of their batches; ``start`` is the index of the first."""
        placed: list[Block | Failure] = []
        start += self._first
        for piece in pieces:
            if isinstance(piece, Failure):
                self._count(start, 1)
                placed.append(piece)
                start += 1
                continue
            if piece.payload.nbytes < _FEWEST_BYTES * len(piece):
                self._pass_by(start, len(piece))
                placed.append(piece)
                start += len(piece)
                continue
            for part in self._cut(piece, start):
                placed.append(self._placed(part, start))
                start += len(part)
        return placed

    def _pass_by(self, start: int, count: int) -> None:
        """Counts elements, perhaps of many batches, that are too light to be placed."""
        stop = start + count
        while start < stop:
            part = min(self._size - start % self._size, stop - start)
            self._count(start, part)
            start += part

    def _cut(self, block: Block, start: int) -> list[Block]:
        """Cuts the block into parts that belong to one batch each."""
        first = self._size - start % self._size
        bounds = [0, *range(first, len(block), self._size), len(block)]
        return [block.slice(*pair) for pair in itertools.pairwise(bounds)]

    def _placed(self, block: Block, start: int) -> Block:
        is_batch = isinstance(block.payload, Columns) and len(block) == self._size
        found = None if is_batch else _arrays_of(block.payload)
        if found is None:
            self._count(start, len(block))
            return block
        treedef, columns = found
        layout = treedef, tuple(map(_kind_of, columns))
        buffer = self._buffer(start // self._size, layout)
        self._count(start, len(block))
        if buffer is None:
            return block
        slot = start % self._size
        for array, column in zip(buffer.arrays, columns, strict=True):
            for index, leaf in enumerate(column, slot):
                array[index] = leaf
        return Block(BatchBufferView(buffer, slot, slot + len(block)), block.cursor, block.origin)

    def _buffer(self, index: int, layout: _Layout) -> BatchBuffer | None:
        """Returns the memory of a batch, if elements of this layout fit it."""
        fresh_bytes = 0
        with self._lock:
            batch = self._batches.get(index)
            if batch is None:
                made = self._made(layout)
                fresh_bytes = 0 if made is None else sum(array.nbytes for array in made.arrays)
                batch = self._batches[index] = _Batch(made, self._size, fresh_bytes // self._size)
            buffer = batch.buffer
        if fresh_bytes:
            self._taken(fresh_bytes)
        if buffer is None or not looks_the_same(buffer.treedef, layout[0]):
            return None
        kinds = tuple((array.shape[1:], array.dtype) for array in buffer.arrays)
        return buffer if kinds == layout[1] else None

    def _made(self, layout: _Layout) -> BatchBuffer | None:
        treedef, kinds = layout
        nbytes = sum(math.prod(shape) * dtype.itemsize for shape, dtype in kinds)
        if not _FEWEST_BYTES <= nbytes <= self._most_bytes // self._size:
            return None
        return BatchBuffer(treedef, [self._array(shape, dtype) for shape, dtype in kinds])

    def _array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        whole = (self._size, *shape)
        if dtype.hasobject:
            return np.empty(whole, dtype)
        nbytes = math.prod(whole) * dtype.itemsize
        found = None if self._shared is None else self._shared(nbytes)
        found = reused(nbytes, self._most_bytes) if found is None else found
        return found.view(dtype).reshape(whole)

    def close(self) -> None:
        """Lets go of the batches that will not become whole, as the last one: nobody shall wait for a garbage collection for that memory."""
        with self._lock:
            batches = list(self._batches.values())
            self._batches.clear()
        for batch in batches:
            self._taken(-batch.missing * batch.each_bytes)

    def _count(self, start: int, count: int) -> None:
        """Counts elements of a batch that have come; when all have, it needs no memory here."""
        index = start // self._size
        with self._lock:
            batch = self._batches.setdefault(index, _Batch(None, self._size, 0))
            batch.missing -= count
            if not batch.missing:
                del self._batches[index]
        if batch.each_bytes:  # from here on they count where they are held
            self._taken(-count * batch.each_bytes)


def _arrays_of(payload: Payload) -> tuple[TreeDef, Sequence[_Leaves]] | None:
    """Returns the leaves of the elements, if all of a component are alike and there is an array among them; else None."""
    if isinstance(payload, Columns):
        return (payload.treedef, payload.arrays) if payload.arrays and payload.keys_in_order else None
    try:
        treedef, columns, keys_in_order = transpose_in_order(payload.rows())
        if not keys_in_order:
            return None
        arrays = [_alike(column) for column in columns]
    except Exception:  # noqa: BLE001 - an element's own methods may raise anything
        return None  # who stacks them says what is wrong
    return (treedef, arrays) if arrays else None


def _kind_of(leaves: _Leaves) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Returns shape and dtype of one leaf."""
    if isinstance(leaves, np.ndarray):
        return leaves.shape[1:], leaves.dtype.newbyteorder("=")
    first: np.ndarray = leaves[0]  # _alike has looked
    return first.shape, first.dtype.newbyteorder("=")


def _alike(column: Sequence[Any]) -> _Leaves:
    """Returns the leaves as they are if they are arrays that can be copied, else stacked."""
    first = column[0]
    if not isinstance(first, np.ndarray) or first.dtype.kind not in "biufcmM":
        return stack(column)
    alike = all(type(leaf) is np.ndarray and leaf.dtype == first.dtype and leaf.shape == first.shape for leaf in column)
    return column if alike else stack(column)
