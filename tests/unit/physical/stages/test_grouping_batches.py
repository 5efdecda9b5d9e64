"""A stage that gathers batches looks at each block that comes a fixed number of times, however many a batch has."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.observe.meter import Meter
from headrace.physical.budget import Budget
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.grouping_batches import BatchStage
from headrace.plan.grouping import Batch
from headrace.semantics.held_bytes import Holding

ROW_BYTES = 10


class Weighed(Rows):
    """Rows that note how often their bytes were asked for."""

    looks = 0

    @property
    def nbytes(self) -> int:
        Weighed.looks += 1
        return ROW_BYTES * len(self)


class Singles(Stage):
    """Gives numbers, one a block."""

    def __init__(self) -> None:
        super().__init__(Meter("singles"), (), IndexCursor(0))
        self._next = 0

    def _pull(self, limit: int) -> Item:
        at, self._next = self._next, self._next + 1
        return Block(Weighed([at]), IndexCursor(at), IndexOrigin(range(at, at + 1)))


@pytest.mark.parametrize("size", [8, 64, 512])
def test_blocks_of_a_batch_are_weighed_once_as_they_come(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Weighed, "looks", 0)
    budget = Budget(1 << 20)
    node = hr.Dataset.range(size).batch(size)._plan
    assert isinstance(node, Batch)
    held: list[int] = []
    monkeypatch.setattr(Holding, "hold", lambda _, nbytes, *__, **___: held.append(nbytes))
    stage = BatchStage(node, Singles(), Meter("batch"), holding=budget.gathering("batch", ""))
    assert isinstance(stage.pull(1), Block)
    assert held[: size - 1] == [ROW_BYTES * count for count in range(1, size)]
    assert Weighed.looks <= 2 * size


class AtHand(Singles):
    """Gives as many numbers as are asked for, of which so many lie ready."""

    def __init__(self, ready: int) -> None:
        super().__init__()
        self.ready_elements = ready

    def _pull(self, limit: int) -> Item:
        start, self._next = self._next, self._next + limit
        self.ready_elements -= limit
        return Block(Rows([*range(start, start + limit)]), IndexCursor(start), IndexOrigin(range(start, start + limit)))


@pytest.mark.parametrize(("ready", "size", "made"), [(50, 8, 6), (50, 50, 1), (50, 51, 0), (300, 1, 64)])
def test_batches_of_what_lies_ready_are_asked_for_together(ready: int, size: int, made: int) -> None:
    node = hr.Dataset.range(ready).batch(size)._plan
    assert isinstance(node, Batch)
    stage = BatchStage(node, AtHand(ready), Meter("batch"))
    assert stage.made_elements == made
    if made:
        block = stage.pull(made)
        assert isinstance(block, Block)
        assert len(block) == made
