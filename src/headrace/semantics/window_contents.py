"""Elements that a window or a group holds while others come in.

Overlapping windows hold the same arrays, and a function may read its window twice, so each reader sees them read-only, in
containers of its own: a function that wants to write makes a copy, as a batch does.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload
from headrace.frozen import frozen
from headrace.plan.windowing import WindowElements
from headrace.rows_and_columns import transpose
from headrace.structure import LEAF, Element, TreeDef, unflatten

__all__ = ["WindowBlock", "WindowLeaf", "WindowRows", "by_leaf"]


@frozen
class WindowBlock:
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


@frozen
class WindowRows:
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


@frozen
class WindowLeaf:
    """One component of elements."""

    leaves: Sequence[Element]
    whole: WindowElements

    def __len__(self) -> int:
        return len(self.leaves)

    def rows(self) -> Sequence[Element]:
        return self.leaves

    def origin(self, index: int) -> str:
        return self.whole.origin(index)

    def __headrace_fingerprint__(self) -> Sequence[Element]:
        return self.leaves


def by_leaf(elements: WindowElements) -> tuple[TreeDef, Sequence[WindowElements]]:
    """Returns the elements' common structure, and each of their components by itself.

    Raises:
        InvalidArgumentError: they differ in structure.
    """
    if isinstance(elements, WindowBlock) and isinstance(elements.payload, Columns):
        treedef, arrays = elements.payload.treedef, elements.payload.arrays
        if treedef.is_leaf():
            return treedef, [elements]
        return treedef, [WindowBlock(Columns(LEAF, [array]), elements.origins) for array in arrays]
    treedef, columns = transpose(elements.rows())
    if len(columns) == 1 and unflatten(treedef, [elements]) is elements:
        return treedef, [elements]
    return treedef, [WindowLeaf(list(column), elements) for column in columns]
