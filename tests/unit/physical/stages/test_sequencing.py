"""How far stages that choose elements read: no further than the last one that is asked for, and little at once of what is large."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from headrace.blocks.block import Block
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.observe.meter import Meter
from headrace.physical.pace import Pace
from headrace.physical.stage import Item, Stage
from headrace.physical.stages.sequencing import ShardStage
from headrace.plan.sequencing import Shard


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("taken", [1, 2, 50])
def test_a_shard_calls_no_function_for_what_is_after_its_last_element(taken: int, executor: str) -> None:
    called: list[int] = []

    def noted(x: int) -> int:
        called.append(x)
        return x

    ds = hr.Dataset.range(1000).map(noted).shard(4, 1).take(taken).with_options(hr.Options(executor=executor))
    assert list(ds) == [1 + 4 * number for number in range(taken)]
    assert called == list(range(4 * taken - 2))


class _Arrays(Stage):
    """Arrays of a million bytes, and how many were asked for."""

    def __init__(self) -> None:
        super().__init__(Meter("arrays"), (), IndexCursor(0))
        self.asked: list[int] = []
        self._index = 0

    def _pull(self, limit: int) -> Item:
        self.asked.append(limit)
        first, self._index = self._index, self._index + limit
        rows = [np.broadcast_to(np.uint8(0), 1 << 20)] * limit
        return Block(Rows(rows), IndexCursor(first), IndexOrigin(range(first, self._index)))


def test_a_shard_of_many_reads_little_at_once_of_what_is_large() -> None:
    source, pace = _Arrays(), Pace(bytes_limit=8 << 20)
    node = hr.Dataset.range(10).shard(1000, 0)._plan
    assert isinstance(node, Shard)
    stage = ShardStage(node, source, Meter("shard"), None, pace=pace)
    for _ in range(3):
        item = stage.pull(2)
        assert isinstance(item, Block)
    assert sum(source.asked) >= 2001
    assert max(source.asked) <= 8
