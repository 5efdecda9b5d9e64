"""What elements travel in.

A payload is immutable and comes in several forms, cheapest first; stages cut and pick without knowing which they hold:

    Indexed     indices into a source that is read by index: nothing has been read yet
    Columns     one array a leaf, elements along the first axis
    RaggedRows  the bytes of arrays of different lengths, where their reader puts them together
    Zipped      several payloads side by side
    Rows        a list of elements, for what fits no array

So a shuffle over an indexed source moves indices, and a batch after it reads whole batches at once: index
space needs no rule of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Protocol

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Indices, subset
from headrace.elements.leaf_arrays import PYTHON_NUMBERS
from headrace.elements.rows_and_columns import columns_in_order, rows_of_leaves
from headrace.elements.structure import Element, TreeDef, flatten, nbytes_of, unflatten

__all__ = ["IndexSource", "Indexed", "Payload", "Rows", "Zipped"]

# The types of so many elements are looked at, where those of others beside them are known.
_FEW: Final = 32


class Payload(Protocol):
    """Elements without their position."""

    def __len__(self) -> int: ...

    def subset(self, indices: Indices) -> Payload:
        """Returns the elements at these indices."""
        ...

    def rows(self) -> list[Element]:
        """Returns the elements one by one."""
        ...

    @property
    def has_tuples(self) -> bool | None:
        """Whether its elements are tuples; None where some are."""
        ...

    def columns(self) -> Columns:
        """Returns the elements as arrays.

        Raises:
            InvalidArgumentError: they differ in structure, shape or dtype.
        """
        ...

    @property
    def nbytes(self) -> int:
        """About how many bytes it keeps alive."""
        ...


class Rows:
    """Elements in a list, and their types, which are found once for all readers."""

    __slots__ = ("_kinds", "_nbytes", "elements")

    def __init__(self, elements: list[Element], kinds: AbstractSet[type] | None = None) -> None:
        self.elements = elements
        self._kinds = kinds
        self._nbytes: int | None = None

    @property
    def kinds(self) -> AbstractSet[type]:
        """The types of the elements."""
        if self._kinds is None:
            self._kinds = set(map(type, self.elements))
        return self._kinds

    def __len__(self) -> int:
        return len(self.elements)

    def subset(self, indices: Indices) -> Rows:
        if isinstance(indices, range):
            part = self.elements[indices.start : indices.stop : indices.step] if len(indices) else []
            return Rows(part, self._one_kind)
        elements = self.elements
        return Rows([elements[index] for index in indices.tolist()], self._one_kind)

    @classmethod
    def joined(cls, payloads: Sequence[Payload]) -> Rows:
        """Returns the elements of payloads one after the other."""
        elements = list(itertools.chain.from_iterable([payload.rows() for payload in payloads]))
        longest = max(payloads, key=len)
        kinds = longest._one_kind if isinstance(longest, cls) else None  # noqa: SLF001 - of this very class
        if kinds is not None and any(type(other) is not cls or other._kinds_at_hand != kinds for other in payloads):  # noqa: SLF001 - as above
            kinds = None
        return cls(elements, kinds)

    @property
    def _kinds_at_hand(self) -> AbstractSet[type] | None:
        """The types, where they are known or found in no time."""
        return self.kinds if len(self.elements) <= _FEW else self._kinds

    @property
    def _one_kind(self) -> AbstractSet[type] | None:
        """The types, where a part of the elements has them too."""
        return self._kinds if self._kinds is not None and len(self._kinds) == 1 else None

    def rows(self) -> list[Element]:
        return self.elements

    @property
    def has_tuples(self) -> bool | None:
        if tuple not in self.kinds:
            return False
        return True if len(self.kinds) == 1 else None

    def columns(self) -> Columns:
        treedef, arrays, keys_in_order = columns_in_order(self.elements, self.kinds)
        return Columns(treedef, arrays, keys_in_order=keys_in_order)

    @property
    def nbytes(self) -> int:
        if self._nbytes is None:
            is_of_numbers = self._kinds is not None and self._kinds <= PYTHON_NUMBERS.keys()
            self._nbytes = 8 * len(self.elements) if is_of_numbers else _estimated_nbytes(self.elements)
        return self._nbytes


def _estimated_nbytes(elements: Sequence[Element]) -> int:
    """Estimates from three elements: to look at each would cost more than a cheap pipeline does."""
    if not elements:
        return 0
    probes = [elements[0], elements[len(elements) // 2], elements[-1]]
    return len(elements) * max(nbytes_of(probe) for probe in probes)


class IndexSource(Protocol):
    """What reads any of its elements by index, many at once."""

    @property
    def has_tuples(self) -> bool | None:
        """Whether its elements are tuples; None where some are."""
        ...

    @property
    def is_columnar(self) -> bool:
        """Whether any of its elements fit into arrays, and these give back what they are."""
        ...

    def rows(self, indices: Indices) -> list[Element]:
        """Reads these elements, one by one, as others may see them: read-only."""
        ...

    def columns(self, indices: Indices) -> Columns:
        """Reads these elements, as arrays of their own."""
        ...


class Indexed:
    """Elements of an indexed source that have not been read yet."""

    __slots__ = ("indices", "source")

    def __init__(self, source: IndexSource, indices: Indices) -> None:
        self.source = source
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def subset(self, indices: Indices) -> Indexed:
        return Indexed(self.source, subset(self.indices, indices))

    def rows(self) -> list[Element]:
        return self.source.rows(self.indices)

    @property
    def has_tuples(self) -> bool | None:
        return self.source.has_tuples

    def columns(self) -> Columns:
        return self.source.columns(self.indices)

    @property
    def nbytes(self) -> int:
        return 0 if isinstance(self.indices, range) else self.indices.nbytes


class Zipped:
    """Payloads of one length side by side, as the leaves of a structure."""

    __slots__ = ("parts", "treedef")

    def __init__(self, treedef: TreeDef, parts: Sequence[Payload]) -> None:
        self.treedef = treedef
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def subset(self, indices: Indices) -> Zipped:
        return Zipped(self.treedef, [part.subset(indices) for part in self.parts])

    def rows(self) -> list[Element]:
        return rows_of_leaves(self.treedef, [part.rows() for part in self.parts], len(self))

    @property
    def has_tuples(self) -> bool | None:
        return self.treedef.type is tuple

    def columns(self) -> Columns:
        try:
            parts = [part.columns() for part in self.parts]
        except Exception:  # noqa: BLE001 - an element's own methods may raise anything
            return Rows(self.rows()).columns()  # the same error, which names the component within the whole
        # A leaf of each part stands for its arrays, so that the joint structure comes out of one flattening.
        whole = unflatten(self.treedef, [unflatten(part.treedef, range(len(part.arrays))) for part in parts])
        arrays = [array for part in parts for array in part.arrays]
        return Columns(flatten(whole)[1], arrays, keys_in_order=all(part.keys_in_order for part in parts))

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)
