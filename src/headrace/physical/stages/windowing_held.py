"""The groups of a group_by_window, and positions among them.

A state is the position of the oldest element that is held, and for each group the indices of its elements, counted from
there. A position must cost little, as there is one with every block: groups only ever grow until they are full, so it is
enough to remember how much had been read and how many groups had been full, and to leave the groups themselves to the
writer of the state.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from headrace.blocks.cursor import Cursor, State
from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.physical.input_history import InputRuns, position_in
from headrace.semantics.windowing import group_state

__all__ = ["Group", "GroupCursor", "GroupsPosition"]


class Group:
    """Elements with one key; it only grows until it is full."""

    __slots__ = ("full_at", "indices", "key", "rows", "size")

    def __init__(self, key: int, size: int) -> None:
        self.key = key
        self.size = size
        self.indices: list[int] = []
        self.rows: list[Element] = []
        self.full_at: int | None = None  # how many groups were full before it

    def add(self, index: int, row: Element) -> None:
        self.indices.append(index)
        self.rows.append(row)


@frozen
class GroupsPosition:
    """Where the stage stands: how much was read, and how many groups were full."""

    read: int
    full: int
    groups: Sequence[Group]
    current: Group | None
    runs: InputRuns

    def state(self, inner: Cursor | None) -> State:
        groups = [
            (held.key, held.size, held.indices[: bisect.bisect_left(held.indices, self.read)])
            for held in self.groups
            if held.full_at is None or held.full_at >= self.full
        ]
        group = self.current
        current = None if group is None else (group.key, group.indices, None if inner is None else inner.state())
        return group_state(
            self.read,
            self.full,
            [held for held in groups if held[2]],
            current,
            lambda index: position_in(self.runs, index).state(),
        )


@frozen
class GroupCursor:
    """In the dataset of a group; between two groups where there is none."""

    position: GroupsPosition
    inner: Cursor | None = None

    def advance(self, count: int) -> GroupCursor:
        return self if self.inner is None else GroupCursor(self.position, self.inner.advance(count))

    def state(self) -> State:
        return self.position.state(self.inner)
