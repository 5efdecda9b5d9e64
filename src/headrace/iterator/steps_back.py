"""Where a rank of a job stood some steps before, for ranks that were stopped at different ones."""

from __future__ import annotations

from collections import deque
from typing import Final

from headrace.blocks.cursor import Cursor
from headrace.iterator.saved_state import Earlier

__all__ = ["StepsBack"]

# How far back a rank's state reaches.
_STEPS: Final = 8


class StepsBack:
    """The positions before the latest blocks of an iterator, each of which begins after so many elements."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: deque[tuple[Cursor | None, int, int]] = deque(maxlen=_STEPS)

    def note(self, cursor: Cursor | None, before: int, length: int) -> None:
        """Notes where a block began that was delivered: its cursor, how many elements came before it, and its own."""
        self._blocks.append((cursor, before, length))

    def clear(self) -> None:
        """Forgets all, where the iterator goes on from elsewhere."""
        self._blocks.clear()

    def before(self, cursor: Cursor | None, before: int, delivered: int) -> Earlier | None:
        """Returns a position some steps before the present one, which is in the block that these say."""
        count = max(0, before + delivered - _STEPS)
        for begin, elements, length in [*self._blocks, (cursor, before, delivered)]:
            if elements + length >= count:
                return begin, max(0, count - elements)
        return None
