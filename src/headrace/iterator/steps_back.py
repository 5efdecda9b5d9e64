"""Where a rank of a job stood some steps before, for ranks that were stopped at different ones."""

from __future__ import annotations

from collections import deque
from typing import Final

from headrace.blocks.cursor import Cursor, SavedCursor
from headrace.errors import HeadraceError
from headrace.iterator.saved_state import Earlier

__all__ = ["StepsBack"]

# How far back a rank's state reaches.
_STEPS: Final = 8
# Every how many elements a position is noted that has to be written down for that.
_WRITTEN_EVERY: Final = 4


class StepsBack:
    """The positions before the latest blocks of an iterator, each of which begins after so many elements."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: deque[tuple[Cursor | None, int, int]] = deque(maxlen=_STEPS)

    def note(self, cursor: Cursor | None, before: int, length: int) -> None:
        """Notes where a block began that was delivered: its cursor, how many elements came before it, and its own."""
        self._blocks.append((cursor, before, length))

    def note_written(self, cursor: Cursor | None, before: int) -> None:
        """Notes where an iterator stands whose cursor knows the present alone, before it goes on; not each time, as it is written down."""
        if self._blocks and before < self._blocks[-1][1] + _WRITTEN_EVERY:
            return
        try:
            noted = None if cursor is None else SavedCursor(cursor.state())
        except HeadraceError:  # of a generator's state_dict, which is told to whoever asks for a state
            return
        self._blocks.append((noted, before, _WRITTEN_EVERY - 1))

    def clear(self) -> None:
        """Forgets all, where the iterator goes on from elsewhere."""
        self._blocks.clear()

    def before(self, cursor: Cursor | None, before: int, delivered: int) -> Earlier | None:
        """Returns a position some steps before the present one, which is in the block that these say."""
        count = max(0, before + delivered - _STEPS)
        for begin, elements, length in [*self._blocks, (cursor, before, delivered)]:
            if elements + length >= count:
                return begin, 0 if isinstance(begin, SavedCursor) else max(0, count - elements)
        return None
