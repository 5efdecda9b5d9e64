"""What plans have in common that are made together."""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.blocks.cursor import Cursor
from headrace.blocks.handing_out import handed_out
from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload
from headrace.physical.at_once import SmallPlans
from headrace.physical.given import Cut
from headrace.physical.made import MOST_BYTES
from headrace.plan.node import Node

__all__ = [
    "Calling",
    "Done",
    "Form",
    "MadeTogether",
    "OpenersOrigin",
    "Reading",
    "made_of",
    "picked_runs",
    "some_of_each",
]

# What an operation did: its elements, its seconds, and those of its inputs.
Done = tuple[Node, int, float, float]
# Of elements that opened datasets, and which of them opened the first one.
OpenersOrigin = tuple[Origin, int]

# Of all plans together: a block of elements, which is copied in about the time that it stands for.
_MOST_BYTES_TOGETHER: Final = 16 * MOST_BYTES


class Form:
    """What plans have in common that are made together, and those that were taken so far.

    Attributes:
        node: of the plan that was taken first.
        inputs: the forms of what it reads.
        lengths: how many elements each plan gives; before functions were called that may leave some out, how many at most.
        leaves_out: whether it is known only once functions were called how many elements plans give.
        grows: whether plans may give more than ``lengths`` says, before that.
        is_held: whether its elements are those of the windows, which others see as well.
    """

    is_held = False
    leaves_out: bool
    grows: bool

    def __init__(self, node: Node, inputs: Sequence[Form], count: int) -> None:
        self.node = node
        self.inputs = inputs
        self.lengths = [count]
        self.leaves_out = any(form.leaves_out for form in inputs)
        self.grows = any(form.grows for form in inputs)

    @property
    def count(self) -> int:
        """How many elements the first plan gives."""
        return self.lengths[0]

    @property
    def is_even(self) -> bool:
        """Whether all plans give as many."""
        return self.lengths.count(self.lengths[0]) == len(self.lengths)

    def takes(self, plan: Any) -> bool:
        """Takes another plan if it has this form; where it has not, the parts of it that were taken are dropped by ``keep``."""
        raise NotImplementedError

    def took(self) -> bool:
        """Takes in that each input took what the next plan reads; returns whether it gives as many elements as it may."""
        length = self._length(len(self.lengths))
        self.lengths.append(length)
        return length > 0

    def _length(self, index: int) -> int:
        """Returns how many elements one of the plans gives, given how many its inputs do."""
        return self.inputs[0].lengths[index]

    def settle(self) -> None:
        """Takes in how many elements there are, once functions were called that leave some out."""
        for form in self.inputs:
            form.settle()
        self.lengths = [self._length(index) for index in range(len(self.inputs[0].lengths))]

    def keep(self, plans: int) -> None:
        """Keeps the first plans that were taken."""
        del self.lengths[plans:]
        for form in self.inputs:
            form.keep(plans)

    @property
    def reads(self) -> bool:
        """Whether generators are run."""
        return any(form.reads for form in self.inputs)

    @property
    def lacks_room(self) -> bool:
        """Whether generators did not end because there is room for too few elements yet."""
        return any(form.lacks_room for form in self.inputs)

    @property
    def callings(self) -> list[Calling]:
        """Those that call functions on elements, each after those that it reads."""
        return [calling for form in self.inputs for calling in form.callings]

    @property
    def calls(self) -> int:
        """On how many elements of the first plan functions are called, as far as that is known."""
        return sum([calling.count for calling in self.callings])

    def feed_functions(self) -> None:
        """Takes in that functions are called on its elements, of which there may be so many then."""
        for form in self.inputs:
            form.feed_functions()

    def cuts(self, number: int) -> list[Cut]:
        """Returns what functions were called on of one of the plans, outermost operations alone, the first one of the plan first."""
        return [cut for form in self.inputs for cut in form.cuts(number)]

    def let_go(self) -> None:
        """Forgets what functions made, which is in other hands."""
        for form in self.inputs:
            form.let_go()

    @property
    def nbytes(self) -> int:
        """About how many bytes the elements of one plan have, or its windows."""
        return sum(form.nbytes for form in self.inputs)

    @property
    def most_plans(self) -> int:
        """How many plans may be made together."""
        return _MOST_BYTES_TOGETHER // max(1, self.nbytes)

    def cursor(self, index: int) -> Cursor:
        """Returns the position before the first element of one of the plans."""
        raise NotImplementedError

    def origin(self, index: int) -> Origin:
        """Returns where the elements of one of the plans came from."""
        raise NotImplementedError

    def elements(self, small: SmallPlans) -> Payload | None:
        """Makes the elements of all plans, one plan after the other; None where each has to be made by itself."""
        spans: list[tuple[Form, float, float]] = []
        try:
            payload = self.timed(spans)
            if payload is not None and self.is_held:
                payload = handed_out(payload)
        except Exception:  # noqa: BLE001 - an element's own methods may raise anything; each by itself finds out which of them
            return None
        if payload is not None:
            passed = dict(self.passed())
            small.count([(form.node, passed[form], span_s, inside_s) for form, span_s, inside_s in spans], self.node)
        return payload

    def passed(self, times: Sequence[int] | None = None) -> Iterator[tuple[Form, int]]:
        """Yields it, and each form that it reads, with how many elements it gave to the first plans, read so many times each."""
        lengths = self.lengths
        given = sum(lengths) if times is None else sum(map(int.__mul__, lengths, times))
        yield self, given
        for form in self.inputs:
            yield from form.passed(self._read(times))

    def _read(self, times: Sequence[int] | None) -> Sequence[int] | None:
        """Returns how many times each plan reads its inputs, given how many times it is read."""
        return times

    def timed(self, spans: list[tuple[Form, float, float]]) -> Payload | None:
        """Makes the elements, and notes how long each form took, and its inputs of that."""
        start = time.perf_counter()
        parts: list[Payload] = []
        for form in self.inputs:
            part = form.timed(spans)
            if part is None:
                return None
            parts.append(part)
        begun = time.perf_counter()
        payload = self._made(parts)
        spans.append((self, time.perf_counter() - start, begun - start))
        return payload

    def _made(self, parts: list[Payload]) -> Payload | None:
        """Makes the elements of all plans of those that each input gives."""
        raise NotImplementedError


