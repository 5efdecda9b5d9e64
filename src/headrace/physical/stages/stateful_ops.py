"""What take_while, scan and assert_cardinality do with the elements of a block, and what they remember.

An operation goes through elements up to the first that fails or is the last, or until its patience is over. Where one fails it has
taken nothing of it in, unless it says so, and goes on after it when it is asked next.
"""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any, Final, NamedTuple, Protocol

from headrace.blocks.cursor import State
from headrace.blocks.handing_out import protected
from headrace.blocks.payload import Payload, Rows
from headrace.elements.function_results import owned
from headrace.elements.ownership import read_only
from headrace.elements.structure import Element, nbytes_of
from headrace.frozen import frozen
from headrace.observe.frames import counts, since
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.scanning import ScanLoop, scan_loop_like
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile
from headrace.semantics.calls import call_on, is_true, packed
from headrace.semantics.stateful import (
    SETTLED,
    StateCheck,
    check_pair,
    kinds_of,
    restored_scan_state,
    saved_scan_state,
    too_few_elements,
    too_many_elements,
)

__all__ = ["AssertCardinalityOp", "Memory", "Ran", "ScanOp", "StatefulOp", "TakeWhileOp"]

# The states of a scan before each element of a block may be large, and are kept with the block.
_STATES_BYTES: Final = 1 << 20


class Memory(Protocol):
    """What is remembered before a run of elements, and within it."""

    def state(self, count: int) -> State:
        """Returns as plain data what is remembered ``count`` elements later, within the run."""
        ...


class Ran(NamedTuple):
    """How far an operation came in a run of elements, of which there are more than outputs where the rest is to come later.

    Attributes:
        outputs: one for each element that it took.
        error: how the element after these failed.
        has_ended: whether that element is the end.
    """

    outputs: Payload
    error: Exception | None = None
    has_ended: bool = False


class StatefulOp(Protocol):
    """What is remembered from element to element.

    Attributes:
        ends_well: whether nothing is wrong with an end, whenever it comes.
    """

    ends_well: bool

    @property
    def memory(self) -> Memory:
        """What is remembered now."""
        ...

    def most_at_once(self) -> int:
        """Returns how many elements may be in a run."""
        ...

    def run(self, payload: Payload, patience: Patience) -> Ran:
        """Goes through elements, one at least."""
        ...

    def end(self) -> None:
        """Takes in that the input has ended; raises where that is too soon."""
        ...


# ------------------------------------------------------------------------------------------------ take_while


@frozen
class _Ended:
    ended: bool

    def state(self, count: int) -> State:
        return {"ended": self.ended}


class TakeWhileOp:
    """Ends at the first element for which the predicate is false."""

    ends_well = True

    def __init__(self, node: TakeWhile, state: State | None) -> None:
        self._predicate = node.predicate
        self.memory = _Ended(state["ended"] if state else False)

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.memory.ended

    def most_at_once(self) -> int:
        return sys.maxsize

    def run(self, payload: Payload, patience: Patience) -> Ran:
        seen = protected(payload)  # what the predicate does to an element, nobody after it sees
        count, error, has_ended = _true_ones(self._predicate, seen.rows(), payload.has_tuples, patience)
        if has_ended:
            self.memory = _Ended(ended=True)
        return Ran(payload if count == len(payload) else payload.subset(range(count)), error, has_ended)

    def end(self) -> None:
        pass


@counts("passed")
@since("_since_s")
def _true_ones(
    predicate: Callable[..., Any], rows: Sequence[Element], has_tuples: bool | None, patience: Patience
) -> tuple[int, Exception | None, bool]:
    """Returns how many elements there are before the first for which the predicate is false or fails, that failure, and if it was false."""
    _since_s = time.perf_counter()  # for the report of what is held up
    passed: list[None] = []  # one for each, for the same report
    if has_tuples is None:
        predicate = functools.partial(call_on, predicate)
    try:
        for some in patience.looks(rows):
            if has_tuples:
                for row in some:
                    answer = predicate(*row)
                    if answer is not True and not is_true(answer):
                        return len(passed), None, True
                    passed.append(None)
            else:
                for row in some:
                    answer = predicate(row)
                    if answer is not True and not is_true(answer):
                        return len(passed), None, True
                    passed.append(None)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return len(passed), error, False
    return len(passed), None, False


# ------------------------------------------------------------------------------------------------ scan


@frozen
class _States:
    """The state before each element of a run, and that after the last one; a list that only grows."""

    states: list[Element]

    def state(self, count: int) -> State:
        return {"state": saved_scan_state(self.states[count])}


# So many results are other than they were expected before each is looked at by itself.
_MOST_SURPRISES: Final = 4


