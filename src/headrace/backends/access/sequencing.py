"""The access to operations that choose elements, or put them in another order."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from itertools import accumulate
from typing import Final

from headrace.backends.access.dispatch import Access, access_of
from headrace.backends.reference.stream import Given
from headrace.plan.randomness import entropies_of
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.semantics.run_context import RunContext

__all__: list[str] = []

# This many turns of a repeat keep their orders: neighbours are asked for together, and each order is as long as the dataset.
_TURNS_KEPT: Final = 2


class ChosenAccess:
    """Some of the elements: which, a function says."""

    def __init__(self, length: int | None, index_of: Callable[[int], int], read: Access) -> None:
        self.length = length
        self.index_of = index_of
        self.input = read

    def at(self, index: int) -> Given:
        return self.input.at(self.index_of(index))


@access_of.register
def _take(node: Take, context: RunContext) -> Access:
    read = access_of(node.input, context)
    if node.count < 0:
        return read
    length = node.count if read.length is None else min(node.count, read.length)
    return ChosenAccess(length, lambda index: index, read)


@access_of.register
def _skip(node: Skip, context: RunContext) -> Access:
    read = access_of(node.input, context)
    if node.count < 0:
        return ChosenAccess(0, lambda index: index, read)
    length = None if read.length is None else max(0, read.length - node.count)
    return ChosenAccess(length, lambda index: index + node.count, read)


@access_of.register
def _shard(node: Shard, context: RunContext) -> Access:
    read = access_of(node.input, context.upstream_of_shard(node))
    length = None if read.length is None else len(range(node.index, read.length, node.num_shards))
    return ChosenAccess(length, lambda index: index * node.num_shards + node.index, read)


class RepeatAccess:
    """The elements of one turn after the other.

    Args:
        count: how many turns there are; None without an end.
        first: the first turn.
        turn: makes that of an index; None where what is repeated is not random, so every turn is as the first.
    """

    def __init__(self, count: int | None, first: Access, turn: Callable[[int], Access] | None) -> None:
        self.turn = turn
        self.turns = {0: first}  # the latest that were asked for, the last one last
        self.once = once = first.length
        if count == 0 or once == 0:
            self.length: int | None = 0
        else:
            self.length = None if count is None or once is None else count * once

    def at(self, index: int) -> Given:
        turn, inside = (0, index) if self.once is None else divmod(index, self.once)
        return self.access_in(turn).at(inside)

    def access_in(self, turn: int) -> Access:
        if self.turn is None:
            return self.turns[0]
        access = self.turns.pop(turn, None) or self.turn(turn)
        self.turns[turn] = access
        if len(self.turns) > _TURNS_KEPT:
            self.turns.pop(next(iter(self.turns)), None)
        return access


@access_of.register
def _repeat(node: Repeat, context: RunContext) -> Access:
    def turn(index: int) -> Access:
        return access_of(node.input, context.for_repeat(index))

    # What is not random is the same in every turn.
    return RepeatAccess(node.count, turn(0), turn if entropies_of(node.input) else None)


class ConcatenateAccess:
    """The elements of one dataset after the other."""

    def __init__(self, parts: list[Access]) -> None:
        # What comes after a dataset without an end is never read.
        endless = next((part for part, read in enumerate(parts) if read.length is None), len(parts))
        self.parts = parts
        self.ends = list(accumulate(read.length or 0 for read in parts[:endless]))
        self.length = None if endless < len(parts) else self.ends[-1]

    def at(self, index: int) -> Given:
        part = bisect.bisect_right(self.ends, index)
        return self.parts[part].at(index - (self.ends[part - 1] if part else 0))


@access_of.register
def _concatenate(node: Concatenate, context: RunContext) -> Access:
    return ConcatenateAccess(
        [access_of(child, context.for_input(node.inputs, part)) for part, child in enumerate(node.inputs)]
    )
