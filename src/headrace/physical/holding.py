"""Elements that a window holds while others come in, and the stage of the dataset that they become.

Overlapping windows hold the same arrays, and a function may read its window twice, so each reader sees them read-only, in
containers of its own: whoever wants to write makes a copy, as a batch does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import Numbers, Origin
from headrace.blocks.payload import Columns, Payload, Rows
from headrace.observe.meter import Meter
from headrace.physical.handing_out import handed_out
from headrace.physical.stage import Item, Stage
from headrace.plan.windowing import HeldElements
from headrace.structure import Element, TreeDef, transpose, unflatten

__all__ = ["HeldBlock", "HeldLeaf", "HeldRows", "HeldStage", "by_leaf"]


@dataclasses.dataclass(frozen=True, slots=True)
class HeldBlock:
    """Elements as a payload."""

    payload: Payload
    origins: Origin

    def __len__(self) -> int:
        return len(self.payload)

    def rows(self) -> Sequence[Element]:
        return self.payload.rows()

    def origin(self, index: int) -> str:
        return self.origins.describe(index)

    def __headrace_fingerprint__(self) -> Sequence[Element]:
        return self.rows()


@dataclasses.dataclass(frozen=True, slots=True)
class HeldRows:
    """Elements in a list."""

    elements: Sequence[Element]
    origins: Sequence[str]

    def __len__(self) -> int:
        return len(self.elements)

    def rows(self) -> Sequence[Element]:
        return self.elements

    def origin(self, index: int) -> str:
        return self.origins[index]

    def __headrace_fingerprint__(self) -> Sequence[Element]:
        return self.rows()


@dataclasses.dataclass(frozen=True, slots=True)
class HeldLeaf:
    """One component of elements."""

    leaves: Sequence[Element]
    whole: HeldElements

    def __len__(self) -> int:
        return len(self.leaves)

    def rows(self) -> Sequence[Element]:
        return self.leaves

    def origin(self, index: int) -> str:
        return self.whole.origin(index)

    def __headrace_fingerprint__(self) -> Sequence[Element]:
        return self.leaves


def by_leaf(elements: HeldElements) -> tuple[TreeDef, Sequence[HeldElements]]:
    """The elements' common structure, and each of their components by itself.

    Raises:
        InvalidArgumentError: they differ in structure.
    """
    if isinstance(elements, HeldBlock) and isinstance(elements.payload, Columns):
        treedef, arrays = elements.payload.treedef, elements.payload.arrays
        leaf = transpose([0])[0]
        return treedef, [HeldBlock(Columns(leaf, [array]), elements.origins) for array in arrays]
    treedef, columns = transpose(elements.rows())
    if len(columns) == 1 and unflatten(treedef, [elements]) is elements:
        return treedef, [elements]
    return treedef, [HeldLeaf(list(column), elements) for column in columns]


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
