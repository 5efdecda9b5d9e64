"""What is read as a stage is, and is none: all elements of a small plan as pieces, and what a process reads.

And when pieces are few enough to be joined to those of others.
"""

from __future__ import annotations

from typing import Final, Protocol

from headrace.blocks.block import Block, BlockOrFailure
from headrace.blocks.columns import Columns
from headrace.physical.stage import Item

__all__ = ["MOST_BYTES", "Made", "Pieces", "ReadThere", "is_small"]

Pieces = list[BlockOrFailure]

# Copied whole, as into a batch or into a block with others: as long as a few calls take.
MOST_BYTES: Final = 1 << 16


class Made:
    """What was made at once, given as a stage gives it."""

    ready_elements = 0

    def __init__(self, pieces: Pieces) -> None:
        self._left = pieces[::-1]  # the next one is last

    @property
    def is_given(self) -> bool:
        """Whether nothing is left but the end."""
        return not self._left

    def pull(self, _limit: int) -> Item:
        """Returns the next piece, however long, or None at the end."""
        return self._left.pop() if self._left else None

    def stop(self) -> None:
        """Does nothing: nothing waits."""

    def close(self) -> None:
        """Does nothing: nothing is held."""


class ReadThere(Protocol):
    """A dataset that a process has open, read as a stage is."""

    ready_elements: int

    def pull(self, limit: int) -> Item:
        """Returns what comes next; None at the end."""
        ...

    def stop(self) -> None:
        """Ends every wait."""
        ...

    def close(self) -> None:
        """Gives back what it holds."""
        ...


def is_small(head: object, of: float = 1) -> bool:
    """Returns whether elements may be joined to others, which copies arrays; a failure is joined to nothing, no element to all.

    Args:
        head: the elements.
        of: so many times as many.
    """
    if type(head) is not Block:
        return head is None
    return type(head.payload) is not Columns or head.payload.nbytes * of <= MOST_BYTES
