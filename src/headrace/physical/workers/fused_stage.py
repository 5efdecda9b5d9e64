"""Neighbouring operations of which some are left to headrace: one loop while none of those has workers, else a stage for each.

Each of the two forms is made anew when it takes over. It reads the input through a tap, which ends when the other form is
wanted: so who reads gives all that it has read, and then the other one goes on. Order and positions are those of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headrace.blocks.block import Block
from headrace.observe.meter import Meter
from headrace.physical.stage import Item, Stage
from headrace.physical.workers.tuned_calls import TunedCalls

__all__ = ["FusedStage"]

# Makes a form: of its input, told how many elements were read of that before, and how many were given.
MakeForm = Callable[[Stage, int, int], Stage]
_ANY: Final = 1 << 62


class FusedStage(Stage):
    """One of two forms of neighbouring operations, as their tuners choose.

    Args:
        meter: of the last operation.
        fused: makes the loop.
        apart: makes the stages of which each has a tuner of its own or none.
        tuners: say which operations have workers.
    """

    times_pulls = False

    def __init__(
        self, input_stage: Stage, meter: Meter, *, fused: MakeForm, apart: MakeForm, tuners: Sequence[TunedCalls]
    ) -> None:
        self._source = input_stage
        self._make = {True: fused, False: apart}
        self._tuners = tuners
        self._read_before = 0  # elements of the input that taps before this one gave
        self._given = 0  # elements, failures among them
        self._stopped = False
        self._begin()
        super().__init__(meter, self.inputs, self.inputs[0].cursor)

    def pull(self, limit: int) -> Item:
        """Returns what the form of the moment gives, which counts it."""
        while True:
            (current,) = self.inputs
            current.is_stacked = self.is_stacked
            item = current.pull(self._most(limit))
            if item is not None:
                break
            if not self._tap.closed:
                return None
            self._change()
        if isinstance(item, Block):
            self._before = (item.cursor, len(item))
            self._given += len(item)
        else:
            self._before = (item.after, 0)
            self._given += 1
        return item

    def _most(self, limit: int) -> int:
        """Returns how many elements to ask for: few, while it is not known that they are cheap."""
        if not self._is_fused:
            return limit  # each stage knows that by itself
        return min([limit, *(tuner.most_here or _ANY for tuner in self._tuners)])

    def _is_wanted(self) -> bool:
        return self._is_fused == self._is_serial()

    def _is_serial(self) -> bool:
        return all(tuner.now == 1 for tuner in self._tuners)

    def _change(self) -> None:
        """Has the other form take over."""
        (current,) = self.inputs
        current.close()  # not its tap, which is closed
        self._read_before += self._tap.read
        self._begin()
        if self._stopped:  # stop() came while there was nothing of this form to be stopped
            self.inputs[0].stop()

    def _begin(self) -> None:
        self._is_fused = self._is_serial()
        self._tap = tap = _Tap(self._source, self._is_wanted)
        self.inputs: Sequence[Stage] = (self._make[self._is_fused](tap, self._read_before, self._given),)

    def _is_spent(self) -> bool:
        return self.inputs[0].is_spent

    def stop(self) -> None:
        self._stopped = True
        super().stop()


class _Tap(Stage):
    """The input of a form, which ends for it when another is wanted.

    Attributes:
        read: how many elements it gave.
        closed: whether it has ended for that.
    """

    times_pulls = False

    def __init__(self, source: Stage, is_wanted: Callable[[], bool]) -> None:
        super().__init__(source.meter, (source,), source.cursor)
        self.read = 0
        self.closed = False
        self.by_index, self.is_numbers = source.by_index, source.is_numbers
        self._source = source
        self._is_wanted = is_wanted

    def pull(self, limit: int) -> Item:
        """Returns what its source gives, which counts it."""
        self.closed = self.closed or not self._is_wanted()
        if self.closed:
            return None
        item = self._source.pull(limit)
        if isinstance(item, Block):
            self._before = (item.cursor, len(item))
            self.read += len(item)
        elif item is not None:
            self._before = (item.after, 0)
            self.read += 1
        return item

    def _is_spent(self) -> bool:
        return self._source.is_spent

    def close(self) -> None:
        if not self.closed:
            super().close()
