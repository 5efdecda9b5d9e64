"""The form of maps and filters over small plans, whose functions are called in one row: those of one plan, then those of the next.

What always holds:
- Functions are called on an element once. What was called for plans that are not made together after all goes into what each of
  them becomes by itself: a stage that begins with it.
- The functions of one operation have one code, so that what is counted, and said in reports, is of one operation.
"""

from __future__ import annotations

import functools
import itertools
import operator
import time
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from headrace.blocks.block import Block
from headrace.blocks.cursor import Cursor, OffsetCursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Origin, Within
from headrace.blocks.payload import Payload, Rows
from headrace.elements.structure import Element
from headrace.observe.frames import holds, since
from headrace.physical.at_once import SmallPlans
from headrace.physical.given import Cut, TakesLong
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.alone import Broken, gone_on
from headrace.physical.loops.one_pass import Link, Part, Tally
from headrace.physical.loops.taken_rows import Taken
from headrace.physical.loops.text import GENERIC, KEPT, loop_of
from headrace.physical.made import Pieces
from headrace.physical.stages.together.forms import Calling, Done, Form, OpenersOrigin, some_of_each
from headrace.plan.elementwise import Filter, Map
from headrace.plan.node import Node
from headrace.plan.vectorized import Vectorized

__all__ = ["CalledForm", "has_same_code", "is_called"]

# Maps and filters, each of which reads the one before it.
Links = tuple[Map | Filter, ...]


def is_called(node: Node) -> bool:
    """Returns whether nothing is done for a node but to call a function, once for each element."""
    if type(node) is Filter:
        return not isinstance(node.predicate, Vectorized)
    return type(node) is Map and node.on_error == "raise" and node.timeout_s is None and not _is_whole(node)


def _is_whole(node: Map) -> bool:
    return isinstance(node.function, Vectorized)


class _Called(NamedTuple):
    """What functions made of the elements of several plans.

    Attributes:
        tops: the last operation of each plan.
        taken: the elements of all.
        made: what maps made of those of the first plans.
        plans: how many these are.
        last: what became of some elements of the plan after these, and what is left of it; None where none was called on.
    """

    tops: Sequence[Map | Filter]
    taken: Payload
    made: list[Element]
    plans: int
    last: tuple[Pieces, Pieces] | None


class _Like(NamedTuple):
    """What an operation is compared with.

    Attributes:
        kind: its class.
        is_map: whether it is a map.
        name: as it was named.
        function_of: returns its function.
        function: that of the first plan.
    """

    kind: type[Any]
    is_map: bool
    name: str | None
    function_of: Callable[[Any], Any]
    function: Callable[..., Any]


def _like(link: Map | Filter) -> _Like:
    function_of = operator.attrgetter("function" if isinstance(link, Map) else "predicate")
    return _Like(type(link), isinstance(link, Map), link.name, function_of, link.functions()[0])


