"""The form of flat_map and interleave inside small plans: what their function makes of the elements of many plans is made together, too.

The function is called with the elements of one plan after the other, and its datasets have one form again, whatever plan they are in. So a
flat_map within a flat_map is as quick as one.

What always holds: the function is called once with an element. What it made in plans that are not made together goes into what each of
these becomes by itself: a stage that has its first datasets open.
"""

from __future__ import annotations

import bisect
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import Cursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Indices, JoinedOrigin, Origin, Within
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import Element
from headrace.frozen import frozen, mutable
from headrace.observe.frames import within
from headrace.physical.at_once import MOST_ELEMENTS, SmallPlans, without_prefetch
from headrace.physical.given import Cut, OpenedSome
from headrace.physical.stages.nesting_openers import Opener
from headrace.physical.stages.nesting_turns import TurnsCursor, TurnsPosition, Whole
from headrace.physical.stages.nesting_visits import ENDLESS, turns_of
from headrace.physical.stages.together.calls import has_same_code
from headrace.physical.stages.together.forms import Calling, Form, OpenersOrigin, made_of
from headrace.plan.nesting import FlatMap, Interleave
from headrace.plan.node import Node
from headrace.plan.timeouts import with_timeouts
from headrace.semantics.nesting import made_plan

__all__ = ["Nested", "is_nested"]


def is_nested(node: FlatMap) -> bool:
    """Returns whether nothing is done for an operation but to call its function and to give what is in its datasets."""
    return not isinstance(node, Interleave) or node.executor is None


# Of all datasets together, as far as is known before functions are called on their elements.
_MOST_ELEMENTS: Final = 16 * MOST_ELEMENTS


class _Opened(NamedTuple):
    """What the function made of the elements of some plans.

    Attributes:
        taken: the elements of all.
        ends: where those of each plan end.
        plans: how many of the first plans have one form in all that the function made of their elements.
        made: what it made, also of the first elements of the plan after these; or why it made nothing of the last one.
    """

    taken: Payload
    ends: Sequence[int]
    plans: int
    made: list[Node | Exception]


