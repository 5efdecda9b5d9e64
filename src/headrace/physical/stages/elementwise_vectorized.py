"""Vectorized maps and filters: one call for a block, and where that fails one for each element."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.blocks.block import Block, BlockOrFailure
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.physical.workers.own_turn import OwnTurn

__all__ = ["PiecewiseStage"]


class PiecewiseStage(Stage):
    """A stage that makes some pieces of each block that it reads, in the thread of its driver.

    Args:
        make: makes them.
        turn: what its calls wait for, where no more than so many may run at once.
    """

    def __init__(
        self,
        make: Callable[[Block], list[BlockOrFailure]],
        input_stage: Stage,
        meter: Meter,
        turn: OwnTurn | None = None,
    ) -> None:
        super().__init__(meter, (input_stage,), input_stage.cursor)
        self._make = make
        self._turn = turn
        self._ready: list[BlockOrFailure] = []  # reversed: the next one is last

    def _pull(self, limit: int) -> Item:
        while not self._ready:
            item = self._read(self.inputs[0], limit)
            if not isinstance(item, Block):
                return item
            make = functools.partial(self._make, item)
            self._ready = (make() if self._turn is None else self._turn.call(make))[::-1]
        return self._ready.pop()

    def _holds_elements(self) -> bool:
        return bool(self._ready)

    def stop(self) -> None:
        if self._turn is not None:
            self._turn.stop()
        super().stop()
