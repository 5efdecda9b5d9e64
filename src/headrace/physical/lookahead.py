"""Items that are read of something before they are taken: of a stage, or of the plan that a function made.

What is ready is a block, and after it perhaps a failure; a failure alone where there is no block. It stays the next until
it is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.blocks.block import Block, Failure, joined_block
from headrace.blocks.cursor import Cursor
from headrace.physical.stage import Item, Stage
from headrace.semantics.held_bytes import Holding

__all__ = ["Lookahead", "StageLookahead"]

# To say more often what is left would take longer than to take it.
_SLIGHT_BYTES: Final = 1 << 16


class Lookahead:
    """What was read and not taken yet."""

    def __init__(self, holding: Holding | None = None) -> None:
        self._holding = holding
        self._nbytes = 0  # as the holding was told
        self._each_bytes: float | None = None  # of an element that is ready; None while none was taken
        self._block: Block | None = None
        self._failure: Failure | None = None
        self.ended = False  # whether all was read

    def _next(self, limit: int) -> Item:
        """Reads the next item, of at most ``limit`` elements."""
        raise NotImplementedError

    @property
    def head(self) -> Item:
        """The next item, if it was read; None otherwise, and at the end."""
        return self._failure if self._block is None else self._block

    def peek(self, limit: int) -> Item:
        """Returns the next item, which stays the next; ``limit`` bounds what is read for it. None at the end."""
        if self._block is None and self._failure is None and not self.ended:
            item = self._next(limit)
            if isinstance(item, Block):
                self._block = item
                self._each_bytes = None
            else:
                self._failure, self.ended = item, item is None
            return item
        return self.head

    def fill(self, wanted: int) -> int:
        """Reads until ``wanted`` elements are ready; returns how many do, fewer only before a failure or the end."""
        blocks = [self._block] if self._block is not None else []
        length = sum(map(len, blocks))
        while length < wanted and self._failure is None and not self.ended:
            item = self._next(wanted - length)
            if isinstance(item, Block):
                blocks.append(item)
                length += len(item)
                self._each_bytes = None
            else:
                self._failure, self.ended = item, item is None
        self._block = joined_block(blocks) if blocks else None
        return length

    def read_more(self, limit: int) -> int:
        """Reads the next item after the block that is ready, of at most ``limit`` elements; returns how many it has."""
        before = self._block
        assert before is not None  # the caller has peeked
        assert self._failure is None  # as above
        item = self._next(limit)
        if not isinstance(item, Block):
            self._failure, self.ended = item, item is None
            return 0
        self._block, self._each_bytes = joined_block([before, item]), None
        return len(item)

    def first(self, count: int) -> Block:
        """Returns the first ``count`` elements that are ready, which stay the next."""
        assert self._block is not None  # the caller has peeked
        return self._block.slice(0, count)

    def take(self, count: int) -> Block:
        """Returns the first ``count`` elements that are ready, and goes on after them."""
        block = self._block
        assert block is not None  # as above
        if count == len(block):
            self._block = None
            self._holds(0)
            return block
        if self._holding is not None:
            if self._each_bytes is None:
                self._each_bytes = block.payload.nbytes / len(block)
            self._holds(int(self._each_bytes * (len(block) - count)))
        self._block = block.slice(count, len(block))
        return block.slice(0, count)

    def _holds(self, nbytes: int) -> None:
        """Says how much is left of a block of which a part was taken, where that is not slight."""
        if self._holding is not None and (abs(nbytes - self._nbytes) >= _SLIGHT_BYTES or (self._nbytes and not nbytes)):
            self._holding.add(nbytes - self._nbytes)
            self._nbytes = nbytes

    def drop_failure(self) -> Failure:
        """Returns the failure that is ready, and goes on after it."""
        failure, self._failure = self._failure, None
        assert failure is not None  # as above
        return failure


def _pulled(stage: Stage, limit: int) -> Item:
    return stage.pull(limit)  # its own, which counts in a way of its own where it is made of others


class StageLookahead(Lookahead):
    """The same over a stage.

    Args:
        stage: what is read.
        read: reads it; it may count the time that this takes.
        holding: is told how many bytes are ready.
    """

    def __init__(
        self, stage: Stage, read: Callable[[Stage, int], Item] = _pulled, holding: Holding | None = None
    ) -> None:
        super().__init__(holding)
        self.stage = stage
        self._read = read

    def _next(self, limit: int) -> Item:
        return self._read(self.stage, limit)

    @property
    def cursor(self) -> Cursor:
        """The position of the next element."""
        head = self.head
        return self.stage.cursor if head is None else head.cursor
