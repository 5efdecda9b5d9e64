"""Datasets that flat_map makes of elements one after the other, made together where their plans have one form."""

from __future__ import annotations

import bisect
import itertools
import time
from collections.abc import Sequence
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.origin import Indices, Within, subset
from headrace.frozen import frozen
from headrace.observe.frames import within
from headrace.physical.stages.made_together import form_of
from headrace.physical.stages.made_together_forms import Form
from headrace.physical.stages.nesting_openers import Opener, Openers
from headrace.physical.stages.nesting_opening import Opening, OpenSubplan
from headrace.physical.stages.nesting_turns import TurnsCursor, TurnsPosition, Whole
from headrace.plan.node import Node

__all__ = ["DatasetRuns"]

# So many times in a row plans were made that are not made together, before nobody looks for a form any more.
_MOST_MISSES: Final = 4


class DatasetRuns:
    """Makes the datasets of several elements together.

    Args:
        opening: opens those that are not made together.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._misses = 0

    @property
    def may_be(self) -> bool:
        """Whether the datasets of elements that are at hand may be made together."""
        return self._misses < _MOST_MISSES

    def next(
        self, openers: Openers, position: TurnsPosition, limit: int, most_s: float
    ) -> tuple[Block | None, list[OpenSubplan]]:
        """Returns the elements of the next datasets, and datasets after them that were begun and not made.

        Args:
            openers: what opens them.
            position: before them.
            limit: how many elements are wanted.
            most_s: how long the function may be called, again and again.
        """
        block, _, at = openers.at_hand()
        index = openers.index
        form, plans, other = self._plans(openers, limit, most_s)
        left: list[OpenSubplan] = []
        made = None
        if form is not None:
            form.keep(len(plans))
            payload = form.elements(len(plans), self._opening.small)
            if payload is None:
                left = [
                    self._opening.later(Opener(index + number, None, block, at + number), None, plan)
                    for number, plan in enumerate(plans)
                ]
            else:
                ends = None if form.lengths is None else list(itertools.accumulate(form.lengths))
                run = _Run(form, block, at, index, len(plans), ends)
                made = Block(payload, _RunCursor(position, run), _RunOrigin(run, range(len(payload))))
        if other is not None:
            left.append(self._opening.later(*other))
        if made is None or (left and len(plans) == 1):
            self._misses += 1
        elif len(plans) > 1:
            self._misses = 0
        return made, left

    @within(lambda at: at["opener"].origin())
    def _plans(
        self, openers: Openers, limit: int, most_s: float
    ) -> tuple[Form | None, list[Node], tuple[Opener, None, Node | Failure] | None]:
        """Calls the function with windows; returns plans of one form, and what was made of the window after them that has another."""
        block, rows, at = openers.at_hand()
        form: Form | None = None
        plans: list[Node] = []
        most, wanted, end_s = len(rows) - at, limit, time.perf_counter() + most_s
        while len(plans) < most:
            opener = Opener(openers.index, rows[at + len(plans)], block, at + len(plans))
            plan = self._opening.made(opener)
            openers.pass_over(1)
            if type(plan) is Failure:
                return form, plans, (opener, None, plan)
            if form is None:
                form = form_of(plan, may_vary=True)  # type: ignore[arg-type]  # no failure
                if form is None:
                    return None, plans, (opener, None, plan)
                most = min(most, form.most_plans)
            elif not form.takes(plan):
                return form, plans, (opener, None, plan)
            plans.append(plan)  # type: ignore[arg-type]  # no failure
            wanted -= form.count if form.lengths is None else form.lengths[-1]
            if wanted <= 0 or time.perf_counter() > end_s:
                break
        return form, plans, None


@frozen(eq=False)
class _Run:
    """Datasets that were made together.

    Attributes:
        form: of their plans.
        openers: the block with the elements that opened them.
        begun: where the first of those is in it.
        index: of the first dataset.
        count: how many datasets there are.
    """

    form: Form
    openers: Block
    begun: int
    index: int
    count: int
    ends: Sequence[int] | None  # of the datasets among all their elements; None where all have the same number

    def at(self, index: int) -> tuple[int, int]:
        """Returns in which dataset the element with this index lies, and where."""
        if self.ends is None:
            return divmod(index, self.form.count)
        number = bisect.bisect_right(self.ends, index)
        return number, index - (self.ends[number - 1] if number else 0)

    def opened(self, number: int) -> Whole:
        """Returns one of the datasets, of which nothing was taken."""
        opener = Opener(self.index + number, None, self.openers, self.begun + number)
        lengths = self.form.lengths
        return Whole(opener, None, self.form.cursor, self.form.count if lengths is None else lengths[number])


@frozen
class _RunCursor:
    """So many elements after a run began."""

    position: TurnsPosition
    run: _Run
    count: int = 0

    def advance(self, count: int) -> Cursor:
        return _RunCursor(self.position, self.run, self.count + count)

    def state(self) -> State:
        begun = min(self.run.count, self.run.at(self.count)[0] + 1)
        opened = [self.run.opened(number) for number in range(begun)]
        return TurnsCursor(self.position, opened, self.count).state()


@frozen
class _RunOrigin:
    """Elements of a run."""

    run: _Run
    picked: Indices

    def subset(self, indices: Indices) -> _RunOrigin:
        return _RunOrigin(self.run, subset(self.picked, indices))

    def describe(self, index: int) -> str:
        run = self.run
        number, at = run.at(int(self.picked[index]))
        return Within(run.form.origin(number), run.openers.origin, run.begun + number).describe(at)
