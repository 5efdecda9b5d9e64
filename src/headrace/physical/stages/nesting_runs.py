"""Datasets that flat_map makes of windows one after the other, made together where their plans have one form."""

from __future__ import annotations

import time
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import Cursor, State
from headrace.blocks.origin import Indices, Within, subset
from headrace.frozen import frozen
from headrace.observe.frames import within
from headrace.physical.stages.made_together import Form, form_of
from headrace.physical.stages.nesting_openers import Opener, Openers
from headrace.physical.stages.nesting_opening import Opening, OpenSubplan
from headrace.physical.stages.nesting_turns import TurnsCursor, TurnsPosition, Whole
from headrace.plan.node import Node
from headrace.structure import flatten

__all__ = ["DatasetRuns"]

# So many times in a row plans were made that are not made together, before nobody looks for a form any more.
_MOST_MISSES: Final = 4


class DatasetRuns:
    """Makes the datasets of elements that are windows.

    Args:
        opening: opens those that are not made together.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._misses = 0
        self._looked_at: Block | None = None  # the block of elements that was seen last
        self._is_of_windows = False

    def comes_next(self, openers: Openers) -> bool:
        """Returns whether datasets of elements that are at hand may be made together."""
        if self._misses == _MOST_MISSES:
            return False
        block, rows, at = openers.at_hand()
        if block is not self._looked_at:
            self._looked_at = block
            leaves, _ = flatten(rows[at])
            self._is_of_windows = any(hasattr(leaf, "__headrace_plan__") for leaf in leaves)
        return self._is_of_windows

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
                run = _Run(form, block, at, index, len(plans))
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
        most, end_s = len(rows) - at, time.perf_counter() + most_s
        while len(plans) < most:
            opener = Opener(openers.index, rows[at + len(plans)], block, at + len(plans))
            plan = self._opening.made(opener)
            openers.pass_over(1)
            if type(plan) is Failure:
                return form, plans, (opener, None, plan)
            if form is None:
                form = form_of(plan)  # type: ignore[arg-type]  # no failure
                if form is None:
                    return None, plans, (opener, None, plan)
                most = min(most, form.most_plans, -(-limit // form.count))
            elif not form.takes(plan):
                return form, plans, (opener, None, plan)
            plans.append(plan)  # type: ignore[arg-type]  # no failure
            if time.perf_counter() > end_s:
                break
        return form, plans, None


@frozen(eq=False)
class _Run:
    """Datasets that were made together.

    Attributes:
        form: of their plans.
        openers: the block with the elements that opened them.
        at: where the first of those is in it.
        index: of the first dataset.
        count: how many datasets there are.
    """

    form: Form
    openers: Block
    at: int
    index: int
    count: int

    def opened(self, number: int) -> Whole:
        """Returns one of the datasets, of which nothing was taken."""
        opener = Opener(self.index + number, None, self.openers, self.at + number)
        return Whole(opener, None, self.form.cursor, self.form.count)


@frozen
class _RunCursor:
    """So many elements after a run began."""

    position: TurnsPosition
    run: _Run
    count: int = 0

    def advance(self, count: int) -> Cursor:
        return _RunCursor(self.position, self.run, self.count + count)

    def state(self) -> State:
        begun = min(self.run.count, self.count // self.run.form.count + 1)
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
        number, at = divmod(int(self.picked[index]), run.form.count)
        return Within(run.form.origin(number), run.openers.origin, run.at + number).describe(at)
