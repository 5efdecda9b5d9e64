"""Datasets that flat_map and interleave make of elements one after the other, made together where their plans have one form."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import time
from collections.abc import Sequence
from typing import Final

from headrace.blocks.block import Block, Failure
from headrace.blocks.origin import Indices, Origin, Within, subset
from headrace.blocks.payload import Payload
from headrace.frozen import frozen
from headrace.observe.frames import within
from headrace.physical.stages.made_together import form_of
from headrace.physical.stages.made_together_forms import Form
from headrace.physical.stages.nesting_openers import Opener, Openers
from headrace.physical.stages.nesting_opening import Opening
from headrace.physical.stages.nesting_turns import Turns, Whole
from headrace.plan.node import Node

__all__ = ["DatasetRun", "DatasetRuns"]

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

    def next(self, openers: Openers, turns: Turns, limit: int, most_s: float) -> DatasetRun | None:
        """Returns the next datasets, told to the turns; None, and nothing told, where the next one is made by itself.

        Args:
            openers: what opens them; those with which the function was called for nothing are given back.
            turns: of which so many elements are wanted.
            limit: so many.
            most_s: how long the function may be called, again and again.
        """
        block, _, at = openers.at_hand()
        index = openers.index
        form, plans, other = self._plans(openers, turns, limit, most_s)
        made = None
        if form is not None:
            form.keep(len(plans))
            payload = form.elements(len(plans), self._opening.small)
            if payload is None:
                turns.drop(len(plans))
                openers.give_back(
                    [Opener(index + n, None, block, at + n, plan) for n, plan in enumerate(plans)],
                )
            else:
                ends = None if form.lengths is None else list(itertools.accumulate(form.lengths))
                made = DatasetRun(form, block, at, index, len(plans), ends, payload)
        if other is not None:
            openers.give_back([other])
        if made is None or (other is not None and len(plans) == 1):
            self._misses += 1
        elif len(plans) > 1:
            self._misses = 0
        return made

    @within(lambda at: at["opener"].origin())
    def _plans(
        self, openers: Openers, turns: Turns, limit: int, most_s: float
    ) -> tuple[Form | None, list[Node], Opener | None]:
        """Calls the function with elements; returns plans of one form, and the element after them of which it made another one."""
        block, rows, at = openers.at_hand()
        form: Form | None = None
        plans: list[Node] = []
        most, end_s = len(rows) - at, time.perf_counter() + most_s
        while len(plans) < most:
            opener = Opener(openers.index, rows[at + len(plans)], block, at + len(plans))
            plan = self._opening.made(opener)
            openers.pass_over(1)
            if type(plan) is Failure:
                return form, plans, dataclasses.replace(opener, plan=plan)
            if form is None:
                form = form_of(plan, may_vary=True)  # type: ignore[arg-type]  # no failure
                if form is None:
                    return None, plans, dataclasses.replace(opener, plan=plan)
                most = min(most, form.most_plans)
            elif not form.takes(plan):
                return form, plans, dataclasses.replace(opener, plan=plan)
            plans.append(plan)  # type: ignore[arg-type]  # no failure
            turns.add(form.count if form.lengths is None else form.lengths[-1])
            if turns.ready >= limit or time.perf_counter() > end_s:
                break
        return form, plans, None


@dataclasses.dataclass(slots=True)
class DatasetRun:
    """Datasets that were made together.

    Attributes:
        form: of their plans.
        openers: the block with the elements that opened them.
        begun: where the first of those is in it.
        index: of the first dataset.
        count: how many datasets there are.
        ends: of the datasets among all their elements; None where all have the same number.
        payload: all their elements; None once a block has them.
    """

    form: Form
    openers: Block
    begun: int
    index: int
    count: int
    ends: Sequence[int] | None
    payload: Payload | None

    def at(self, index: int) -> tuple[int, int]:
        """Returns in which dataset the element with this index lies, and where."""
        if self.ends is None:
            return divmod(index, self.form.count)
        number = bisect.bisect_right(self.ends, index)
        return number, index - (self.ends[number - 1] if number else 0)

    def origin_of_all(self) -> Origin:
        """Returns where the elements came from."""
        return _RunOrigin(self, range(self.form.total(self.count)))

    def whole(self, number: int, taken: int = 0) -> Whole:
        """Returns what is left of one of the datasets after so many elements, with these if they are here."""
        opener = Opener(self.index + number, None, self.openers, self.begun + number)
        lengths = self.form.lengths
        length = self.form.count if lengths is None else lengths[number]
        cursor = self.form.cursor.advance(taken) if taken else self.form.cursor
        if self.payload is None or taken == length:
            return Whole(opener, None, cursor, length - taken)
        stop = (number + 1) * length if self.ends is None else self.ends[number]
        origin = self.form.origin(number).subset(range(taken, length))
        return Whole(opener, Block(self.payload.subset(range(stop - length + taken, stop)), cursor, origin), None)


@frozen
class _RunOrigin:
    """Elements of a run."""

    run: DatasetRun
    picked: Indices

    def subset(self, indices: Indices) -> _RunOrigin:
        return _RunOrigin(self.run, subset(self.picked, indices))

    def describe(self, index: int) -> str:
        run = self.run
        number, at = run.at(int(self.picked[index]))
        return Within(run.form.origin(number), run.openers.origin, run.begun + number).describe(at)
