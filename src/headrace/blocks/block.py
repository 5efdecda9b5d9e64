"""How elements travel between stages: runs of consecutive elements, and failures between them.

A block is a payload, the cursor before its first element, and the origins of its elements. A ``Failure`` travels in place
of an element that could not be made. Blocks never contain one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from headrace.blocks.cursor import Cursor, JoinedCursor
from headrace.blocks.joining import join
from headrace.blocks.origin import JoinedOrigin, Origin
from headrace.blocks.payload import Payload
from headrace.errors import HeadraceError, InternalError
from headrace.frozen import frozen

__all__ = ["Block", "BlockOrFailure", "Failure", "joined_block"]


@frozen
class Block:
    """A run of consecutive elements, at least one."""

    payload: Payload
    cursor: Cursor
    origin: Origin

    def __len__(self) -> int:
        return len(self.payload)

    @property
    def after(self) -> Cursor:
        """The position after its last element."""
        return self.cursor.advance(len(self.payload))

    def slice(self, start: int, stop: int) -> Block:
        """Returns the elements from ``start`` to before ``stop``."""
        if start == 0 and stop >= len(self.payload):
            return self
        part = range(start, min(stop, len(self.payload)))
        return Block(self.payload.subset(part), self.cursor.advance(start), self.origin.subset(part))


def joined_block(blocks: Sequence[Block]) -> Block:
    """Joins consecutive blocks into one."""
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        raise InternalError("no blocks to join")
    lengths = [len(block) for block in blocks]
    starts = [*itertools.accumulate(lengths, initial=0)]
    # The last piece is the position after all of them, so that advancing to the end is exact.
    pieces = [*(block.cursor for block in blocks), blocks[-1].after]
    return Block(
        join([block.payload for block in blocks]),
        JoinedCursor(starts, pieces),
        JoinedOrigin.of(lengths, [block.origin for block in blocks]),
    )


@frozen
class Failure:
    """What takes the place of one element that could not be made.

    Attributes:
        error: the error as the user will see it.
        cursor: the position before it.
        after: the position from which the run goes on when the error has been delivered.
        by: the plan node on which the element failed, where somebody asks.
        is_last: whether nothing else can be had of what it was read of, not even the end.
    """

    error: HeadraceError
    cursor: Cursor
    after: Cursor
    by: object | None = None
    is_last: bool = False


BlockOrFailure = Block | Failure
