"""The memory of a batch that is there before its elements are, and elements that lie in it already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Indices
from headrace.elements.structure import TreeDef

__all__ = ["BatchBuffer", "BatchBufferView"]


class BatchBuffer:
    """The arrays of a batch, before all of its elements are there."""

    __slots__ = ("arrays", "treedef")

    def __init__(self, treedef: TreeDef, arrays: Sequence[np.ndarray]) -> None:
        self.treedef = treedef
        self.arrays = arrays


class BatchBufferView(Columns):
    """Elements that lie in a batch's buffer already: to join those that lie side by side costs nothing."""

    __slots__ = ("buffer", "start", "stop")

    def __init__(self, buffer: BatchBuffer, start: int, stop: int) -> None:
        super().__init__(buffer.treedef, [array[start:stop] for array in buffer.arrays])
        self.buffer = buffer
        self.start = start
        self.stop = stop

    def subset(self, indices: Indices) -> Columns:
        if isinstance(indices, range) and indices.step == 1:
            return BatchBufferView(self.buffer, self.start + indices.start, self.start + indices.stop)
        return super().subset(indices)
