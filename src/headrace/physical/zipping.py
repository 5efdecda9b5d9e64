"""The stage of zip: one element of each input, together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from headrace.observe.meter import Meter
from headrace.physical.block import Block, Failure
from headrace.physical.cursor import Cursor, State
from headrace.physical.payload import Zipped
from headrace.physical.stage import Item, Stage
from headrace.structure import TreeDef

__all__ = ["ZipStage"]


class ZipStage(Stage):
    """One element of each input; the shortest ends it.

    A failure of one input takes the others' elements with it, so that what comes behind it stays aligned.
    """

    def __init__(self, treedef: TreeDef, inputs: Sequence[Stage], meter: Meter) -> None:
        super().__init__(meter, inputs, _ZipCursor(tuple(stage.cursor for stage in inputs)))
        self._treedef = treedef
        self._heads: list[Item] = [None] * len(inputs)
        self._ended = False
        self.by_index = all(stage.by_index for stage in inputs)

    def _pull(self, limit: int) -> Item:
        if self._ended:
            return None
        heads: list[Block | Failure] = []
        for index, stage in enumerate(self.inputs):
            head = self._heads[index] or self._read(stage, limit)
            if head is None:
                self._ended = True
                return None
            self._heads[index] = head
            heads.append(head)
        failure = next((head for head in heads if isinstance(head, Failure)), None)
        if failure is not None:
            return self._failed(failure, heads)
        return self._zipped([head for head in heads if isinstance(head, Block)], limit)

    def _zipped(self, heads: list[Block], limit: int) -> Block:
        count = min(limit, *map(len, heads))
        self._drop(count)
        payload = Zipped(self._treedef, [head.slice(0, count).payload for head in heads])
        return Block(payload, _ZipCursor(tuple(head.cursor for head in heads)), heads[0].origin)

    def _failed(self, failure: Failure, heads: list[Block | Failure]) -> Failure:
        self._drop(1)
        before = _ZipCursor(tuple(head.cursor for head in heads))
        after = tuple(head.after if isinstance(head, Failure) else head.cursor.advance(1) for head in heads)
        return Failure(failure.error, before, _ZipCursor(after))

    def _drop(self, count: int) -> None:
        for index, head in enumerate(self._heads):
            rest = head.slice(count, len(head)) if isinstance(head, Block) and len(head) > count else None
            self._heads[index] = rest


@dataclasses.dataclass(frozen=True, slots=True)
class _ZipCursor:
    """In several inputs at once."""

    inputs: tuple[Cursor, ...]

    def advance(self, count: int) -> _ZipCursor:
        return _ZipCursor(tuple(cursor.advance(count) for cursor in self.inputs))

    def state(self) -> State:
        return {"inputs": [cursor.state() for cursor in self.inputs]}