class Nested(Calling):
    """The elements of the datasets that a function makes of the elements of each plan.

    Args:
        node: of the first plan.
        form: of what it reads.
        form_of: returns the form of a plan.
    """

    def __init__(self, node: FlatMap, form: Form, form_of: Callable[[Node], Form | None]) -> None:
        super().__init__(node, (form,), form.count)
        self.leaves_out = self.grows = True
        self._nodes = [node]
        self._form_of = form_of
        self._cycle_length, self._block_length = _turn_of(node)
        self._opened: _Opened | None = None
        self._inner: Form | None = None  # of the datasets
        self._payload: Payload | None = None
        self._cuts: dict[int, list[Cut]] = {}  # of those datasets that were not made
        self._bounds = [0]  # where those of each plan begin among all, and end
        self.done = []

    @property
    def lacks_room(self) -> bool:
        return super().lacks_room or (self._inner is not None and self._inner.lacks_room)

    def takes(self, plan: Any) -> bool:
        node: Any = self.node
        if type(plan) is not type(node) or plan.name != node.name or not is_nested(plan):
            return False
        if _turn_of(plan) != (self._cycle_length, self._block_length):
            return False
        if not has_same_code(plan.function, node.function) or not self.inputs[0].takes(plan.input):
            return False
        self._nodes.append(plan)
        return self.took()

    def keep(self, plans: int) -> None:
        del self._nodes[plans:]
        super().keep(plans)

    # ------------------------------------------------------------------ making

    def call(self, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float) -> int:
        """Calls the functions of all plans that were taken; returns for how many of them all of their datasets were made."""
        start_s = time.perf_counter()
        form = self.inputs[0]
        if form.leaves_out:
            form.settle()
        spans: list[tuple[Form, float, float]] = []
        payload = form.timed(spans)
        if payload is None:
            return 0
        payload = handed_out(payload) if form.is_held else payload
        inside_s = time.perf_counter() - start_s
        opened = self._opened = self._open(payload, openers, small, most_s)
        passed = dict(form.passed([1] * min(opened.plans + 1, len(self._nodes))))
        self.done = [(form.node, passed[form], own_s, in_s) for form, own_s, in_s in spans]
        called_s = time.perf_counter() - start_s
        ends = [0, *opened.ends]
        wanted = ends[opened.plans]
        count = wanted
        if wanted:
            count = self._make(wanted, openers, small.inside(self.node, self.node), room, most_s)
        plans = min(bisect.bisect_right(ends, count) - 1, opened.plans)  # those whose datasets were all made
        self._bounds = ends[: plans + 1]
        given = self._keep_datasets(ends[plans], count)
        self.done.append((self.node, given, called_s, inside_s))
        return plans

    @within(lambda at: at["self"].place(at["openers"], at["ends"], len(at["made"])))
    def _open(self, payload: Payload, openers: OpenersOrigin, small: SmallPlans, most_s: float) -> _Opened:
        """Calls the functions, with the elements of one plan after the other."""
        rows: Sequence[Element] = payload.rows()
        ends = list(itertools.accumulate(self.inputs[0].lengths))
        made: list[Node | Exception] = []
        patience, end_s = small.patience(), time.perf_counter() + most_s
        inner: Form | None = None
        plans = begin = elements = 0
        for node, end in zip(self._nodes, ends, strict=True):
            for row in itertools.islice(rows, begin, end):
                try:
                    plan = with_timeouts(made_plan(node, row), small.timeout_s)
                except Exception as error:  # noqa: BLE001 - a user's function may raise anything
                    made.append(error)
                    return self._took(inner, _Opened(payload, ends, plans, made))
                made.append(plan)
                plan = without_prefetch(plan)
                if inner is None:
                    inner = self._form_of(plan)
                elif not inner.takes(plan):
                    return self._took(inner, _Opened(payload, ends, plans, made))
                elements += 0 if inner is None else inner.lengths[-1]
                if inner is None or elements > _MOST_ELEMENTS or patience.is_over:
                    return self._took(inner, _Opened(payload, ends, plans, made))
            plans, begin = plans + 1, end
            if time.perf_counter() > end_s or (inner is not None and len(made) >= inner.most_plans):
                break
        return self._took(inner, _Opened(payload, ends, plans, made))

    def _took(self, inner: Form | None, opened: _Opened) -> _Opened:
        self._inner = inner
        return opened

    def place(self, openers: OpenersOrigin, ends: Sequence[int], at: int) -> str:
        """Returns with which element the function is called, where so many are done."""
        number = min(bisect.bisect_right(ends, at), len(ends) - 1)
        origin, begun = openers
        inner = at - (ends[number - 1] if number else 0)
        return Within(self.inputs[0].origin(number), origin, begun + number).describe(inner)

    def _make(self, wanted: int, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float) -> int:
        """Makes the elements of so many datasets; returns of how many of them it did."""
        opened, inner = self._opened, self._inner
        assert opened is not None  # as the functions are called
        assert inner is not None  # as there are some
        origin = _OpenersOrigin(self.inputs[0], opened.ends, openers)
        made = made_of(inner, wanted, (origin, 0), small, room, most_s)
        self._payload = made.payload
        self._cuts = {number: list(cuts) for number, cuts in made.cuts.items()}
        return made.plans

    def _keep_datasets(self, datasets: int, made: int) -> int:
        """Keeps the elements of so many datasets, of those that were made; returns how many elements these are."""
        inner = self._inner
        if inner is None:
            return 0
        for number in range(datasets, made):
            self._cuts[number] = inner.cuts(number)
        inner.keep(datasets)
        given = sum(inner.lengths)
        if self._payload is not None and len(self._payload) > given:
            self._payload = self._payload.subset(range(given))
        return given

    def _made_order(self) -> Indices | None:
        """Returns in which order elements come; None where they come dataset by dataset."""
        if self._cycle_length == 1 or self._inner is None:
            return None
        starts = [0, *itertools.accumulate(self.lengths)]
        orders = [start + self._order(number) for number, start in enumerate(starts[:-1])]
        return np.concatenate(orders)

    def _order(self, index: int) -> np.ndarray:
        """Returns in which order the elements of one of the plans come."""
        turns = turns_of([None] * self._cycle_length, 0, 0, self._block_length)
        for length in self._lengths_in(index):
            turns.add(length)
        turns.has_ended = True
        return turns.order(turns.total)

    def _lengths_in(self, index: int) -> Sequence[int]:
        """Returns how many elements each dataset of one of the plans has."""
        assert self._inner is not None  # the caller has looked
        return self._inner.lengths[self._bounds[index] : self._bounds[index + 1]]

    def settle(self) -> None:
        self.lengths = [
            0 if self._inner is None else sum(self._lengths_in(number)) for number in range(len(self._nodes))
        ]

    def _called_on(self) -> Payload:
        if self._payload is None:
            return Rows([])
        order = self._made_order()
        return self._payload if order is None else self._payload.subset(order)

    # ------------------------------------------------------------------ by themselves, after all

    def cuts(self, number: int) -> list[Cut]:
        opened = self._opened
        if opened is None or number > opened.plans:
            return super().cuts(number)
        begin, end = opened.ends[number - 1] if number else 0, opened.ends[number]
        made = opened.made[begin:end]
        if not made and begin < end:
            return super().cuts(number)
        form, given = self.inputs[0], opened.taken.subset(range(begin, end))
        block = Block(given, form.cursor(number), form.origin(number)) if begin < end else None
        plans = [one if isinstance(one, Exception) else (one, self._cuts_of(begin + at)) for at, one in enumerate(made)]
        return [OpenedSome(self._nodes[number], block, plans)]

    def _cuts_of(self, dataset: int) -> Sequence[Cut]:
        """Returns what functions were called on of one of the datasets."""
        if self._inner is not None and dataset < self._bounds[-1]:
            return self._inner.cuts(dataset)
        return self._cuts.get(dataset, ())

    def let_go(self) -> None:
        self._opened = self._payload = None
        self._cuts = {}
        if self._inner is not None:
            self._inner.let_go()
        super().let_go()

    # ------------------------------------------------------------------ positions

    def cursor(self, index: int) -> Cursor:
        form, slots = self.inputs[0], [None] * self._cycle_length
        position = TurnsPosition(0, 0, 0, slots, form.cursor(index), self._block_length)
        return TurnsCursor(position, [self._datasets(index)] if self._inner is not None else [])

    def _datasets(self, index: int) -> _Datasets:
        assert self._inner is not None  # the caller has looked
        begin, end = self._bounds[index], self._bounds[index + 1]
        form = self.inputs[0]
        openers = Block(Rows([]), form.cursor(index), form.origin(index))
        return _Datasets(self._inner, openers, begin, end - begin)

    def origin(self, index: int) -> Origin:
        inner = self._inner
        if inner is None or not self.lengths[index]:
            return JoinedOrigin([0], [], range(0))
        outer, begin = self.inputs[0].origin(index), self._bounds[index]
        lengths = self._lengths_in(index)
        joined = JoinedOrigin.of(lengths, [Within(inner.origin(begin + at), outer, at) for at in range(len(lengths))])
        return joined if self._cycle_length == 1 else joined.subset(self._order(index))


