"""A payload of elements that are made when somebody looks, all at once: what is picked and woven before is not copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Indices
from headrace.elements.structure import Element

__all__ = ["Maker", "Unmade"]


class Maker(Protocol):
    """Makes elements of one form of their parts."""

    @property
    def key(self) -> object:
        """What it has in common with those that would make the same of the same parts."""
        ...

    @property
    def has_tuples(self) -> bool:
        """Whether the elements are tuples."""
        ...

    @property
    def part_nbytes(self) -> int:
        """About how many bytes a part keeps alive."""
        ...

    def columns(self, parts: Sequence[Any]) -> Columns:
        """Makes an element of each part, in arrays of their own; what can fail was tried before."""
        ...


class Unmade:
    """Elements by what each is made of.

    Args:
        maker: makes them.
        parts: what each is made of, which does not change any more.
    """

    __slots__ = ("_length", "_made", "maker", "parts")

    def __init__(self, maker: Maker, parts: Sequence[Any]) -> None:
        self.maker = maker
        self.parts = parts  # none any more, once the elements are made
        self._length = len(parts)
        self._made: Columns | None = None

    @property
    def is_made(self) -> bool:
        """Whether somebody has looked."""
        return self._made is not None

    def __len__(self) -> int:
        return self._length

    def subset(self, indices: Indices) -> Unmade | Columns:
        if self._made is not None:
            return self._made.subset(indices)
        if isinstance(indices, range):
            chosen = self.parts[indices.start : indices.stop : indices.step] if len(indices) else ()
            return Unmade(self.maker, chosen)
        parts = self.parts
        return Unmade(self.maker, [parts[index] for index in indices.tolist()])

    def rows(self) -> list[Element]:
        return self.columns().rows()

    @property
    def has_tuples(self) -> bool | None:
        return self.maker.has_tuples

    def columns(self) -> Columns:
        if self._made is None:
            self._made, self.parts = self.maker.columns(self.parts), ()
        return self._made

    @property
    def nbytes(self) -> int:
        return self.maker.part_nbytes * self._length if self._made is None else self._made.nbytes
