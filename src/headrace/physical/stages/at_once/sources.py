"""How sources make all their elements at once, where they say that they have few."""

from __future__ import annotations

from typing import Final

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Indexed, Payload, Rows
from headrace.elements.ownership import read_only
from headrace.elements.structure import LEAF
from headrace.physical.at_once import INDICES, Making, makes_at_once
from headrace.physical.made import Pieces
from headrace.plan.sources import FromTensors, FromTensorSlices, Range
from headrace.semantics.sources import ArraysSource, RangeSource

_START: Final = IndexCursor(0)
_INT64: Final = np.dtype(np.int64)


@makes_at_once(Range)
def _range(node: Range, _: Making, room: int) -> Pieces | None:
    count = room + 1 if node.stop is None else len(range(node.start, node.stop, node.step))
    if not 0 < count <= room:
        return [] if count == 0 else None
    payload: Payload
    if node.dtype is _INT64:
        steps = INDICES[:count] if node.step == 1 else INDICES[:count] * node.step
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
        source = ArraysSource.of(node)
        payload: Payload = source.columns(range(count)) if source.is_columnar else Indexed(source, range(count))
    else:
        payload = Columns(node.treedef, node.columns)  # which nobody can write to
    return [Block(payload, _START, IndexOrigin(range(count)))]


@makes_at_once(FromTensors)
def _one(node: FromTensors, _: Making, room: int) -> Pieces | None:
    return [Block(Rows([read_only(node.element)]), _START, IndexOrigin(range(1)))] if room else None