class Calling(Form):
    """One that calls functions on elements.

    Attributes:
        done: what it and the operations that it reads did as functions were called.
    """

    done: list[Done]

    @property
    def callings(self) -> list[Calling]:
        """Itself, and before it those that it reads."""
        return [*super().callings, self]

    def call(self, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float) -> int:
        """Calls the functions of all plans that were taken; returns for how many of them all calls returned in time.

        Args:
            openers: where the elements came from that opened them.
            small: what makes such plans.
            room: how many elements of a plan there may be, where that is not known before.
            most_s: for how long another plan may be begun.
        """
        raise NotImplementedError

    def _called_on(self) -> Payload:
        """Returns what functions made, for at least as many plans as are kept."""
        raise NotImplementedError

    def timed(self, spans: list[tuple[Form, float, float]]) -> Payload | None:
        payload, given = self._called_on(), sum(self.lengths)  # counted when the functions were called
        return payload if len(payload) == given else payload.subset(range(given))


class Reading(Calling):
    """One whose plans are read to their ends, so that it is known only then how many elements they give.

    Attributes:
        reads: always.
        lacks_room: whether one did not end because there is room for too few elements yet.
    """

    reads = True
    lacks_room = False

    def __init__(self, node: Node) -> None:
        super().__init__(node, (), 1)
        self.leaves_out = self.grows = True
        self._plans: list[Any] = [node]
        self._begun: list[Any] = []  # as they were when it was called
        self.done = []

    @property
    def nbytes(self) -> int:
        return 0  # nobody knows yet

    def takes(self, plan: Any) -> bool:
        if type(plan) is not type(self.node) or plan.name != self.node.name or not self._reads_like(plan):
            return False
        self._plans.append(plan)
        self.lengths.append(1)
        return True

    def _reads_like(self, plan: Any) -> bool:
        """Returns whether another plan of this operation is read as the first one is."""
        raise NotImplementedError

    def keep(self, plans: int) -> None:
        del self._plans[plans:]
        super().keep(plans)


class MadeTogether(NamedTuple):
    """What became of plans.

    Attributes:
        plans: how many of the first ones were made.
        payload: their elements; None where there are none such.
        cuts: of the others, what functions were called on already.
    """

    plans: int
    payload: Payload | None
    cuts: Mapping[int, Sequence[Cut]]


def made_of(
    form: Form, plans: int, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float
) -> MadeTogether:
    """Makes the elements of the first of so many plans.

    Args:
        form: of all.
        plans: as many as it took and may be made together.
        openers: where the elements came from that opened them.
        small: counts what their operations do.
        room: how many elements of each there may be that generators yield.
        most_s: how long the functions of an operation may be called on their elements.
    """
    form.keep(plans)
    count = plans
    cuts: dict[int, list[Cut]] = {}
    for place, calling in enumerate(form.callings):
        called = _called_of(calling, openers, small, room, most_s)
        if calling.done:
            small.count(calling.done, form.node, place)
        _keep_cuts(form, range(called, count), cuts)
        form.keep(called)
        count = called
        if not count:
            return MadeTogether(0, None, cuts)
    if form.leaves_out:
        form.settle()
    payload = form.elements(small)
    if payload is None:
        _keep_cuts(form, range(count), cuts)
        return MadeTogether(0, None, cuts)
    return MadeTogether(count, payload, cuts)


def _keep_cuts(form: Form, plans: range, cuts: dict[int, list[Cut]]) -> None:
    for number in plans:
        found = form.cuts(number)
        if found:
            cuts[number] = found


def _called_of(calling: Calling, openers: OpenersOrigin, small: SmallPlans, room: int, most_s: float) -> int:
    try:
        return calling.call(openers, small, room, most_s)
    except Exception:  # noqa: BLE001 - an element's own methods may raise anything; each by itself finds out which of them
        return 0


def picked_runs(payload: Payload, begins: Sequence[int] | np.ndarray, lengths: Sequence[int] | np.ndarray) -> Payload:
    """Returns the elements of a payload in runs, of which each begins at such an index and has so many."""
    counts = np.asarray(lengths)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    indices = np.arange(total) + np.repeat(np.asarray(begins) - (ends - counts), counts)
    return payload.subset(indices)


def some_of_each(payload: Payload, form: Form, lengths: Sequence[int], begins: Sequence[int] | None = None) -> Payload:
    """Returns so many elements of each plan that a form took: the first ones, or from those indices on."""
    if lengths == form.lengths and not (begins and any(begins)):
        return payload
    starts = itertools.accumulate(form.lengths[:-1], initial=0)
    return picked_runs(payload, list(starts if begins is None else map(operator.add, starts, begins)), lengths)
