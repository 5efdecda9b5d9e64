"""Elements that headrace saved, read by index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.blocks.columns import Columns
from headrace.blocks.origin import Indices
from headrace.elements.ownership import read_only_rows
from headrace.elements.structure import Element

if TYPE_CHECKING:
    from headrace.io.elements.file import ElementFile

__all__ = ["StoredSource"]


class StoredSource:
    """Elements in a file, by index."""

    __slots__ = ("file",)

    def __init__(self, file: ElementFile) -> None:
        self.file = file

    @property
    def has_tuples(self) -> bool | None:
        return self.file.has_tuples

    @property
    def is_columnar(self) -> bool:
        return self.file.is_columnar

    def rows(self, indices: Indices) -> list[Element]:
        return read_only_rows(self.file.rows(indices))

    def columns(self, indices: Indices) -> Columns:
        treedef, arrays, keys_in_order = self.file.arrays(indices)
        return Columns(treedef, arrays, keys_in_order=keys_in_order)
