"""The stage of the dataset that a window or a group becomes."""

from __future__ import annotations

import dataclasses

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Numbers
from headrace.blocks.payload import Rows
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.plan.windowing import HeldElements
from headrace.semantics.window_contents import HeldBlock

__all__ = ["HeldStage"]


@dataclasses.dataclass(frozen=True, slots=True)
class _HeldOrigin:
    """Where held elements came from."""

    elements: HeldElements
    numbers: Numbers

    def subset(self, indices: Numbers) -> _HeldOrigin:
        return _HeldOrigin(self.elements, np.asarray(self.numbers)[np.asarray(indices)])

    def describe(self, index: int) -> str:
        return self.elements.origin(int(self.numbers[index]))


class HeldStage(Stage):
    """The elements that are held, by number."""

    by_index = True

    def __init__(self, elements: HeldElements, meter: Meter, index: int) -> None:
        super().__init__(meter, (), IndexCursor(index))
        self._payload = elements.payload if isinstance(elements, HeldBlock) else Rows(list(elements.rows()))
        self._origin = _HeldOrigin(elements, range(len(elements)))
        self._index = index

    def _pull(self, limit: int) -> Item:
        part = range(self._index, min(self._index + limit, len(self._payload)))
        if not part:
            return None
        self._index = part.stop
        return Block(handed_out(self._payload.subset(part)), IndexCursor(part.start), self._origin.subset(part))
