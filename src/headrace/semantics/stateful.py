"""What take_while, scan, unique and assert_cardinality do with one element: shared by every way of running them.

A step is a function of what came before and of the element. It gives what goes out, or says that nothing does, or that
all is over; it raises where the element fails, and has changed nothing then.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

from headrace.blocks.cursor import State
from headrace.errors import FailedPreconditionError
from headrace.io.elements.json import element_from_json, element_to_json
from headrace.ownership import FIXED, owned, read_only
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile
from headrace.semantics.calls import call_on, is_true, packed
from headrace.structure import Element, flatten, normalize, paths_of, spec_of

__all__ = ["DROPPED", "END", "UNIQUE_REMEDY", "AssertCardinalityOp", "ScanOp", "StatefulOp", "TakeWhileOp", "UniqueOp"]

DROPPED: Final = object()
END: Final = object()


class StatefulOp(Protocol):
    """What is kept in mind from element to element."""

    def step(self, element: Element) -> Any:
        """What goes out for the element, or DROPPED, or END."""
        ...

    def end(self) -> None:
        """The input has ended; raises where that is too soon."""
        ...

    def snapshot(self) -> Any:
        """What is in mind now, for ``state_of``, as a value that never changes."""
        ...

    def state_of(self, snapshot: Any) -> State:
        """A snapshot as plain data."""
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
        self._label = node.label
        self._spec = flatten(spec_of(node.initial_state))
        self._state = node.initial_state if state is None else self._restored(node, state["state"])

    def _restored(self, node: Scan, saved: Any) -> Element:
        """The state that was saved; of the plan's own structure, so that no class is looked for by a name."""
        return read_only(element_from_json(saved, like=flatten(normalize(node.initial_state))[1]))

    def step(self, element: Element) -> Any:
        handed = self._state if type(self._state) in FIXED else read_only(self._state)
        result = self._function(handed, element)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(f"the function must return a new state and an output, but returned {type(result).__name__}")
        result = owned(result, handed)
        state, output = packed(result[0]), packed(result[1])
        self._check(state)
        self._state = read_only(state)
        return output

    def _check(self, state: Element) -> None:
        specs, treedef = flatten(spec_of(state))
        if treedef != self._spec[1]:
            raise TypeError("the function changed the structure of the state")
        for path, wanted, found in zip(paths_of(treedef), self._spec[0], specs, strict=True):
            if wanted.dtype != found.dtype:
                component = f" component {path}" if path else ""
                raise TypeError(f"the function changed the state's{component} dtype from {wanted} to {found}")

    def end(self) -> None:
        pass

    def snapshot(self) -> Element:
        return self._state

    def state_of(self, snapshot: Element) -> State:
        return {"state": element_to_json(snapshot)}


class UniqueOp:
    """Drops what it has seen. Its state is a number: what was seen is seen again by reading again."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def step(self, element: Element) -> Any:
        if not isinstance(element, (int, str, bytes, np.integer)) or isinstance(element, bool):
            raise TypeError(f"an element must be one int or text, not {spec_of(element)}")
        if element in self.seen:
            return DROPPED
        self.seen.add(element)
        return element

    def end(self) -> None:
        pass

    def snapshot(self) -> None:
        return None

    def state_of(self, snapshot: None) -> State:
        return {}


class AssertCardinalityOp:
    """Counts."""

    def __init__(self, node: AssertCardinality, state: State | None) -> None:
        self._wanted = node.wanted
        self._count: int = state["seen"] if state else 0
        self._told: bool = state["told"] if state else False  # that there are too few

    def step(self, element: Element) -> Any:
        self._count += 1
        if self._wanted is not None and self._count > self._wanted:
            raise FailedPreconditionError(
                f"the dataset was expected to have {self._wanted} elements, and has at least {self._count}"
            )
        return element

    def end(self) -> None:
        if self._wanted is not None and self._count < self._wanted and not self._told:
            self._told = True
            wanted = "no end" if self._wanted == float("inf") else f"{self._wanted} elements"
            raise FailedPreconditionError(f"the dataset was expected to have {wanted}, and has only {self._count}")

    def snapshot(self) -> tuple[int, bool]:
        return self._count, self._told

    def state_of(self, snapshot: tuple[int, bool]) -> State:
        return {"seen": snapshot[0], "told": snapshot[1]}


UNIQUE_REMEDY: Final = "unique keeps all that it has seen in mind: give it numbers, or short texts"
