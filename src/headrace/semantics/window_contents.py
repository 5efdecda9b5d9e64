"""Elements that a window or a group holds while others come in.

Overlapping windows hold the same arrays, and a function may read its window twice, so each reader sees them read-only, in
containers of its own: a function that wants to write makes a copy, as a batch does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.blocks.columns import Columns
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Indices, Origin
from headrace.blocks.payload import Indexed, Payload, Rows, Zipped
from headrace.elements.leaf_arrays import PLAIN_LEAVES
from headrace.elements.rows_and_columns import transpose
from headrace.elements.structure import LEAF, Element, TreeDef, may_refuse
from headrace.frozen import frozen
from headrace.plan.windowing import WindowElements
from headrace.semantics.sources import ArraysSource, RandomNumbers, RangeSource

__all__ = ["WindowBlock", "WindowLeaf", "WindowRows", "at_hand", "by_leaf", "leaves_of_all"]

# Bytes, of all windows of a block: what is large stays where it is until a window is read.
_MOST_COPIED: Final = 1 << 20


@frozen
class WindowBlock:
    """Elements of a payload that others hold as well.

    Attributes:
        whole: the payload; one by one, its elements are seen read-only.
        origins: where all of its elements came from.
        indices: which of them these are.
    """

    whole: Payload
    origins: Origin
    indices: Indices

    @classmethod
    def of(cls, payload: Payload, origins: Origin) -> WindowBlock:
        """Returns all elements of a payload."""
        return cls(payload, origins, range(len(payload)))

    @property
    def payload(self) -> Payload:
        """These elements alone."""
        if len(self.indices) == len(self.whole):  # which are never in another order
            return self.whole
        return self.whole.subset(self.indices)

    def handed_out(self) -> Payload:
        """Returns these elements alone as one reader gets them."""
        whole, indices = self.whole, self.indices
        if type(whole) is Columns and whole.matrix is None and type(indices) is range and indices.step > 0:
            return whole.seen(indices)
        return handed_out(self.payload)

    def __len__(self) -> int:
        return len(self.indices)

    def rows(self) -> Sequence[Element]:
        return self.payload.rows()

    def origin(self, index: int) -> str:
        return self.origins.describe(int(self.indices[index]))

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
    treedef, columns = transpose(elements.rows())
    if treedef.is_leaf():
        return treedef, [elements]
    return treedef, [WindowLeaf(list(column), elements) for column in columns]


def leaves_of_all(payload: Payload) -> tuple[TreeDef, list[Payload]] | None:
    """Returns the structure that any part of these elements has, and each component by itself; None where parts may differ."""
    if isinstance(payload, Columns):
        treedef = payload.treedef
        if treedef.is_leaf():
            return treedef, [payload]
        leaves: list[Payload] = [Columns(LEAF, [array]) for array in payload.arrays]
        return (treedef, leaves) if leaves and not may_refuse(treedef) else None
    if not isinstance(payload, Rows):
        return None
    if payload.kinds <= PLAIN_LEAVES:
        return LEAF, [payload]
    # Of dicts the first one says in which order their keys are, so those of a part may have another one.
    if payload.kinds != {tuple} and (payload.kinds != {dict} or len(set(map(tuple, payload.elements))) > 1):
        return None
    try:
        treedef, columns = transpose(payload.elements)
    except Exception:  # noqa: BLE001 - an element's own methods may raise anything; each part finds out which of them
        return None
    is_flat = treedef.num_leaves and treedef.num_nodes == treedef.num_leaves + 1
    if not is_flat or not all(PLAIN_LEAVES.issuperset(map(type, column)) for column in columns):
        return None
    return treedef, [Rows(list(column)) for column in columns]


def at_hand(payload: Payload) -> Payload:
    """Returns elements in columns, where they are in memory and little is copied; else as they are."""
    return payload.columns() if not isinstance(payload, Columns) and _is_at_hand(payload) else payload


def _is_at_hand(payload: Payload) -> bool:
    match payload:
        case Zipped():
            return all(map(_is_at_hand, payload.parts))
        case Indexed(source=RangeSource() | RandomNumbers()):
            return True
        case Indexed(source=ArraysSource() as source):
            row_nbytes = sum(array.nbytes // max(1, len(array)) for array in source.arrays)
            copied = 0 if isinstance(payload.indices, range) else len(payload) * row_nbytes
            return source.is_columnar and copied <= _MOST_COPIED
        case _:
            return isinstance(payload, Columns) and payload.matrix is None
