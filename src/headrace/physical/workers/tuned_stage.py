"""An operation whose number of calls is left to headrace: as if it had no workers, or in workers, whichever is quicker.

Each of the two is a stage over the same input, made anew when it takes over. While the operation has no workers it *is* the
stage that it would be if nobody had asked for any: the same loop, the same blocks, the same requests to its input.

What always holds: one of the two reads the input, and the other takes over when that one has given all that it read. So order
and positions are those of the input.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from headrace.blocks.block import Block
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.physical.workers.parallel_stage import ParallelStage
from headrace.physical.workers.task_paces import TaskPaces
from headrace.physical.workers.tuned_calls import TunedCalls

__all__ = ["TunedStage"]


class TunedStage(Stage):
    """One of two stages over an input, of which a tuner chooses.

    Args:
        here: makes the stage that does the operation in the thread that reads it.
        beside: makes the stage that has workers do it; told how many elements came before.
        tuner: says which.
        paces: how much a task is.
        inputs_each: of how many elements of its input the operation makes one.
        given: how many elements others have given before.
    """

    times_pulls = False

    def __init__(
        self,
        input_stage: Stage,
        meter: Meter,
        *,
        here: Callable[[Stage], Stage],
        beside: Callable[[Stage, int], ParallelStage],
        tuner: TunedCalls,
        paces: TaskPaces,
        inputs_each: int = 1,
        given: int = 0,
    ) -> None:
        self._source = input_stage
        self._make_here = here
        self._make_beside = beside
        self._tuner = tuner
        self._paces = paces
        self._inputs_each = inputs_each
        self._given = given  # elements, failures among them
        self._beside: ParallelStage | None = None
        self._stopped = False
        current = self._made()
        super().__init__(meter, (current,), current.cursor)

    def pull(self, limit: int) -> Item:
        """Returns what the stage of the moment gives, which counts it."""
        item = self._from_current(limit)
        if isinstance(item, Block):
            self._before = (item.cursor, len(item))
            self._given += len(item)
        elif item is not None:
            self._before = (item.after, 0)
            self._given += 1
        return item

    def _from_current(self, limit: int) -> Item:
        while True:
            (current,) = self.inputs
            is_wanted = (self._beside is None) == (self._tuner.now == 1)
            if not is_wanted and not current.holds_elements:
                self._change()
                continue
            if self._beside is None:
                # A batch that is begun is completed, and no other is begun.
                return self._made_here(current, limit if is_wanted or self._inputs_each == 1 else 1)
            self._beside.reads_on = is_wanted
            item = current.pull(limit)
            if item is not None or is_wanted:
                return item

    def _made_here(self, current: Stage, limit: int) -> Item:
        most = self._tuner.most_here
        if most is not None:
            limit = min(limit, max(1, most // self._inputs_each))
        current.is_stacked = self.is_stacked
        item = current.pull(limit)
        if isinstance(item, Block):
            inputs, end_s = len(item) * self._inputs_each, time.perf_counter()
            if self._tuner.observe(inputs, end_s - current.own_s, end_s, 1):
                self._paces.making.observe(inputs, current.own_s, item.payload.nbytes)
                self._paces.reading.observe(inputs, current.inside_s, 0)
        return item

    def _change(self) -> None:
        """Has the other stage take over."""
        if self._beside is not None:
            self._beside.let_go()
            self._beside = None
        current = self._made()
        self.inputs = (current,)
        if self._stopped:  # stop() came while there was nothing of this stage to be stopped
            current.stop()

    def _made(self) -> Stage:
        if self._tuner.now == 1:
            here = self._make_here(self._source)
            here.meter.calls = 1
            return here
        self._beside = self._make_beside(self._source, self._given)
        return self._beside

    def _is_spent(self) -> bool:
        return self.inputs[0].is_spent

    def stop(self) -> None:
        self._stopped = True
        super().stop()