class ScanOp:
    """Hands a state from element to element."""

    ends_well = True

    def __init__(self, node: Scan, state: State | None, *, probed: int) -> None:
        self._function = node.function
        self._check = StateCheck(node.initial_state)
        self._loop: ScanLoop | None = None  # for states and outputs like those that came
        self._until_learned = max(1, probed)  # outputs before one is looked for
        self._surprises = 0  # results that were not as it expected
        self.memory = _States([restored_scan_state(node, state)])

    def most_at_once(self) -> int:
        return max(1, _STATES_BYTES // max(1, nbytes_of(self.memory.states[0])))

    def run(self, payload: Payload, patience: Patience) -> Ran:
        states = self.memory.states  # of the run, from here on
        loop, surprises = self._loop, self._surprises
        outputs, error = self._through(payload.rows(), states, patience)
        self.memory = _States(states[-1:])
        kinds = loop.kinds if loop is not None and surprises == self._surprises else None  # where all went through it
        return Ran(Rows(outputs, kinds), error)

    def end(self) -> None:
        pass

    @counts("outputs")
    @since("_since_s")
    def _through(
        self, rows: Sequence[Element], states: list[Element], patience: Patience
    ) -> tuple[list[Element], Exception | None]:
        """Calls the function on rows up to the first failure, and adds the states that it makes to ``states``; returns the outputs."""
        _since_s = time.perf_counter()  # for the report of what is held up
        outputs: list[Element] = []
        rest = iter(rows)
        try:
            while len(outputs) < len(rows):
                if self._loop is None:
                    some = min(self._until_learned, len(rows) - len(outputs), patience.rows_a_look)
                    _handed_on(self._function, itertools.islice(rest, some), states, outputs, self._check)
                    self._learn(some, states[-1], outputs[-1])
                else:
                    surprise = self._loop.run(self._function, rest, states, outputs, patience)
                    if surprise is None:
                        break
                    self._surprised()
                    row, *results = surprise
                    del surprise  # who holds the result is counted
                    _handed_on(lambda *_, taken=results: taken.pop(), (row,), states, outputs, self._check)
                if patience.is_over:
                    break
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return outputs, error
        return outputs, None

    def _learn(self, count: int, state: Element, output: Element) -> None:
        """Looks for a loop for such states and outputs, once there were some; states of these types were found to be alike."""
        self._until_learned -= count
        if not self._until_learned and self._check.knows(state):
            self._loop = scan_loop_like(state, output)
        self._until_learned = self._until_learned or sys.maxsize

    def _surprised(self) -> None:
        self._surprises += 1
        if self._surprises == _MOST_SURPRISES:
            self._loop = None


# As an output needs no look: scalars, and what was copied already.
_FIXED: Final = SETTLED | {NoneType}


def _handed_on(
    function: Callable[..., Any],
    rows: Iterable[Element],
    states: list[Element],
    outputs: list[Element],
    check: StateCheck,
) -> None:
    """Calls the function on rows, and adds the states and outputs that it makes.

    A state is handed on as others see it, and what the function may still hold is copied before it is called again.
    """
    known = check.known
    handed = read_only(states[-1])
    for row in rows:
        result = function(handed, row)
        if type(result) is tuple and len(result) == 2:
            state, output = result
            kind, made = type(state), type(output)
            if made is dict and SETTLED.issuperset(map(type, output.values())):
                output, made = dict(output), NoneType
            # What nobody can change needs no look at who holds it, and of a kind that was seen before no other check.
            if made in _FIXED or (made is tuple and SETTLED.issuperset(map(type, output))):
                if kind in known or (kind is tuple and tuple(map(type, state)) in known):
                    handed = state
                    states.append(state)
                    outputs.append(output)
                    continue
                if kinds_of(state) in known:
                    handed = dict(state) if kind is dict else state
                    states.append(dict(state) if kind is dict else state)
                    outputs.append(output)
                    continue
            del state, output  # who holds them is counted
        result = owned(result, row, lists=1) if type(handed) in SETTLED else owned(result, handed)
        check_pair(result)
        state, output = packed(result[0]), packed(result[1])
        check(state)
        states.append(state)
        outputs.append(output)
        handed = read_only(state)
        del state, output


# ------------------------------------------------------------------------------------------------ assert_cardinality


@frozen
class _Seen:
    seen: int
    told: bool  # that there are too few

    def state(self, count: int) -> State:
        return {"seen": self.seen + count, "told": self.told}


class AssertCardinalityOp:
    """Counts."""

    ends_well = False

    def __init__(self, node: AssertCardinality, state: State | None) -> None:
        self._wanted = node.wanted
        self.memory = _Seen(state["seen"], state["told"]) if state else _Seen(0, told=False)

    def most_at_once(self) -> int:
        return sys.maxsize

    def run(self, payload: Payload, patience: Patience) -> Ran:
        seen, told = self.memory.seen, self.memory.told
        left = len(payload) if self._wanted is None else max(self._wanted - seen, 0)
        if left >= len(payload):
            self.memory = _Seen(seen + len(payload), told)
            return Ran(payload)
        assert self._wanted is not None  # or any number would do
        count = int(left)
        self.memory = _Seen(seen + count + 1, told)
        return Ran(payload.subset(range(count)), too_many_elements(self._wanted, seen + count + 1))

    def end(self) -> None:
        seen, told = self.memory.seen, self.memory.told
        if self._wanted is not None and seen < self._wanted and not told:
            self.memory = _Seen(seen, told=True)
            raise too_few_elements(self._wanted, seen)
