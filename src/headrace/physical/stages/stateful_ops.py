"""What the stages of take_while, scan and assert_cardinality do with one element.

A step is a function of the elements before and of the element. It gives what goes out, or says that nothing does, or that
all is over; it raises where the element fails, and has changed nothing then.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from headrace.blocks.cursor import State
from headrace.ownership import FIXED, owned, read_only
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile
from headrace.semantics.calls import call_on, is_true, packed
from headrace.semantics.stateful import (
    check_pair,
    check_scan_state,
    restored_scan_state,
    saved_scan_state,
    too_few_elements,
    too_many_elements,
)
from headrace.structure import Element, spec_of

__all__ = ["END", "AssertCardinalityOp", "ScanOp", "StatefulOp", "TakeWhileOp"]

END: Final = object()


class StatefulOp(Protocol):
    """What is remembered from element to element."""

    def step(self, element: Element) -> Any:
        """Returns what goes out for the element, or END."""
        ...

    def end(self) -> None:
        """Takes in that the input has ended; raises where that is too soon."""
        ...

    def snapshot(self) -> Any:
        """Returns what is remembered now, for ``state_of``, as a value that never changes."""
        ...

    def state_of(self, snapshot: Any) -> State:
        """Returns a snapshot as plain data."""
        ...


class TakeWhileOp:
    """Ends at the first element for which the predicate is false."""

    def __init__(self, node: TakeWhile, state: State | None) -> None:
        self._predicate = node.predicate
        self._ended: bool = state["ended"] if state else False

    @property
    def ended(self) -> bool:
        """Whether it was over when the state was saved."""
        return self._ended

    def step(self, element: Element) -> Any:
        if is_true(call_on(self._predicate, read_only(element))):
            return element
        self._ended = True
        return END

    def end(self) -> None:
        pass

    def snapshot(self) -> bool:
        return self._ended

    def state_of(self, snapshot: bool) -> State:
        return {"ended": snapshot}


class ScanOp:
    """Hands a state from element to element."""

    def __init__(self, node: Scan, state: State | None) -> None:
        self._function = node.function
        self._spec = spec_of(node.initial_state)
        self._state = restored_scan_state(node, state)

    def step(self, element: Element) -> Any:
        handed = self._state if type(self._state) in FIXED else read_only(self._state)
        result = self._function(handed, element)
        check_pair(result)
        result = owned(result, handed)
        state, output = packed(result[0]), packed(result[1])
        check_scan_state(self._spec, state)
        self._state = read_only(state)
        return output

    def end(self) -> None:
        pass

    def snapshot(self) -> Element:
        return self._state

    def state_of(self, snapshot: Element) -> State:
        return {"state": saved_scan_state(snapshot)}


class AssertCardinalityOp:
    """Counts."""

    def __init__(self, node: AssertCardinality, state: State | None) -> None:
        self._wanted = node.wanted
        self._count: int = state["seen"] if state else 0
        self._told: bool = state["told"] if state else False  # that there are too few

    def step(self, element: Element) -> Any:
        self._count += 1
        if self._wanted is not None and self._count > self._wanted:
            raise too_many_elements(self._wanted, self._count)
        return element

    def end(self) -> None:
        if self._wanted is not None and self._count < self._wanted and not self._told:
            self._told = True
            raise too_few_elements(self._wanted, self._count)

    def snapshot(self) -> tuple[int, bool]:
        return self._count, self._told

    def state_of(self, snapshot: tuple[int, bool]) -> State:
        return {"seen": snapshot[0], "told": snapshot[1]}
