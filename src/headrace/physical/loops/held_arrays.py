"""Arrays that a list holds, for a reader that joins them: a block of them is read at once.

Nobody runs between two of them, so each needs no copy of its own before the next one is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.blocks.payload import Payload
from headrace.blocks.ragged_rows import RaggedColumn, RaggedRows
from headrace.elements.leaf_arrays import common_items
from headrace.elements.structure import LEAF
from headrace.physical.loops.joined_form import is_long, is_of_numbers
from headrace.plan.fetching import Fetch
from headrace.plan.node import Node

__all__ = ["HeldArrays"]


class HeldArrays:
    """What a source fetches from a list, as long as all of it is short arrays of numbers."""

    def __init__(self, held: Sequence[Any]) -> None:
        self._held = held
        self._are_short = True

    @classmethod
    def of(cls, node: Node) -> HeldArrays | None:
        """Returns those of an operation that does nothing but fetch from a list or a tuple; None of any other."""
        function = getattr(node, "function", None)
        held: Any = getattr(function.func, "__self__", None) if type(function) is Fetch else None
        return cls(held) if type(held) in (list, tuple) else None

    def joined(self, numbers: Payload) -> RaggedRows | None:
        """Returns the arrays with these numbers; None where each must be looked at by itself."""
        if not self._are_short:
            return None
        held = self._held
        try:
            arrays = [held[number] for number in numbers.rows()]
        except (IndexError, TypeError):
            return None
        items = common_items(arrays)
        if items is None or items[1] or not is_of_numbers(items[0]):
            self._are_short = False
            return None
        # Their bytes cost half as much as to join the arrays.
        contents = [array.tobytes() for array in arrays]
        self._are_short = not is_long(sum(map(len, contents)), len(contents))
        return RaggedRows(LEAF, [RaggedColumn(contents, items[0])])
