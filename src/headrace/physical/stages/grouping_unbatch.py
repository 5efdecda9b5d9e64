"""The stage of unbatch: the slices of each element, many elements at once where they are alike."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np

from headrace.blocks.block import Block, Failure
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import Cursor, State, input_state
from headrace.blocks.origin import Indices, Origin, slice_of, subset
from headrace.blocks.payload import Indexed, Payload, Rows
from headrace.blocks.ragged_rows import RaggedRows
from headrace.elements.leaf_arrays import common_items
from headrace.elements.rows_and_columns import needs_rows, transpose_in_order
from headrace.elements.structure import may_refuse
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.observe.meter import Meter
from headrace.physical.context import StageContext
from headrace.physical.lower import lower
from headrace.physical.stage import Item, Stage
from headrace.plan.grouping import Unbatch
from headrace.semantics.failures import as_element_error, input_changed
from headrace.semantics.grouping import sliced, slices_of

__all__: list[str] = []

# Larger elements are taken apart where they lie: to join them would copy them.
_SMALL_BYTES: Final = 64 << 10


@frozen
class _InnerCursor:
    """In elements that are taken apart: which one, and how many of its slices were given.

    ``starts`` has the number of the first slice of each; also that after the last of all, but for a single element.
    """

    input: Cursor
    given: int = 0
    starts: Sequence[int] = (0,)

    def advance(self, count: int) -> _InnerCursor:
        return _InnerCursor(self.input, self.given + count, self.starts)

    def state(self) -> State:
        element = bisect.bisect_right(self.starts, self.given) - 1
        return {"given": self.given - self.starts[element], "input": self.input.advance(element).state()}


@frozen
class _SliceOrigin:
    """Slices, by their number among those of all these elements."""

    whole: Origin
    starts: Sequence[int]
    numbers: Indices

    def subset(self, indices: Indices) -> _SliceOrigin:
        return _SliceOrigin(self.whole, self.starts, subset(self.numbers, indices))

    def describe(self, index: int) -> str:
        element = bisect.bisect_right(self.starts, self.numbers[index]) - 1
        return slice_of(self.whole.describe(element))


class UnbatchStage(Stage):
    """The slices of each element."""

    def __init__(self, label: str, input_stage: Stage, meter: Meter, state: State | None) -> None:
        self._drop: int = state["given"] if state else 0  # of the first element, which were given before
        super().__init__(meter, (input_stage,), _InnerCursor(input_stage.cursor, self._drop))
        input_stage.may_join = True
        self._label = label
        self._each = 0  # slices of an element, as those before had
        self._unopened: Block | None = None  # elements that are taken apart one by one
        self._slices: Block | None = None

    def _is_spent(self) -> bool:
        return self._slices is None and self._unopened is None and not self._drop and self._has_spent_source

    def _holds_elements(self) -> bool:
        return self._slices is not None or self._unopened is not None

    def _pull(self, limit: int) -> Item:
        while self._slices is None:
            if self._unopened is not None:
                item: Item = self._opened_first(self._unopened)
            else:
                item = self._read(self.inputs[0], -(-limit // self._each) if self._each else 1)
                item = self._opened(item) if isinstance(item, Block) else self._passed_on(item)
            if not isinstance(item, Block):
                return item
            self._slices = item if len(item) else None
        block = self._slices
        self._slices = block.slice(limit, len(block)) if len(block) > limit else None
        return block.slice(0, limit)

    def _passed_on(self, item: Failure | None) -> Failure | None:
        drop, self._drop = self._drop, 0
        if item is None:
            return Failure(input_changed(self._label), self.cursor, self.cursor) if drop else None
        return Failure(item.error, _InnerCursor(item.cursor, drop), _InnerCursor(item.after))

    def _opened(self, item: Block) -> Block | Failure:
        """Returns the slices of all these elements, or of the first; none where it has none."""
        found = None if self._drop else _sliced_at_once(item.payload)
        if found is None:
            return self._opened_first(item)
        slices, starts = found
        self._each = max(1, len(slices) // len(item))
        origin = _SliceOrigin(item.origin, starts, range(len(slices)))
        return Block(slices, _InnerCursor(item.cursor, 0, starts), origin)

    def _opened_first(self, item: Block) -> Block | Failure:
        self._unopened = item.slice(1, len(item)) if len(item) > 1 else None
        first = item.slice(0, 1)
        drop, self._drop = self._drop, 0
        try:
            columns = sliced(first.payload.rows()[0])
            if drop > len(columns):
                raise input_changed(self._label)
        except Exception as error:  # noqa: BLE001 - an element's own methods may raise anything
            placed = as_element_error(error, stage=self._label, origin=first.origin.describe(0))
            return Failure(placed, _InnerCursor(first.cursor, drop), _InnerCursor(first.after))
        self._each = max(1, len(columns))
        origin = _SliceOrigin(first.origin, (0,), range(drop, len(columns)))
        return Block(columns.subset(range(drop, len(columns))), _InnerCursor(first.cursor, drop), origin)


def _sliced_at_once(payload: Payload) -> tuple[Columns | Rows, Sequence[int]] | None:
    """Returns the slices of all elements, and the number of each one's first and that after the last; None where they are not alike."""
    if isinstance(payload, Indexed) and payload.source.is_columnar:
        payload = payload.columns()
    if isinstance(payload, Columns):
        slices = slices_of(payload)
        return None if slices is None else (slices, range(0, len(slices) + 1, len(slices) // len(payload)))
    if isinstance(payload, RaggedRows):
        lengths = payload.joined[0].lengths
        if not all(np.array_equal(column.lengths, lengths) for column in payload.joined[1:]):
            return None
        arrays = [column.values for column in payload.joined]
        return Columns(payload.treedef, arrays), [0, *lengths.cumsum().tolist()]
    return _joined_slices(payload) if isinstance(payload, Rows) and len(payload) > 1 else None


def _joined_slices(rows: Rows) -> tuple[Columns, Sequence[int]] | None:
    """Returns the same of small elements, which are joined; None also where their items may be something else one by one."""
    if rows.nbytes > _SMALL_BYTES * len(rows):
        return None
    try:
        treedef, leaves, keys_in_order = transpose_in_order(rows.elements)
    except InvalidArgumentError:
        return None
    if not keys_in_order or not leaves or not all(map(_may_be_joined, leaves)):
        return None
    lengths = list(map(len, leaves[0]))
    if any(list(map(len, column)) != lengths for column in leaves[1:]):
        return None
    arrays = [np.concatenate(column) for column in leaves]
    if may_refuse(treedef) or needs_rows(arrays):
        return None
    starts = [*itertools.accumulate(lengths, initial=0)]
    return Columns(treedef, arrays), starts


def _may_be_joined(arrays: Sequence[np.ndarray]) -> bool:
    """Returns whether leaves are arrays that differ in length at most, and a joined array is of their dtype."""
    items = common_items(arrays)
    return items is not None and items[0].isnative


@lower.register
def _unbatch(node: Unbatch, state: State | None, context: StageContext) -> Stage:
    # An element of which some slices were given is read again.
    upstream = lower(node.input, input_state(state), context.replaying())
    return UnbatchStage(node.label, upstream, context.meter(node), state)
