"""The access to operations that choose elements, or put them in another order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from headrace.backends.access.dispatch import Access, access_of
from headrace.backends.reference.stream import Given
from headrace.plan.node import nodes_of
from headrace.plan.randomness import randomness_of
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.semantics.run_context import RunContext

__all__: list[str] = []

# So many turns of a repeat keep their orders: neighbours are asked for together, and each order is as long as the dataset.
_TURNS_KEPT: Final = 2


class ChosenAccess:
    """Some of the elements: which, a function says."""

    def __init__(self, length: int | None, number_of: Callable[[int], int], read: Access) -> None:
        self.length = length
        self.number_of = number_of
        self.input = read

    def at(self, number: int) -> Given:
        return self.input.at(self.number_of(number))


@access_of.register
def _take(node: Take, context: RunContext) -> Access:
    read = access_of(node.input, context)
    if node.count < 0:
        return read
    length = node.count if read.length is None else min(node.count, read.length)
    return ChosenAccess(length, lambda number: number, read)


@access_of.register
def _skip(node: Skip, context: RunContext) -> Access:
    read = access_of(node.input, context)
    if node.count < 0:
        return ChosenAccess(0, lambda number: number, read)
    length = None if read.length is None else max(0, read.length - node.count)
    return ChosenAccess(length, lambda number: number + node.count, read)


@access_of.register
def _shard(node: Shard, context: RunContext) -> Access:
    read = access_of(node.input, context.upstream_of_shard(node))
    length = None if read.length is None else len(range(node.index, read.length, node.num_shards))
    return ChosenAccess(length, lambda number: number * node.num_shards + node.index, read)


class RepeatAccess:
    """The elements of one turn after the other."""

    def __init__(self, count: int | None, turn: Callable[[int], Access], *, is_random: bool) -> None:
        self.access_in = functools.lru_cache(_TURNS_KEPT)(turn)
        self.is_random = is_random
        self.once = once = self.access_in(0).length
        if count == 0 or once == 0:
            self.length: int | None = 0
        else:
            self.length = None if count is None or once is None else count * once

    def at(self, number: int) -> Given:
        turn, inside = (0, number) if self.once is None else divmod(number, self.once)
        return self.access_in(turn if self.is_random else 0).at(inside)


@access_of.register
def _repeat(node: Repeat, context: RunContext) -> Access:
    # What is not random is the same in every turn.
    is_random = any(randomness_of(inner) for inner in nodes_of(node.input))
    return RepeatAccess(node.count, lambda turn: access_of(node.input, context.for_repeat(turn)), is_random=is_random)


class ConcatenateAccess:
    """The elements of one dataset, and then those of another."""

    def __init__(self, first: Access, second: Access) -> None:
        self.first = first
        self.second = second
        self.length = None if first.length is None or second.length is None else first.length + second.length

    def at(self, number: int) -> Given:
        before = self.first.length
        if before is None or number < before:
            return self.first.at(number)
        return self.second.at(number - before)


@access_of.register
def _concatenate(node: Concatenate, context: RunContext) -> Access:
    first, second = (access_of(child, context.for_input(node.inputs, part)) for part, child in enumerate(node.inputs))
    return ConcatenateAccess(first, second)
