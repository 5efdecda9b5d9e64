"""The forms of batches: the elements of each plan in runs of one size, of which the last one may be shorter."""

from __future__ import annotations

import itertools
import operator
from typing import Any

from headrace.blocks.columns import Columns
from headrace.blocks.cursor import Cursor, OffsetCursor
from headrace.blocks.origin import GroupedOrigin, Origin
from headrace.blocks.payload import Payload, Rows
from headrace.elements.rows_and_columns import rows_of_leaves
from headrace.elements.structure import may_refuse
from headrace.physical.stages.grouping_batches import owned_batch, stacked_payload
from headrace.physical.stages.grouping_runs import padded_together, ragged_together
from headrace.physical.stages.together.forms import Form, some_of_each
from headrace.plan.grouping import Batch, PaddedBatch, RaggedBatch
from headrace.semantics.grouping import padded_batch, ragged_batch

__all__ = ["Batched", "Combined"]


class Batched(Form):
    """Batches that are stacked, many at once."""

    def __init__(self, node: Batch, form: Form) -> None:
        self._size = node.batch_size
        self._drops = node.drop_remainder
        super().__init__(node, (form,), self._batches_of(form.count))

    def _batches_of(self, count: int) -> int:
        return count // self._size if self._drops else -(-count // self._size)

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        return (
            type(plan) is type(node)
            and plan.batch_size == node.batch_size
            and plan.drop_remainder is node.drop_remainder
            and plan.name == node.name
            and self.inputs[0].takes(plan.input)
            and self.took()
        )

    def _length(self, index: int) -> int:
        return self._batches_of(self.inputs[0].lengths[index])

    def _bounds(self, index: int) -> tuple[tuple[int, int], ...]:
        """Returns where each batch of one of the plans begins and ends."""
        count = self.inputs[0].lengths[index]
        starts = range(0, self.lengths[index] * self._size, self._size)
        return tuple([(start, min(start + self._size, count)) for start in starts])

    def cursor(self, index: int) -> Cursor:
        bounds = self._bounds(index)
        ends = [start for start, _ in bounds]
        ends.append(bounds[-1][1] if bounds else self.inputs[0].lengths[index])
        return OffsetCursor(self.inputs[0].cursor(index), ends)

    def origin(self, index: int) -> Origin:
        return GroupedOrigin(self.inputs[0].origin(index), self._bounds(index))

    def _used(self) -> list[int]:
        """Returns how many elements of each plan are in batches."""
        lengths = self.inputs[0].lengths
        return [length - length % self._size for length in lengths] if self._drops else lengths

    def _spans(self) -> list[tuple[int, int]]:
        """Returns where all batches begin and end among the elements that are in some."""
        begins = itertools.accumulate(self._used()[:-1], initial=0)
        return [
            (begin + start, begin + stop) for index, begin in enumerate(begins) for start, stop in self._bounds(index)
        ]

    def _made(self, parts: list[Payload]) -> Payload | None:
        used = self._used()
        columns = some_of_each(parts[0], self.inputs[0], used).columns()
        if may_refuse(columns.treedef) or not columns.keys_in_order:
            return None
        size = self._size_of_all(used)
        return self._cut(columns) if size is None else stacked_payload(columns, len(columns) // size, size)

    def _size_of_all(self, used: list[int]) -> int | None:
        """Returns how many elements each batch has, given how many of each plan are in batches; None where not all have as many."""
        size = min(self._size, used[0])
        return size if size and not used[0] % size and used.count(used[0]) == len(used) else None

    def _cut(self, columns: Columns) -> Payload | None:
        if not columns.arrays:
            return None
        spans = self._spans()
        leaves = [[array[start:stop] for start, stop in spans] for array in map(owned_batch, columns.arrays)]
        return Rows(rows_of_leaves(columns.treedef, leaves, len(spans)))


class Combined(Batched):
    """Batches that are made one by one: padded, and ragged ones."""

    def __init__(self, node: PaddedBatch | RaggedBatch, form: Form) -> None:
        super().__init__(node, form)
        self._nodes: list[Any] = [node]  # each with a padding of its own
        is_padded = type(node) is PaddedBatch
        self._combine: Any = padded_batch if is_padded else ragged_batch
        self._together: Any = padded_together if is_padded else ragged_together
        self._said = operator.attrgetter("padding" if is_padded else "row_splits_dtype")

    def takes(self, plan: Any) -> bool:
        if not super().takes(plan):
            return False
        self._nodes.append(plan)
        return True

    def keep(self, plans: int) -> None:
        del self._nodes[plans:]
        super().keep(plans)

    def _made(self, parts: list[Payload]) -> Payload | None:
        used = self._used()
        rows, size = some_of_each(parts[0], self.inputs[0], used).rows(), self._size_of_all(used)
        first = self._nodes[0]
        if size is not None and all(self._said(node) == self._said(first) for node in self._nodes):
            together = self._together(first, rows, size)
            if together is not None:
                return Rows(together)
        nodes = [node for node, batches in zip(self._nodes, self.lengths, strict=True) for _ in range(batches)]
        return Rows(
            [self._combine(node, rows[start:stop]) for node, (start, stop) in zip(nodes, self._spans(), strict=True)]
        )