def _turn_of(node: FlatMap) -> tuple[int, int]:
    """Returns how many datasets are open side by side, and how many elements are a turn."""
    return (node.cycle_length or 1, node.block_length) if isinstance(node, Interleave) else (1, ENDLESS)


@mutable
class _Datasets:
    """Datasets in one of several plans, as turns go through them again.

    Attributes:
        form: of these, and of those in other plans.
        openers: where the elements stand that opened them.
        begin: the number of the first one among all.
        count: how many there are.
        payload: none.
    """

    form: Form
    openers: Block
    begin: int
    count: int
    payload: Payload | None = None

    def origin_of_all(self) -> Origin:
        """Returns where the elements came from, which nobody asks."""
        raise NotImplementedError

    def whole(self, number: int, taken: int = 0) -> Whole:
        """Returns what is left of one of the datasets after so many elements, without these."""
        dataset = self.begin + number
        cursor = self.form.cursor(dataset).advance(taken)
        return Whole(Opener(number, None, self.openers, number), None, cursor, self.form.lengths[dataset] - taken)


@frozen
class _OpenersOrigin:
    """The elements of several plans, of which each opens a dataset.

    Attributes:
        form: of these plans.
        ends: where the elements of each end among all.
        openers: where the elements came from that opened the plans.
    """

    form: Form
    ends: Sequence[int]
    openers: OpenersOrigin

    def subset(self, indices: Indices) -> Origin:
        """Returns the origins of some, in words."""
        raise NotImplementedError

    def describe(self, index: int) -> str:
        number = bisect.bisect_right(self.ends, index)
        origin, begun = self.openers
        at = index - (self.ends[number - 1] if number else 0)
        return Within(self.form.origin(number), origin, begun + number).describe(at)
