"""The slots of flat_map and interleave: the datasets that are open side by side, and whose turn it is.

Slots are visited in turn; each gives ``block_length`` elements, and then the next one is visited. Where all have elements ready for whole
rounds, these are taken in one block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import State
from headrace.blocks.joining import woven
from headrace.blocks.origin import JoinedOrigin, Within
from headrace.physical.stage import Item
from headrace.physical.stages.nesting_opening import OpenSubplan
from headrace.physical.stages.nesting_turns import TurnsCursor, Whole

__all__ = ["CursorOf", "Slots"]

# Returns the position before a block that has so many elements of some slots.
CursorOf: TypeAlias = Callable[[Mapping[int, int]], TurnsCursor]


class Slots:
    """Open datasets, which are visited in turn.

    Args:
        count: how many slots there are.
        block_length: how many elements are a turn.
        cycle: the slot whose turn it is.
        given: how many elements it has given in that turn.

    Attributes:
        datasets: what is open in each slot.
    """

    def __init__(self, count: int, block_length: int, *, cycle: int, given: int) -> None:
        self.datasets: list[OpenSubplan | None] = [None] * count
        self.block_length = block_length
        self.cycle = cycle
        self.given = given

    @classmethod
    def of(cls, state: State | None, count: int, block_length: int, again: Callable[[State], OpenSubplan]) -> Slots:
        """Returns slots as a state says, or empty ones.

        Args:
            state: that of the stage; None at its start.
            count: how many slots there are.
            block_length: how many elements are a turn.
            again: opens a dataset where its state says.
        """
        if state is None:
            return cls(count, block_length, cycle=0, given=0)
        slots = cls(count, block_length, cycle=state["cycle"], given=state["given"])
        for slot, saved in enumerate(state["slots"]):
            if saved is not None:
                slots.datasets[slot] = again(saved)
        return slots

    def __len__(self) -> int:
        return len(self.datasets)

    @property
    def present(self) -> OpenSubplan | None:
        """The dataset of the slot whose turn it is."""
        return self.datasets[self.cycle]

    @property
    def are_empty(self) -> bool:
        """Whether no dataset is open."""
        return not any(self.datasets)

    @property
    def count_of_read(self) -> int:
        """How many have no dataset, or one of which all was read."""
        return sum(dataset is None or dataset.reader.is_read for dataset in self.datasets)

    def fill(self, dataset: OpenSubplan) -> None:
        """Puts a dataset into the slot whose turn it is."""
        self.datasets[self.cycle] = dataset

    def empty(self) -> None:
        """Empties the slot whose turn it is, and which has not had it."""
        self.datasets[self.cycle] = None

    def leave(self, dataset: OpenSubplan) -> None:
        """Leaves the slot whose turn it is, as its dataset has ended."""
        dataset.reader.close()
        self.empty()
        self.visit_next()

    def visit_next(self) -> None:
        """Begins the turn of the next slot."""
        self.cycle = (self.cycle + 1) % len(self.datasets)
        self.given = 0

    def a_ready_one(self, dataset: OpenSubplan) -> OpenSubplan:
        """Returns a dataset that has something ready, whose turn begins, if the one whose turn it is has not."""
        if dataset.reader.is_ready():
            return dataset
        for index, other in enumerate(self.datasets):
            if other is not None and other.reader.is_ready():
                self.cycle, self.given = index, 0
                return other
        return dataset

    def giving(self, *, opens_more: bool) -> list[OpenSubplan]:
        """Returns the datasets that give in a round, from this turn on; none where another would be opened on the way.

        Args:
            opens_more: whether there is another to be opened.
        """
        turned = self.datasets[self.cycle :] + self.datasets[: self.cycle]
        opened = [dataset for dataset in turned if dataset is not None]
        return [] if opens_more and len(opened) < len(turned) else opened

    def turn(self, dataset: OpenSubplan, head: Block, limit: int, cursor_of: CursorOf) -> Block:
        """Takes elements of the dataset whose turn it is, of which ``head`` is ready."""
        count = min(limit, len(head), self.block_length - self.given)
        cursor = cursor_of({self.cycle: count})
        block = dataset.reader.take(count)
        self.given += count
        if self.given == self.block_length:
            self.visit_next()
        return Block(block.payload, cursor, Within(block.origin, dataset.opener.block.origin, dataset.opener.at))

    def rounds(
        self, giving: Sequence[OpenSubplan], limit: int, peek: Callable[[OpenSubplan, int], Item], cursor_of: CursorOf
    ) -> Block | None:
        """Takes as many whole rounds over all slots as there are elements ready for, in one block."""
        length = self.block_length
        rounds = limit // (len(giving) * length) if giving else 0
        if len(self.datasets) == 1 or self.given or not rounds:
            return None
        for dataset in giving:
            head = peek(dataset, max(length, limit // len(giving)))
            if not isinstance(head, Block):
                return None
            rounds = min(rounds, len(head) // length)
        if not rounds:
            return None
        cursor = cursor_of({index: rounds * length for index, one in enumerate(self.datasets) if one is not None})
        blocks = [dataset.reader.take(rounds * length) for dataset in giving]
        origins = [
            Within(block.origin, dataset.opener.block.origin, dataset.opener.at)
            for block, dataset in zip(blocks, giving, strict=True)
        ]
        if len(blocks) == 1:  # the last dataset of all
            return Block(blocks[0].payload, cursor, origins[0])
        order = np.arange(len(giving) * rounds * length).reshape(len(giving), rounds, length).swapaxes(0, 1).ravel()
        payload = woven([block.payload for block in blocks], length)
        origin = JoinedOrigin.of([len(block) for block in blocks], origins).subset(order)
        return Block(payload, cursor, origin)

    def positions(self, taken: Mapping[int, int]) -> list[Whole | None]:
        """Returns where each dataset stands, of some of which so many elements are taken."""
        return [
            None if one is None else Whole(one.opener, None, one.reader.cursor, taken.get(index, 0))
            for index, one in enumerate(self.datasets)
        ]

    def wholes(self) -> list[Whole | None] | None:
        """Returns the datasets as turns take them; None where one of them does not lie whole."""
        wholes = [None if one is None else one.whole() for one in self.datasets]
        return None if wholes.count(None) > self.datasets.count(None) else wholes
