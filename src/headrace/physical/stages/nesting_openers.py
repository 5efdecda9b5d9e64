"""The elements of which flat_map and interleave make datasets: several are read at once, where that is quick, and open one each."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor
from headrace.coordination.closing import close_all
from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.physical.at_once import MOST_ELEMENTS
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.plan.node import Node

__all__ = ["NestingPaces", "Opener", "Openers"]


@frozen(eq=False)
class Opener:
    """An element that opens a dataset.

    Attributes:
        index: of the dataset.
        element: what the function is called with.
        block: with which it was read.
        at: where it is in that.
        plan: what the function made of it, or why there is none, or what that became already; None where it was not called yet.
    """

    index: int
    element: Element
    block: Block
    at: int
    plan: Node | Stage | Failure | None = None

    @property
    def cursor(self) -> Cursor:
        """The position before it."""
        return self.block.cursor.advance(self.at)

    @property
    def after(self) -> Cursor:
        """The position after it."""
        return self.block.cursor.advance(self.at + 1)

    def origin(self) -> str:
        """Returns where it came from, in words."""
        return self.block.origin.describe(self.at)

    def called(self, plan: Node | Stage | Failure) -> Opener:
        """Returns the same with what the function made of it."""
        return Opener(self.index, self.element, self.block, self.at, plan)


# What is done without a look at the clock, and what it may take before one element is handed on that others could follow.
_AT_ONCE_S: Final = 1e-4
_BEGUN_S: Final = 5e-4  # most of which stages take, and on a busy machine more than on a quiet one
_BLOCK_S: Final = 1e-3
_MOST_STRETCH: Final = 64
_ALL: Final = 1 << 62


class NestingPaces:
    """How much is done at once, by measurement.

    Args:
        pace: makes what decides about numbers of elements.
    """

    block_s = _BLOCK_S

    def __init__(self, pace: Callable[..., Pace]) -> None:
        self._openers = pace(target_s=_BLOCK_S)
        self._elements = pace(target_s=_AT_ONCE_S, limit=MOST_ELEMENTS)
        self._opened = self._given = 1
        self._opener_nbytes = 0
        self._stretch = 1
        self._further_s = math.inf
        self.let_through = 1.0  # what part of the elements that filters might let through they do

    def begin_like(self, before: NestingPaces) -> None:
        """Begins with what an earlier run has learned."""
        self._openers.begin_like(before._openers)
        self._elements.begin_like(before._elements)
        self._opened, self._given, self._opener_nbytes = before._opened, before._given, before._opener_nbytes
        self._stretch, self._further_s, self.let_through = before._stretch, before._further_s, before.let_through

    @property
    def room(self) -> int:
        """How many elements are made in no time, however few were asked for."""
        return min(self._elements.size * self._stretch, MOST_ELEMENTS)

    def begun(self, seconds: float, *, at_once: bool) -> None:
        """Learns from one dataset that was begun with so much room: whether it was made at once, and in which time.

        Stages take longer than their elements, and functions are called on more elements than come out of a ``batch`` or a
        ``filter``. So what comes out of stages says too little about how much room there is: while a dataset is begun in next to
        no time, the next one is given twice as much.
        """
        if seconds > _BEGUN_S:
            self._stretch = max(1, self._stretch // 2)
        elif not at_once:
            self._stretch = min(2 * self._stretch, _MOST_STRETCH)

    def read_further(self, elements: int, seconds: float) -> None:
        """Learns what so many elements took of a dataset that was open already."""
        each_s = seconds / elements
        self._further_s = each_s if math.isinf(self._further_s) else (self._further_s + each_s) / 2

    @property
    def further(self) -> int:
        """How many elements more are read of a dataset that was just opened, to have it whole: none while it is not known what they take."""
        return 0 if math.isinf(self._further_s) else min(int(self.block_s / (self._further_s + 1e-9)), MOST_ELEMENTS)

    @property
    def most_openers(self) -> int:
        """How many elements to read at most: those whose datasets are a block of work."""
        return self._openers.size

    def openers_for(self, limit: int) -> int:
        """Returns how many elements to read, so that the datasets made of them have about ``limit`` elements."""
        return max(1, min(self._openers.size, -(-limit * self._opened // self._given)))

    def read(self, openers: Block) -> None:
        """Learns how large the elements are that were read."""
        self._opener_nbytes = openers.payload.nbytes // len(openers)

    def observe(self, opened: int, given: int, seconds: float) -> None:
        """Learns from one block of so many elements, for which so many datasets were opened."""
        self._opened += opened
        self._given += given
        self._openers.observe(opened, seconds, opened * self._opener_nbytes)
        self._elements.observe(given, seconds, 0)


def _has_plan(opener: Opener) -> bool:
    return isinstance(opener.plan, Node)


class Openers:
    """Reads the elements that open datasets.

    Args:
        read: reads up to so many of them.
        cursor: the position of what is read so.
        index: of the dataset that is opened first.
        paces: how many are read at once.
        is_free: whether reading them waits for nothing, and costs next to nothing.
    """

    def __init__(
        self,
        read: Callable[[int], Item],
        cursor: Callable[[], Cursor],
        *,
        index: int,
        paces: NestingPaces,
        is_free: Callable[[], bool],
    ) -> None:
        self._read = read
        self._cursor = cursor
        self._paces = paces
        self._is_free = is_free
        self._given_back: deque[Opener] = deque()
        self._block: Block | None = None  # with elements that have opened nothing yet
        self._rows: list[Element] = []
        self._at = 0
        self._has_ended = False
        self._failure: Failure | None = None  # which comes next, in place of an element
        self._index = index  # of the dataset that the next one opens that was not given before

    @property
    def cursor(self) -> Cursor:
        """The position before the element that opens the next dataset."""
        if self._given_back:
            return self._given_back[0].cursor
        if self._failure is not None:
            return self._failure.cursor
        return self._cursor() if self._block is None else self._block.cursor.advance(self._at)

    @property
    def index(self) -> int:
        """The index of the dataset that is opened next."""
        return self._given_back[0].index if self._given_back else self._index

    @property
    def are_at_hand(self) -> bool:
        """Whether the next one was read already, or is read without a wait."""
        return self._block is not None or bool(self._given_back) or self._is_free()

    @property
    def have_plans(self) -> bool:
        """Whether the function was called with the next one."""
        return bool(self._given_back)

    def give_back(self, openers: Sequence[Opener]) -> None:
        """Takes back those that were given last, with which the function was called."""
        self._given_back.extendleft(reversed(openers))

    def with_plans(self) -> list[Opener]:
        """Returns the next ones as far as their plans are known, and nothing became of these yet."""
        return [*itertools.takewhile(_has_plan, self._given_back)]

    def close(self) -> None:
        """Gives back what functions made of those that were given back."""
        close_all([opener.plan.close for opener in self._given_back if isinstance(opener.plan, Stage)])

    @property
    def have_ended(self) -> bool:
        """Whether it is known that there is no other one."""
        return self._has_ended and self._block is None and self._failure is None and not self._given_back

    def begin_with(self, made: Sequence[Callable[[Opener], Node | Stage | Failure]]) -> None:
        """Takes in what the function made of the first elements, of which all are at hand; each is told with what opens it."""
        self._take_in(self._read(_ALL))
        if not made:
            return
        block, rows, at = self.at_hand()
        openers = [Opener(self._index + number, rows[number], block, at + number) for number in range(len(made))]
        self.pass_over(len(made))
        self.give_back([opener.called(plan_of(opener)) for opener, plan_of in zip(openers, made, strict=True)])

    def next(self, limit: int) -> Opener | Failure | None:
        """Returns the next element, a failure in place of one, or None at the end; datasets are wanted for ``limit`` elements."""
        if self._given_back:
            return self._given_back.popleft()
        if not self.fill(limit):
            failure, self._failure = self._failure, None
            self._index += failure is not None
            return failure
        assert self._block is not None  # as there are some
        opener = Opener(self._index, self._rows[self._at], self._block, self._at)
        self.pass_over(1)
        return opener

    def fill(self, limit: int) -> bool:
        """Reads elements if none are at hand; returns whether some are, and not a failure or the end."""
        if self._block is None and self._failure is None and not self._has_ended:
            wanted = self._paces.most_openers if self._is_free() else self._paces.openers_for(limit)
            self._take_in(self._read(wanted))
        return self._block is not None

    def _take_in(self, item: Item) -> None:
        """Takes in what was read, where none is at hand."""
        if isinstance(item, Block):
            self._block, self._rows, self._at = item, item.payload.rows(), 0
            self._paces.read(item)
        self._failure = item if isinstance(item, Failure) else None
        self._has_ended = item is None

    def at_hand(self) -> tuple[Block, Sequence[Element], int]:
        """Returns the block of which there are some, its elements, and where the next one is."""
        assert self._block is not None  # the caller has looked
        return self._block, self._rows, self._at

    def pass_over(self, count: int) -> None:
        """Goes on after so many of those that are at hand, or of those that were given back where some were."""
        if self._given_back:
            for _ in range(count):
                self._given_back.popleft()
            return
        self._index += count
        self._at += count
        if self._at == len(self._rows):
            self._block, self._rows = None, []
