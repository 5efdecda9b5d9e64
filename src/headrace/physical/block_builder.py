"""Elements that a stage makes one by one, collected into blocks, and failures between them."""

from __future__ import annotations

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, PositionsCursor
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Rows
from headrace.elements.structure import Element
from headrace.physical.input_history import GroupOrigin

__all__ = ["BlockBuilder", "WeighedRows"]


class WeighedRows(Rows):
    """Elements that keep more alive than their leaves tell."""

    __slots__ = ("_kept_nbytes",)

    def __init__(self, elements: list[Element], kept_nbytes: int) -> None:
        super().__init__(elements)
        self._kept_nbytes = kept_nbytes

    @property
    def nbytes(self) -> int:
        return self._kept_nbytes


class BlockBuilder:
    """Elements made of several others, in order.

    Args:
        nbytes: how many bytes the elements of one block keep alive; None to look at them.
    """

    def __init__(self, nbytes: int | None = None) -> None:
        self._items: list[Block | Failure] = []
        self._nbytes = nbytes
        self._begin()

    def _begin(self) -> None:
        self._rows: list[Element] = []
        self._groups: list[tuple[Origin, int]] = []
        self._positions: list[Cursor] = []

    def add(self, element: Element, members: tuple[Origin, int], position: Cursor, after: Cursor) -> None:
        """Adds an element, with the origins and the number of those it was made of, and the positions before and after it."""
        self._rows.append(element)
        self._groups.append(members)
        self._positions[-1:] = [position, after]

    def fail(self, failure: Failure) -> None:
        """Adds a failure in place of an element."""
        self.finish().append(failure)

    def finish(self) -> list[Block | Failure]:
        """Returns the blocks, and the failures between them."""
        if self._rows:
            rows = Rows(self._rows) if self._nbytes is None else WeighedRows(self._rows, self._nbytes)
            self._items.append(Block(rows, PositionsCursor(self._positions), GroupOrigin(self._groups)))
            self._begin()
        return self._items