class CalledForm(Calling):
    """What maps and filters make of the elements of each plan."""

    def __init__(self, links: Links, form: Form) -> None:
        super().__init__(links[-1], (form,), form.count)
        form.feed_functions()
        self._links = links  # of the first plan
        self._likes = [_like(link) for link in reversed(links)]
        self._tops = [links[-1]]  # of each plan the last one
        self._functions = [tuple([link.functions()[0] for link in links])]  # and those of all
        self._part = Part(tuple(map(Link.of, links)), 0)
        self.leaves_out = self.leaves_out or bool(self._part.filters)
        self._called: _Called | None = None
        # Where there are filters: which elements these let through, of all plans, and where those of each plan end among them.
        self._kept = np.empty(0, np.int64)
        self._ends: Sequence[int] = ()
        self._most: Sequence[int] | None = None  # on how many elements of each plan they are called, where not on all
        self._given = list(self.lengths)  # how many these are, once they are called
        self.done: list[Done] = []

    def call_on_first(self, counts: Sequence[int]) -> None:
        """Has maps be called on so many elements of each plan alone, as nobody takes more; of plans taken later the counts come later, too."""
        self._most = counts

    def takes(self, plan: Any) -> bool:
        below: Any = plan
        functions: list[Callable[..., Any]] = []
        for like in self._likes:
            if type(below) is not like.kind or below.name != like.name:
                return False
            function = like.function_of(below)
            if not has_same_code(function, like.function):
                return False
            if like.is_map and (below.on_error != "raise" or below.timeout_s is not None):
                return False
            functions.append(function)
            below = below.input
        form = self.inputs[0]
        if not form.takes(below):
            return False
        functions.reverse()
        self._functions.append(tuple(functions))
        self._tops.append(plan)
        self.lengths.append(form.lengths[-1])
        return True

    def keep(self, plans: int) -> None:
        del self._tops[plans:]
        del self._functions[plans:]
        del self._given[plans:]
        super().keep(plans)

    def settle(self) -> None:
        filters = self._part.filters
        self.lengths = [len(self._span(index)) for index in range(len(self.lengths))] if filters else list(self._given)

    def _span(self, index: int) -> range:
        """Returns where the elements of one of the plans are among all that filters let through."""
        return range(self._ends[index - 1] if index else 0, self._ends[index])

    def _offsets(self, index: int) -> np.ndarray:
        """Returns which elements of one of the plans filters let through."""
        span = self._span(index)
        return self._kept[span.start : span.stop] - sum(self._given[:index])

    def cursor(self, index: int) -> Cursor:
        form = self.inputs[0]
        if not self._part.filters:
            return form.cursor(index)
        return OffsetCursor(form.cursor(index), [*self._offsets(index).tolist(), form.lengths[index]])

    def origin(self, index: int) -> Origin:
        origin = self.inputs[0].origin(index)
        return origin.subset(self._offsets(index)) if self._part.filters else origin

    def call(self, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float) -> int:
        """Calls the functions of all plans that were taken; returns for how many of them all calls returned in time."""
        start_s = time.perf_counter()
        form = self.inputs[0]
        if form.leaves_out:
            form.settle()
        self._given = list(form.lengths)
        if self._most is not None:
            self._given = list(map(min, form.lengths, self._most))
            self.lengths = list(self._given)
        spans: list[tuple[Form, float, float]] = []
        payload = form.timed(spans)
        if payload is None:
            return 0
        payload = handed_out(payload) if form.is_held else payload
        inside_s = time.perf_counter() - start_s
        tally = Tally.of(len(self._part.links))
        self._called = self._made_of(payload, tally, openers, small.patience(), start_s, most_s)
        span_s = time.perf_counter() - start_s
        plans = self._called.plans + (self._called.last is not None)
        passed = dict(form.passed([1] * plans))
        self.done = [(form.node, passed[form], own_s, in_s) for form, own_s, in_s in spans]
        each_s = (span_s - inside_s) / len(tally.passed)  # nobody measures them apart
        for link, elements in zip(self._links, tally.passed, strict=True):
            self.done.append((link, elements, inside_s + each_s, inside_s))
            inside_s += each_s
        return self._called.plans

    @holds(lambda at, place: at["self"].place(at["openers"], at["number"], len(at["of_plan"]) - at["before"], place))
    @since("start_s")
    def _made_of(
        self,
        payload: Payload,
        tally: Tally,
        openers: OpenersOrigin,
        patience: Patience,
        start_s: float,
        most_s: float,
    ) -> _Called:
        part, lengths = self._part, self._given
        whole, payload = payload, some_of_each(payload, self.inputs[0], lengths)
        if not len(payload):
            self._take_in([], lengths)
            return _Called(list(self._tops), payload, [], len(self._tops), None)
        end_s = time.perf_counter() + most_s
        taken = Taken.of(payload, part.kinds)
        loop = loop_of(taken.head, part.kinds, (GENERIC,) * len(part.kinds))
        left, next_seen = taken.read()
        now_s, until_s, look = patience
        made: list[Element] = []
        fates: list[int] = []
        of_plan = fates if part.filters else made  # has something for each element that is done
        number = before = 0
        last: tuple[Pieces, Pieces] | None = None
        plans = 0
        for number, functions in enumerate(self._functions):
            before, made_before, count = len(of_plan), len(made), lengths[number]
            rows = itertools.islice(left, count)
            _, _, error = loop.run(
                rows, next_seen, -1, look, -(-count // look), now_s, until_s, made, fates, functions, ()
            )
            if error is not None or len(of_plan) - before < count:
                failed = None if error is None else (loop.failed_link(error), error)
                broken = Broken(made[made_before:], fates[before:] if part.filters else [], failed)
                tally.add(part, len(of_plan) - before, broken.fates)
                del made[made_before:], fates[before:]
                last = self._gone_on(number, whole, broken, tally, start_s, patience)
                break
            plans = number + 1
            if time.perf_counter() > end_s:
                break
        tally.add(part, len(of_plan), fates)
        self._take_in(fates, lengths[:plans])
        return _Called(list(self._tops), payload, made, plans, last)

    def _gone_on(
        self, number: int, payload: Payload, broken: Broken, tally: Tally, start_s: float, patience: Patience
    ) -> tuple[Pieces, Pieces]:
        """Returns what becomes of a plan of which an element failed, or some took long, and what is left of it."""
        form = self.inputs[0]
        begin, count = sum(form.lengths[:number]), form.lengths[number]
        block = Block(payload.subset(range(begin, begin + count)), form.cursor(number), form.origin(number))
        part = Part(tuple(map(Link.of, self._links_under(self._tops[number]))), 0)
        pieces, done = gone_on(part, block.slice(0, self._given[number]), broken, tally, start_s, patience)
        return pieces, [block.slice(done, count)] if done < count else []

    def _take_in(self, fates: list[int], lengths: Sequence[int]) -> None:
        """Takes in what filters did with the elements of plans of these lengths."""
        if self._part.filters:
            self._kept = np.flatnonzero(np.frombuffer(bytearray(fates), np.uint8) == KEPT)
            self._ends = np.searchsorted(self._kept, np.cumsum(lengths)).tolist()

    def place(self, openers: OpenersOrigin, number: int, done: int, place: object) -> tuple[str, str]:
        """Returns the operation and the element at which functions are, of a plan of which so many elements are done."""
        link = place if isinstance(place, int) else 0
        origin, begun = openers
        form = self.inputs[0]
        at = min(done, self._given[number] - 1)
        return self._part.links[link].node.label, Within(form.origin(number), origin, begun + number).describe(at)

    def cuts(self, number: int) -> list[Cut]:
        cut = self._cut(number)
        return super().cuts(number) if cut is None else [cut]

    def _cut(self, number: int) -> Cut | None:
        """Returns what became of a plan whose functions were called, and what is left of it; None where none was."""
        called = self._called
        if called is None or number > called.plans:
            return None
        links = self._links_under(called.tops[number])
        if number < called.plans:
            payload = self._elements(called, number)
            made: Pieces = [Block(payload, self.cursor(number), self.origin(number))] if len(payload) else []
            return TakesLong(links[-1], made, [], of=links[0].input)
        return None if called.last is None else TakesLong(links[-1], *called.last, of=links[0].input)

    def _elements(self, called: _Called, number: int) -> Payload:
        """Returns the elements of one of the plans."""
        begin = sum(self._given[:number])
        span = self._span(number) if self._part.filters else range(begin, begin + self._given[number])
        if self._part.has_only_filters:
            return called.taken.subset(self._kept[span.start : span.stop])
        return Rows(called.made[span.start : span.stop])

    def _links_under(self, top: Any) -> Links:
        """Returns the operations of a plan, given the last one."""
        links: list[Map | Filter] = []
        for _ in self._links:
            links.append(top)
            top = top.input
        return (*reversed(links),)

    def let_go(self) -> None:
        self._called = None
        super().let_go()

    def _called_on(self) -> Payload:
        called = self._called
        assert called is not None  # the functions are called first
        return called.taken.subset(self._kept) if self._part.has_only_filters else Rows(called.made)


def has_same_code(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Returns whether two functions do the same, perhaps with other values."""
    if type(one) is FunctionType and type(other) is FunctionType:
        return one.__code__ is other.__code__ and one.__qualname__ == other.__qualname__
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) is MethodType:
        return has_same_code(one.__func__, other.__func__)  # type: ignore[attr-defined]  # both are methods
    return type(one) is functools.partial and has_same_code(one.func, other.func)  # type: ignore[attr-defined]  # both are partials
