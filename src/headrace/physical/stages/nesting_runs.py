"""Datasets that flat_map and interleave make of elements one after the other, made together where their plans have one form."""

from __future__ import annotations

import bisect
import itertools
import math
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from headrace.blocks.block import Block, Failure
from headrace.blocks.origin import Indices, Origin, Within, subset
from headrace.blocks.payload import Payload
from headrace.elements.structure import Element
from headrace.frozen import frozen, mutable
from headrace.observe.frames import within
from headrace.physical.at_once import without_prefetch
from headrace.physical.stages.nesting_openers import NestingPaces, Opener, Openers
from headrace.physical.stages.nesting_opening import Opening
from headrace.physical.stages.nesting_turns import Whole
from headrace.physical.stages.nesting_visits import Turns
from headrace.physical.stages.together.forms import Form, MadeTogether, made_of
from headrace.physical.stages.together.plans import ROOMS, form_of
from headrace.plan.buffering import Prefetch
from headrace.plan.node import Node

__all__ = ["DatasetRun", "DatasetRuns"]

# So many times in a row plans were made that are not made together, before nobody looks for a form any more.
_MOST_MISSES: Final = 4


class DatasetRuns:
    """Makes the datasets of several elements together.

    Args:
        opening: opens those that are not made together.
        paces: learn what part of the elements filters let through.
    """

    def __init__(self, opening: Opening, paces: NestingPaces) -> None:
        self._opening = opening
        self._paces = paces
        self._misses = 0
        self._goes_on = (
            False  # whether those that were not made the last time may be made together, without the first one
        )

    @property
    def may_be(self) -> bool:
        """Whether the datasets of elements that are at hand may be made together."""
        return self._misses < _MOST_MISSES

    def next(self, openers: Openers, turns: Turns, limit: int, room: int, most_s: float) -> DatasetRun | None:
        """Returns the next datasets, told to the turns; None, and nothing told, where the next one is made by itself.

        Args:
            openers: what opens them; those with which the function was called for nothing are given back.
            turns: of which so many elements are wanted.
            limit: so many.
            room: on how many elements of one dataset functions may be called.
            most_s: how long the function may be called, again and again, and then functions on the elements of its datasets.
        """
        coming = self._coming(openers)
        if coming is None:
            return None
        with self._opening.own_time:
            form, plans, other = self._plans(coming, turns, limit, room, most_s)
        openers.pass_over(len(plans) + (other is not None))
        left = [] if other is None else [other]
        made = None
        if form is not None:
            made = self._made(form, plans, coming, room, most_s)
            _tell(turns, form, len(plans), made.plans)
            left = [self._begun(coming, number, plans[number], made) for number in range(made.plans, len(plans))] + left
            self._goes_on = bool(made.plans or made.cuts)  # else they have no form together, after all
        openers.give_back(left)
        payload = None if made is None else made.payload
        if form is not None and form.lacks_room:
            pass  # there will be more
        elif payload is None or (other is not None and len(plans) == 1):
            self._misses += 1
        elif len(plans) > 1:
            self._misses = 0
        if form is None or made is None or payload is None:
            return None
        form.let_go()
        ends = None if form.is_even else list(itertools.accumulate(form.lengths))
        payload = payload if len(payload) else None
        return DatasetRun(form, coming.block, coming.at, coming.first, made.plans, ends, payload)

    def _coming(self, openers: Openers) -> _Coming | None:
        """Returns what opens the next datasets, of which some are at hand; None where the next one is made by itself."""
        if not openers.have_plans:
            block, rows, at = openers.at_hand()
            return _Coming(block, at, openers.index, rows, None)
        known = openers.with_plans() if self._goes_on else []
        if len(known) < 2:
            return None
        return _Coming(known[0].block, known[0].at, known[0].index, (), known)

    def _made(self, form: Form, plans: list[Node], coming: _Coming, room: int, most_s: float) -> MadeTogether:
        most = form.lengths[: len(plans)]
        made = made_of(form, len(plans), (coming.block.origin, coming.at), self._opening.small, room, most_s)
        if made.payload is not None and form.leaves_out:
            part = max(len(made.payload), 1) / max(sum(most[: made.plans]), 1)
            self._paces.let_through = (self._paces.let_through + part) / 2
        return made

    def _begun(self, coming: _Coming, number: int, plan: Node, made: MadeTogether) -> Opener:
        """Returns one of those that were not made together, with what became of its dataset already."""
        opener = coming.opener(number)
        return opener.called(self._opening.begun((plan, made.cuts.get(number, ())), opener))

    @within(lambda at: at["coming"].block.origin.describe(at["coming"].at + len(at["plans"])))
    def _plans(
        self, coming: _Coming, turns: Turns, limit: int, room: int, most_s: float
    ) -> tuple[Form | None, list[Node], Opener | None]:
        """Calls the function with elements; returns plans of one form, and the element after them of which it made another one."""
        form: Form | None = None
        plans: list[Node] = []
        other: Node | Failure | None = None
        part = 1.0
        plan_of, rows, at, known = self._opening.plan_of, coming.rows, coming.at, coming.known
        most, end_s = len(rows) - at if known is None else len(known), time.perf_counter() + most_s
        while len(plans) < most:
            try:
                plan: Any = plan_of(rows[at + len(plans)]) if known is None else known[len(plans)].plan
            except Exception as error:  # noqa: BLE001 - a user's function may raise anything
                other = self._opening.failed(coming.opener(len(plans)), error)
                break
            shown = without_prefetch(plan) if type(plan) is Prefetch else plan
            if form is None:
                form = form_of(shown)
                calls = 0 if form is None else form.calls
                if form is None or calls > room:
                    self._misses -= form is not None  # there will be more room
                    form, other = None, plan
                    break
                most = min(most, form.most_plans, max(1, ROOMS * room // calls) if calls else most)
                part = self._paces.let_through if form.leaves_out else 1
            elif not form.takes(shown):
                other = plan
                break
            plans.append(plan)
            length = form.lengths[-1]
            turns.add(length if part == 1 else math.ceil(length * part))
            # Else a few that are left would be made together by themselves, which costs as much as the others.
            is_enough = turns.ready >= limit and most - len(plans) > len(plans) // 2
            if is_enough or time.perf_counter() > end_s:
                break
        return form, plans, None if other is None else coming.opener(len(plans), other)


class _Coming(NamedTuple):
    """What opens the next datasets.

    Attributes:
        block: with the elements.
        at: where the first of them is in it.
        first: the index of the dataset that it opens.
        rows: the elements of the block.
        known: them with what the function made of each, where it was called with all.
    """

    block: Block
    at: int
    first: int
    rows: Sequence[Element]
    known: Sequence[Opener] | None

    def opener(self, number: int, plan: Node | Failure | None = None) -> Opener:
        """Returns one of them, with what the function made of it."""
        element = self.rows[self.at + number] if self.known is None else self.known[number].element
        return Opener(self.first + number, element, self.block, self.at + number, plan)


def _tell(turns: Turns, form: Form, plans: int, count: int) -> None:
    """Tells turns, which know of so many datasets, that the first ones come, and with how many elements."""
    if not form.leaves_out:
        turns.drop(plans - count)
        return
    turns.drop(plans)  # of which it was not known how many they would give
    for length in form.lengths[:count]:
        turns.add(length)


@mutable
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
        return _RunOrigin(self, range(sum(self.form.lengths)))

    def whole(self, number: int, taken: int = 0) -> Whole:
        """Returns what is left of one of the datasets after so many elements, with these if they are here."""
        opener = Opener(self.index + number, None, self.openers, self.begun + number)
        length, cursor = self.form.lengths[number], self.form.cursor(number)
        if taken:
            cursor = cursor.advance(taken)
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
